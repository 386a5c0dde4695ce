// Command faults plants small faults, one at a time, and reports which of them
// the tests notice.
//
//	scripts/prove faults              all of them, with a line in the ledger
//	go run ./scripts/faults           all of them
//	go run ./scripts/faults NAME...   these
//
// The list is faults.txt. A fault is a change of one place in one file. It
// reaches the compiler as an overlay (go help build), so that no file of the
// checkout is ever changed and nothing has to be taken back, whenever this
// command ends. First the tests of the list run without a fault: a test that
// fails anyway notices nothing.
//
// The exit status is 1 if fewer than 95 % of the faults are noticed, and 2 if a
// fault cannot be planted: its place is gone, or it does not build.
package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

//go:embed faults.txt
var list string

// enough is the part of the faults, in percent, that must be noticed.
const enough = 95

// Patience bounds the tests of a package without a fault. With one they may take
// slower times as long as without, and at least least: a fault may well make a
// test wait for ever, and a busy machine must not look like one. A test that waits
// a minute for what does not come has the time to say so.
const (
	patience = 20 * time.Minute
	slower   = 4
	least    = 90 * time.Second
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	code, err := run(ctx, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
	}
	os.Exit(code)
}

func run(ctx context.Context, names []string) (code int, err error) {
	faults, err := parse(list)
	if err != nil {
		return 2, err
	}
	if len(names) > 0 {
		faults = slices.DeleteFunc(faults, func(f fault) bool { return !slices.Contains(names, f.name) })
		if len(faults) < len(names) {
			return 2, errors.New("the list has no fault of one of these names")
		}
	}
	root, err := filepath.Abs(".")
	if err != nil {
		return 2, err
	}
	for _, f := range faults {
		if _, err := f.planted(); err != nil {
			return 2, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	limits, err := baseline(ctx, faults)
	if err != nil {
		return 2, err
	}
	noticed := 0
	for _, f := range faults {
		began := time.Now()
		verdict, failed := f.plant(ctx, root, limits[f.pkg])
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", f.name, failed))
			continue
		}
		if verdict != "" {
			noticed++
		} else {
			verdict = "NOT NOTICED"
		}
		fmt.Printf("%-28s %5.1fs  %s\n", f.name, time.Since(began).Seconds(), verdict)
	}
	fmt.Printf("%d faults planted, %d noticed (%.0f %%)\n", len(faults), noticed, 100*float64(noticed)/float64(len(faults)))
	switch {
	case err != nil:
		return 2, err
	case noticed*100 < enough*len(faults):
		return 1, nil
	}
	return 0, nil
}

// fault is one entry of the list.
type fault struct {
	name     string
	file     string
	pkg      string // whose tests are to notice it; with commas between several
	tests    string // a pattern for go test -run
	old, new string // whole lines of the file
}

// parse reads the list: for each fault a line
//
//	== NAME FILE PACKAGE TESTS
//
// then the lines that it takes out, with a - before them, and those that it
// puts there, with a +. Lines that begin with # and empty ones count for
// nothing.
func parse(text string) ([]fault, error) {
	var all []fault
	for n, line := range strings.Split(text, "\n") {
		rest := line[min(1, len(line)):]
		switch {
		case line == "" || line[0] == '#':
		case strings.HasPrefix(line, "== "):
			fields := strings.Fields(line[3:])
			if len(fields) != 4 {
				return nil, fmt.Errorf("faults.txt:%d: a fault has a name, a file, packages and tests", n+1)
			}
			all = append(all, fault{name: fields[0], file: fields[1], pkg: fields[2], tests: fields[3]})
		case len(all) == 0 || line[0] != '-' && line[0] != '+':
			return nil, fmt.Errorf("faults.txt:%d: a line begins with ==, -, + or #", n+1)
		case line[0] == '-':
			all[len(all)-1].old += rest + "\n"
		default:
			all[len(all)-1].new += rest + "\n"
		}
	}
	seen := map[string]bool{}
	for _, f := range all {
		if seen[f.name] || f.old == "" {
			return nil, fmt.Errorf("%s stands twice in faults.txt, or takes nothing out", f.name)
		}
		seen[f.name] = true
	}
	return all, nil
}

// baseline runs all tests of the list without a fault, and returns how long those
// of a package may take with one.
func baseline(ctx context.Context, faults []fault) (map[string]time.Duration, error) {
	limits := map[string]time.Duration{}
	tests := map[string]map[string]bool{}
	for _, f := range faults {
		if tests[f.pkg] == nil {
			tests[f.pkg] = map[string]bool{}
		}
		tests[f.pkg][f.tests] = true
	}
	for pkg, patterns := range tests {
		began := time.Now()
		out, err := test(ctx, pkg, strings.Join(slices.Sorted(maps.Keys(patterns)), "|"), "", patience)
		if err != nil {
			return nil, fmt.Errorf("without a fault, the tests of %s fail: %w\n%s", pkg, err, out)
		}
		if bytes.Contains(out, []byte("no tests to run")) {
			return nil, fmt.Errorf("%s has no such tests", pkg)
		}
		limits[pkg] = max(least, slower*time.Since(began))
	}
	return limits, nil
}

// planted returns the text of the file with the fault.
func (f fault) planted() ([]byte, error) {
	text, err := os.ReadFile(f.file)
	if err != nil {
		return nil, err
	}
	if n := bytes.Count(text, []byte(f.old)); n != 1 {
		return nil, fmt.Errorf("its lines stand %d times in %s, not once", n, f.file)
	}
	return bytes.Replace(text, []byte(f.old), []byte(f.new), 1), nil
}

// plant runs the tests with the fault. It returns which test has failed first,
// or nothing if all pass.
func (f fault) plant(ctx context.Context, root string, limit time.Duration) (failed string, err error) {
	text, err := f.planted()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "fault")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	faulty, overlay := filepath.Join(dir, filepath.Base(f.file)), filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(faulty, text, 0o600); err != nil {
		return "", err
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(root, f.file): faulty}})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(overlay, replace, 0o600); err != nil {
		return "", err
	}
	out, err := test(ctx, f.pkg, f.tests, overlay, limit)
	switch {
	case err == nil:
		return "", nil
	case bytes.Contains(out, []byte("[build failed]")):
		return "", fmt.Errorf("it does not build:\n%s", out)
	}
	for line := range strings.Lines(string(out)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "--- FAIL: "); ok {
			name, _, _ = strings.Cut(name, " ")
			return name, nil
		}
	}
	return "the tests ended without a word of which failed: " + err.Error(), nil
}

// test runs tests of one package. Programs that they build in turn have the
// fault, too.
func test(ctx context.Context, pkg, tests, overlay string, limit time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit+10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-failfast", "-vet=off", "-timeout", limit.String(), "-run", tests)
	cmd.Args = append(cmd.Args, strings.Split(pkg, ",")...)
	cmd.Env = os.Environ()
	if overlay != "" {
		cmd.Env = append(cmd.Env, strings.TrimSpace("GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+overlay))
	}
	return cmd.CombinedOutput()
}
