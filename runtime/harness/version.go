package harness

import (
	"cmp"
	"context"
	"fmt"
	"hank/internal/lazyregexp"
	"os/exec"
	"strconv"
	"time"
)

// versionLimit is how long the version of an agent may take. It takes 0.1 s warm; a cold
// disk has some 400 MiB to read.
const versionLimit = 30 * time.Second

// Version starts `PATH --version` in an environment, and returns the version's number.
func Version(ctx context.Context, path string, environ []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env = environ
	cmd.WaitDelay = time.Second
	var stderr Tail
	cmd.Stderr = lines{&stderr}
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return "", &lateError{}
	}
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, stderr.String())
	}
	m := cmp.Or(versionNumber.FindString(string(out)), versionNumber.FindString(stderr.String())) // pi without a terminal
	if m == "" {
		return "", fmt.Errorf("it printed %q and no version", Excerpt(string(out), 100))
	}
	return m, nil
}

// lateError is a program that has not answered in time, which need not be broken.
type lateError struct{}

func (*lateError) Error() string { return fmt.Sprintf("no answer within %s", versionLimit) }

// lines writes what a program prints into a Tail.
type lines struct{ tail *Tail }

func (l lines) Write(p []byte) (int, error) {
	l.tail.Add(p)
	return len(p), nil
}

var versionNumber = lazyregexp.New(`\b(\d{1,6})\.(\d{1,6})\.(\d{1,6})\b`)

// AtLeast compares a version as an agent prints it. An unknown one is older than
// everything: an option that it does not know would stop it.
func AtLeast(version string, want ...int) bool {
	m := versionNumber.FindStringSubmatch(version)
	if m == nil {
		return false
	}
	for i, w := range want {
		if have, _ := strconv.Atoi(m[i+1]); have != w {
			return have > w
		}
	}
	return true
}
