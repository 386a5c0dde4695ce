//go:build unix

package modeltest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "hank/cmd/hank/upkeep" // the program's; see binary
	_ "hank/runtime"

	"hank/internal/built"
)

// binary is the program itself, as people have it, built once.
var binary = sync.OnceValues(func() (string, error) {
	// go test takes a result for the present one until a file that the test has
	// looked at, or a package that it imports, changes.
	sources, err := filepath.Glob("../../cmd/hank/*.go")
	for _, name := range sources {
		if _, serr := os.Stat(name); serr != nil {
			err = serr
		}
	}
	if err != nil {
		return "", err
	}
	return built.Hank(shared)
})

// A lane is one execution and its model, and what was done to them.
type lane struct {
	t      *testing.T
	seed   uint64
	rng    *rand.Rand
	binary string
	dir    string // holds the hank, the log, and the execution x
	m      *model
	read   int // lines of the log that were read
	starts int // starts of codons that they tell of
	ops    int
	saved  *model // a backup's
	shell  []string
	counts map[string]int
	told   *foretold // of the command that was answered last, until it is compared
	toldOf result
}

func (l *lane) x(name ...string) string {
	return filepath.Join(append([]string{l.dir, "x"}, name...)...)
}

func (l *lane) workspace() string { return l.x("agentRoot") }

// fatalf ends the lane with all that is needed to do the same again.
func (l *lane) fatalf(format string, args ...any) {
	l.t.Helper()
	log := l.shell
	if len(log) > 60 && os.Getenv("HANK_MODEL_KEEP") == "" {
		log = append([]string{fmt.Sprintf("# (%d lines before; HANK_MODEL_KEEP=DIR keeps the folder with all of them)", len(log)-60)}, log[len(log)-60:]...)
	}
	if keep := os.Getenv("HANK_MODEL_KEEP"); keep != "" {
		to := filepath.Join(keep, fmt.Sprint(l.seed))
		_ = os.MkdirAll(keep, 0o755)
		_ = exec.Command("cp", "-a", l.dir, to).Run()
		_ = os.WriteFile(filepath.Join(to, "operations.sh"), []byte(strings.Join(l.shell, "\n")+"\n"), 0o644)
	}
	l.t.Fatalf("seed %d, operation %d, world %+v: %s\n%s", l.seed, l.ops, l.m.world, fmt.Sprintf(format, args...), strings.Join(log, "\n"))
}

func (l *lane) say(format string, args ...any) {
	l.shell = append(l.shell, fmt.Sprintf(format, args...))
}

func (l *lane) must(err error) {
	l.t.Helper()
	if err != nil {
		l.fatalf("%v", err)
	}
}

func (l *lane) environ(extra ...string) []string {
	env := append(os.Environ(), "MODEL="+l.dir, "HANK_STATE_DIR="+filepath.Join(l.dir, "registry"))
	return append(env, extra...)
}

// sh does something to the files, as a person would.
func (l *lane) sh(line string) {
	l.t.Helper()
	l.say("%s", line)
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir, cmd.Env = l.x(), l.environ()
	if out, err := cmd.CombinedOutput(); err != nil {
		l.fatalf("%s: %v\n%s", line, err, out)
	}
}

// A result is how a command ended. A killed one has no code.
type result struct {
	code   int
	out    string // both outputs
	killed bool
}

// start starts a command, and returns what waits for its end.
func (l *lane) start(env []string, args ...string) (*exec.Cmd, func() result) {
	l.t.Helper()
	out := &bytes.Buffer{}
	cmd := exec.Command(l.binary, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = l.x(), l.environ(env...), out, out
	cmd.WaitDelay = 10 * time.Second // a killed runtime's keeper may hold its output
	l.must(cmd.Start())
	l.t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, func() result {
		var exit *exec.ExitError
		if err := cmd.Wait(); err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
			l.fatalf("hank %v: %v\n%s", args, err, out)
		}
		status := cmd.ProcessState.Sys().(syscall.WaitStatus)
		return result{cmd.ProcessState.ExitCode(), out.String(), status.Signaled() && status.Signal() == syscall.SIGKILL}
	}
}

// hank runs a command to its end.
func (l *lane) hank(args ...string) result {
	l.t.Helper()
	_, wait := l.start(nil, args...)
	r := wait()
	l.say("hank %s; echo $?  # %d", strings.Join(args, " "), r.code)
	if r.code == 70 || strings.Contains(r.out, "panic:") || strings.Contains(r.out, "goroutine ") {
		l.fatalf("hank %v is a bug: %d\n%s", args, r.code, r.out)
	}
	return r
}

// want is hank with the code that it must end with.
func (l *lane) want(code int, args ...string) string {
	l.t.Helper()
	r := l.hank(args...)
	if r.code != code {
		l.fatalf("hank %s ended with %d, and must end with %d:\n%s", strings.Join(args, " "), r.code, code, r.out)
	}
	l.carried(args, r)
	return r.out
}

// ask reads what a command prints as JSON. Readers are not in the log of operations.
func (l *lane) ask(into any, args ...string) {
	l.t.Helper()
	cmd := exec.Command(l.binary, append(args, "--json")...)
	cmd.Dir, cmd.Env = l.x(), l.environ()
	out, err := cmd.Output()
	if err != nil && !(cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == 4 && args[0] == "doctor" && l.mayAsk()) {
		l.fatalf("hank %v --json: %v\n%s%s", args, err, out, errorOutput(err))
	}
	if err := json.Unmarshal(out, into); err != nil {
		l.fatalf("hank %v --json: %v\n%s", args, err, out)
	}
}

func errorOutput(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return string(exit.Stderr)
	}
	return ""
}

func (l *lane) git(args ...string) string {
	l.t.Helper()
	out, err := exec.Command("git", append([]string{"--git-dir=" + l.x(".hankweave/checkpoints/.hankweavecheckpoints")}, args...)...).Output()
	if err != nil {
		l.fatalf("git %v: %v\n%s", args, err, errorOutput(err))
	}
	return string(out)
}

// newStarts reads from the log which codons have begun since it was read last.
func (l *lane) newStarts() []start {
	l.t.Helper()
	text, err := os.ReadFile(filepath.Join(l.dir, "log"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		l.must(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	var all []start
	for _, line := range lines[min(l.read, len(lines)):] {
		words := strings.Fields(line)
		switch {
		case len(words) == 3:
			s := start{codon: words[1]}
			_, err := fmt.Sscan(words[2], &s.version)
			l.must(err)
			all = append(all, s)
		case len(words) == 2 && len(all) > 0:
			all[len(all)-1].over = true
		}
	}
	if len(text) > 0 {
		l.read = len(lines)
	}
	return all
}

// writeHank writes what the author has.
func (l *lane) writeHank() {
	l.t.Helper()
	name := fmt.Sprintf("hank.json.%d", l.m.versions)
	l.must(os.WriteFile(filepath.Join(l.dir, "hanks", name), l.m.disk.hankJSON(), 0o644))
	l.sh(fmt.Sprintf("cp ../hanks/%s ../hank/hank.json", name))
}
