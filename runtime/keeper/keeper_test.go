//go:build unix

package keeper

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"hank/internal/short"
)

// The test binary is its own keeper, and plays the parts of runtimes and
// codons for which the shell is not good enough.
func TestMain(m *testing.M) {
	os.Unsetenv("HANK_PLAIN") // here the keepers are tested
	if len(os.Args) > 1 && os.Args[1] == Subcommand {
		if os.Getenv("HANK_TEST_NO_SUBREAPER") != "" {
			adopt = func() error { return nil }
		}
		os.Exit(Main())
	}
	if len(os.Args) > 2 && os.Args[1] == "__part" {
		part, ok := parts[os.Args[2]]
		if !ok {
			fmt.Fprintln(os.Stderr, "no such part:", os.Args[2])
			os.Exit(2)
		}
		part(os.Args[3:])
		os.Exit(0)
	}
	// The race detector lets every process sleep for a second at its end,
	// which is all that a keeper's life takes otherwise.
	os.Setenv("GORACE", strings.TrimSpace(os.Getenv("GORACE")+" atexit_sleep_ms=0"))
	os.Exit(m.Run())
}

// parts is filled by the files of tests that need them.
var parts = map[string]func(args []string){}

// lines is a writer that several goroutines may look at.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

var attempts atomic.Int64

// shell returns the spec of a script. Everything that it starts holds the
// file $CANARY open at descriptor 9, so that it can be found without any of
// the marks that the keeper goes by.
func shell(t *testing.T, script string) Spec {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	attempt := fmt.Sprintf("test-%d-%d", os.Getpid(), attempts.Add(1))
	t.Cleanup(func() { _, _ = Reap(attempt) })
	return Spec{
		Args:      []string{"sh", "-c", `exec 9>>"$CANARY"; ` + script},
		Env:       append(os.Environ(), "CANARY="+filepath.Join(dir, "canary"), "SELF="+self),
		Dir:       dir,
		StopGrace: 10 * time.Second,
		Limit:     2 * time.Minute, // a broken test must not hang
		Attempt:   attempt,
	}
}

// start starts a spec and returns its outputs as they grow.
func start(t *testing.T, spec Spec) (p *Process, stdout, stderr *lines) {
	t.Helper()
	stdout, stderr = &lines{}, &lines{}
	p, err := Start(spec, Streams{stdout, stderr})
	if err != nil {
		t.Fatal(err)
	}
	return p, stdout, stderr
}

// run runs a spec to its end.
func run(t *testing.T, spec Spec) (exit Exit, stdout, stderr string) {
	t.Helper()
	p, out, errs := start(t, spec)
	exit, err := p.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return exit, out.String(), errs.String()
}

// until polls for a condition.
func until(t *testing.T, what string, limit time.Duration, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after %v still not: %s", limit, what)
		}
	}
}

func TestExitCodeAndOutputAreTheCommands(t *testing.T) {
	t.Parallel()
	exit, stdout, stderr := run(t, shell(t, `echo out; echo err >&2; pwd; exit 3`))
	if exit.Code != 3 || exit.Signal != "" || exit.Stopped || exit.TimedOut || exit.KeeperLost || exit.KilledTotal != 0 {
		t.Errorf("exit = %+v", exit)
	}
	if !strings.HasPrefix(stdout, "out\n/") || stderr != "err\n" {
		t.Errorf("stdout %q, stderr %q", stdout, stderr)
	}
}

func TestDeathBySignalIsNamed(t *testing.T) {
	t.Parallel()
	for _, signal := range []string{"TERM", "KILL", "ABRT", "HUP", "USR1"} {
		exit, _, _ := run(t, shell(t, "kill -"+signal+" $$"))
		if exit.Code != -1 || exit.Signal != "SIG"+signal || exit.Stopped {
			t.Errorf("%s: exit = %+v", signal, exit)
		}
	}
}

func TestCommandIsIdentifiedWhenStartReturns(t *testing.T) {
	t.Parallel()
	spec := shell(t, `echo $$; sleep 1000`)
	p, stdout, _ := start(t, spec)
	until(t, "pid printed", 10*time.Second, func() bool { return strings.Contains(stdout.String(), "\n") })
	if got := strings.TrimSpace(stdout.String()); got != fmt.Sprint(p.PID()) {
		t.Errorf("PID() = %d, the command says %s", p.PID(), got)
	}
	if verdict, why := p.Identity().Check(); verdict.String() != "alive" {
		t.Errorf("identity is %v: %s", verdict, why)
	}
	if p.keeperPID() == p.PID() || p.keeperPID() == os.Getpid() {
		t.Errorf("keeper %d, command %d", p.keeperPID(), p.PID())
	}
	p.Kill()
	if exit, err := p.Wait(); err != nil || !exit.Stopped || exit.Signal != "SIGKILL" {
		t.Errorf("after Kill: %+v, %v", exit, err)
	}
	if verdict, why := p.Identity().Check(); verdict.String() != "dead" {
		t.Errorf("identity is %v after Wait: %s", verdict, why)
	}
}

func TestEnvironmentIsTheSpecsAndTheLastEntryWins(t *testing.T) {
	t.Parallel()
	spec := shell(t, `echo "$A/$HANK_ATTEMPT/${HOME-none}"`)
	spec.Env = []string{"PATH=" + os.Getenv("PATH"), "CANARY=/dev/null", "A=1", "HANK_ATTEMPT=other", "A=2"}
	_, stdout, _ := run(t, spec)
	if want := "2/" + spec.Attempt + "/none\n"; stdout != want {
		t.Errorf("got %q, want %q", stdout, want)
	}
}

func TestStdinArrivesWholeAndEnds(t *testing.T) {
	t.Parallel()
	spec := shell(t, `cat`)
	spec.Stdin = bytes.Repeat([]byte("0123456789abcdef"), 64<<10)
	_, stdout, _ := run(t, spec)
	if stdout != string(spec.Stdin) {
		t.Errorf("%d bytes came back of %d", len(stdout), len(spec.Stdin))
	}
}

func TestUnreadStdinBlocksNothing(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"exit 0", "exec 0<&-; echo x", "head -c 1 >/dev/null"} {
		spec := shell(t, script)
		spec.Stdin = make([]byte, 1<<20)
		if exit, _, _ := run(t, spec); exit.Code != 0 {
			t.Errorf("%s: %+v", script, exit)
		}
	}
}

func TestWithoutStdinTheInputIsEmpty(t *testing.T) {
	t.Parallel()
	if exit, stdout, _ := run(t, shell(t, `wc -c`)); strings.TrimSpace(stdout) != "0" || exit.Code != 0 {
		t.Errorf("%q, %+v", stdout, exit)
	}
}

// count is a writer that only counts.
type count struct{ n atomic.Int64 }

func (c *count) Write(p []byte) (int, error) { c.n.Add(int64(len(p))); return len(p), nil }

func TestFloodOfOutputArrivesWhole(t *testing.T) {
	t.Parallel()
	const size = 100_000_000
	spec := shell(t, fmt.Sprintf("head -c %d /dev/zero & head -c %d /dev/zero >&2 & wait", size, size))
	var stdout, stderr count
	p, err := Start(spec, Streams{&stdout, &stderr})
	if err != nil {
		t.Fatal(err)
	}
	if exit, err := p.Wait(); err != nil || exit.Code != 0 {
		t.Fatal(exit, err)
	}
	if stdout.n.Load() != size || stderr.n.Load() != size {
		t.Errorf("got %d and %d bytes", stdout.n.Load(), stderr.n.Load())
	}
}

// slow takes its time, as a busy disk does, and remembers how much it got.
type slow struct {
	count
	pause time.Duration
}

func (s *slow) Write(p []byte) (int, error) {
	time.Sleep(s.pause)
	return s.count.Write(p)
}

func TestSlowWriterLosesNothingAfterTheEnd(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	const size = 130_000 // two reads
	spec := shell(t, fmt.Sprintf("head -c %d /dev/zero", size))
	out := &slow{pause: streamGrace + 100*time.Millisecond}
	p, err := Start(spec, Streams{Stdout: out})
	if err != nil {
		t.Fatal(err)
	}
	if exit, err := p.Wait(); err != nil || exit.Code != 0 {
		t.Fatal(exit, err)
	}
	if out.n.Load() != size {
		t.Errorf("got %d bytes", out.n.Load())
	}
}

type broken struct{ err error }

func (b broken) Write([]byte) (int, error) { return 0, b.err }

func TestFailingWriterDoesNotBlockTheCommand(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	p, err := Start(shell(t, "head -c 10000000 /dev/zero; exit 4"), Streams{Stdout: broken{full}, Stderr: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	exit, err := p.Wait()
	if !errors.Is(err, full) || exit.Code != 4 {
		t.Errorf("exit %+v, error %v", exit, err)
	}
}

func TestStopLetsTheCommandEndInOrderAndSignalsOnce(t *testing.T) {
	t.Parallel()
	spec := shell(t, `trap 'echo stopped; n=1' TERM; echo ready; while [ -z "$n" ]; do sleep 0.01; done; sleep 0.2; exit 7`)
	p, stdout, _ := start(t, spec)
	until(t, "ready", 10*time.Second, func() bool { return strings.Contains(stdout.String(), "ready") })
	p.Stop()
	p.Stop() // asking again changes nothing
	exit, err := p.Wait()
	if err != nil || !exit.Stopped || exit.Code != 7 || exit.TimedOut {
		t.Errorf("exit %+v, %v", exit, err)
	}
	if got := stdout.String(); got != "ready\nstopped\n" {
		t.Errorf("stdout %q", got)
	}
	p.Stop() // after the end
	p.Kill()
}

func TestStopUsesTheHarnessesSignal(t *testing.T) {
	t.Parallel()
	spec := shell(t, `trap 'echo int; exit 0' INT; trap 'echo term; exit 1' TERM; echo ready; while :; do sleep 0.01; done`)
	spec.StopSignal = syscall.SIGINT
	p, stdout, _ := start(t, spec)
	until(t, "ready", 10*time.Second, func() bool { return strings.Contains(stdout.String(), "ready") })
	p.Stop()
	if exit, err := p.Wait(); err != nil || exit.Code != 0 || !strings.HasSuffix(stdout.String(), "int\n") {
		t.Errorf("exit %+v, %v, %q", exit, err, stdout.String())
	}
}

func TestStopKillsAfterTheGrace(t *testing.T) {
	t.Parallel()
	spec := shell(t, `trap '' TERM HUP INT; echo ready; sleep 1000 & while :; do sleep 0.05; done`)
	spec.StopGrace = 200 * time.Millisecond
	p, stdout, _ := start(t, spec)
	until(t, "ready", 10*time.Second, func() bool { return strings.Contains(stdout.String(), "ready") })
	p.Stop()
	exit, err := p.Wait()
	if err != nil || !exit.Stopped || exit.Code != -1 || exit.Signal != "SIGKILL" || exit.Duration < spec.StopGrace {
		t.Errorf("exit %+v, %v", exit, err)
	}
}

func TestKillDoesNotWaitForTheGrace(t *testing.T) {
	t.Parallel()
	spec := shell(t, `trap '' TERM; echo ready; while :; do sleep 0.05; done`)
	spec.StopGrace = time.Hour
	p, stdout, _ := start(t, spec)
	until(t, "ready", 10*time.Second, func() bool { return strings.Contains(stdout.String(), "ready") })
	p.Stop()
	p.Kill()
	if exit, err := p.Wait(); err != nil || exit.Signal != "SIGKILL" || !exit.Stopped {
		t.Errorf("exit %+v, %v", exit, err)
	}
}

func TestTimeLimitStops(t *testing.T) {
	t.Parallel()
	spec := shell(t, `trap 'exit 9' TERM; while :; do sleep 0.01; done`)
	spec.Limit = 300 * time.Millisecond
	exit, _, _ := run(t, spec)
	if !exit.TimedOut || exit.Code != 9 || exit.Stopped || exit.Duration < spec.Limit {
		t.Errorf("exit %+v", exit)
	}
}

func TestTimeLimitNotReachedChangesNothing(t *testing.T) {
	t.Parallel()
	spec := shell(t, `exit 0`)
	spec.Limit = time.Hour
	if exit, _, _ := run(t, spec); exit.TimedOut || exit.Code != 0 {
		t.Errorf("exit %+v", exit)
	}
}

func TestManyCommandsAtOnceKeepApart(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	var all sync.WaitGroup
	for i := range 20 {
		spec := shell(t, fmt.Sprintf(`sleep 1000 & echo %d; exit %d`, i, i))
		all.Go(func() {
			var out lines
			p, err := Start(spec, Streams{Stdout: &out})
			if err != nil {
				t.Error(err)
				return
			}
			exit, err := p.Wait()
			if err != nil || exit.Code != i || out.String() != fmt.Sprintln(i) || exit.KilledTotal != 1 {
				t.Errorf("%d: %+v, %v, %q", i, exit, err, out.String())
			}
		})
	}
	all.Wait()
}
