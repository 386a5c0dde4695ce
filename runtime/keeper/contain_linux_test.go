package keeper

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hank/internal/proc"
	"hank/internal/short"
)

// holders are the processes that hold a file open: an oracle that knows
// nothing of trees, groups, sessions, identities or environments. It asks
// every thread: a first thread that has ended holds nothing, others may.
func holders(t *testing.T, file string) []string {
	t.Helper()
	file, err := filepath.EvalSymlinks(file)
	if err != nil {
		return nil // nobody has opened it yet
	}
	links, err := filepath.Glob("/proc/[0-9]*/task/[0-9]*/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && target == file {
			found = append(found, strings.Split(link, "/")[2])
		}
	}
	return slices.Compact(found)
}

func canary(spec Spec) string { return filepath.Join(spec.Dir, "canary") }

type codon struct {
	name, script string
	left         int // how many processes have to be killed; -1: some
}

// codons are scripts that leave something behind. Each prints "ready" when
// what it leaves is there.
var codons = []codon{
	{"background job", `sleep 1000 & echo ready`, 1},
	{"holds the pipe open", `(while :; do echo noise; sleep 0.01; done) & echo ready`, -1},
	{"nohup", `nohup sleep 1000 >/dev/null 2>&1 & echo ready`, 1},
	{"setsid", `setsid sleep 1000 >/dev/null 2>&1 </dev/null & echo ready`, 1},
	{"double fork", `(setsid sh -c 'sleep 1000 & sleep 1000 & echo started' &) | head -n 1 >/dev/null; echo ready`, 2},
	{"daemon without marks", `env -i setsid sh -c '(trap "" TERM HUP INT; exec sleep 1000 >/dev/null 2>&1 </dev/null) &'; echo ready`, 1},
	{"deaf to signals", `(trap "" TERM HUP INT QUIT; sleep 1000; sleep 1000) & echo ready`, 2},
	{"stopped", `sh -c 'kill -STOP $$; sleep 1000' & while ! grep -q "State:.T" /proc/$!/status; do :; done; echo ready`, 1},
	{"leader thread gone", `"$SELF" __part headless >"$CANARY.x" 2>&1 & until grep -q up "$CANARY.x"; do :; done; echo ready`, 1},
	{"a subreaper of its own", `"$SELF" __part subreaper & until grep -q up "$CANARY"; do :; done; echo ready`, 2},
}

func init() {
	if exec.Command("unshare", "-pf", "true").Run() == nil { // needs to be allowed
		codons = append(codons, codon{"a PID namespace of its own", `unshare -pf sh -c 'trap "" TERM; >inside; sleep 1000' & until [ -e inside ]; do :; done; echo ready`, -1}) // the kernel kills along
	}
	// A process whose first thread has ended: it looks like a zombie.
	if len(os.Args) > 2 && os.Args[2] == "headless" {
		runtime.LockOSThread() // main has to run on the first thread
	}
	parts["headless"] = func([]string) {
		// The runtime of Go parks the first thread instead of ending it; the
		// system call does not ask. The other threads go on.
		go func() {
			for {
				time.Sleep(time.Millisecond)
				if b, _ := os.ReadFile("/proc/self/stat"); strings.Contains(string(b), ") Z ") {
					break
				}
			}
			fmt.Println("up")
			select {}
		}()
		_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0)
	}
	parts["subreaper"] = func([]string) {
		_ = becomeSubreaper()
		cmd := exec.Command("sh", "-c", `exec setsid sleep 1000`)
		cmd.ExtraFiles = []*os.File{os.NewFile(9, "canary")}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		os.NewFile(9, "canary").WriteString("up\n")
		_ = cmd.Wait()
	}
}

func TestNothingOutlivesItsCommand(t *testing.T) {
	t.Parallel()
	for _, codon := range codons {
		t.Run(codon.name, func(t *testing.T) {
			t.Parallel()
			spec := shell(t, codon.script+`; exit 5`)
			exit, stdout, _ := run(t, spec)
			if left := holders(t, canary(spec)); len(left) > 0 {
				t.Errorf("alive after Wait: %v", left)
			}
			if exit.Code != 5 || exit.KeeperLost || !strings.Contains(stdout, "ready\n") {
				t.Errorf("exit %+v, stdout %.100q", exit, stdout)
			}
			if exit.KilledTotal != len(exit.Killed) || codon.left >= 0 && exit.KilledTotal != codon.left || codon.left < 0 && exit.KilledTotal == 0 {
				t.Errorf("killed %d, want %d: %v", exit.KilledTotal, codon.left, exit.Killed)
			}
			for _, p := range exit.Killed {
				if p.PID == 0 || p.Command == "" {
					t.Errorf("leftover without a name: %+v", p)
				}
			}
		})
	}
}

func TestNothingOutlivesAStop(t *testing.T) {
	t.Parallel()
	for _, codon := range codons {
		t.Run(codon.name, func(t *testing.T) {
			t.Parallel()
			spec := shell(t, codon.script+`; while :; do sleep 0.05; done`)
			spec.StopGrace = 100 * time.Millisecond
			p, stdout, _ := start(t, spec)
			until(t, "ready", 10*time.Second, func() bool { return strings.Contains(stdout.String(), "ready\n") })
			if len(holders(t, canary(spec))) < 2 {
				t.Fatal("the codon did not leave anything, so nothing is tested")
			}
			p.Stop()
			exit, err := p.Wait()
			if left := holders(t, canary(spec)); len(left) > 0 {
				t.Errorf("alive after Wait: %v", left)
			}
			if err != nil || !exit.Stopped {
				t.Errorf("exit %+v, %v", exit, err)
			}
		})
	}
}

// comet is the fastest of its kind: a process that forks, ends, and so on in
// the child, in a new session each time.
const comet = `command -v perl >/dev/null || exit 0
	perl -MPOSIX -e 'while (!-e "stop") { POSIX::setsid(); fork and POSIX::_exit(0) }' >/dev/null 2>&1 &`

// A relay's generations live just long enough to start the next one: there is
// no process that one could find and kill in peace.
func TestAForkStormIsEnded(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"relay":             `echo '[ -e stop ] || sh ./relay &' >relay; sh ./relay`,
		"relay in sessions": `echo '[ -e stop ] || setsid sh ./relay >/dev/null 2>&1 &' >relay; sh ./relay`,
		"comet":             comet,
		"wide":              `i=0; while [ $i -lt 100 ]; do sleep 1000 & i=$((i+1)); done`,
		"two at a time":     `f() { [ $1 -gt 5 ] && exec sleep 1000; f $(($1+1)) & f $(($1+1)) & wait; }; f 0 & :`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := shell(t, script+"\necho ready; sleep 0.3; exit 0")
			t.Cleanup(func() { _ = os.WriteFile(filepath.Join(spec.Dir, "stop"), nil, 0o600) })
			began := time.Now()
			exit, _, _ := run(t, spec)
			if left := holders(t, canary(spec)); len(left) > 0 {
				t.Errorf("alive after Wait: %v", left)
			}
			if exit.Code != 0 || len(exit.Killed) > maxLeftovers || name == "wide" && exit.KilledTotal != 100 {
				t.Errorf("exit %+v", exit)
			}
			t.Logf("%d killed, %v", exit.KilledTotal, time.Since(began))
		})
	}
}

func TestOnlyStandardStreamsAreHandedDown(t *testing.T) {
	t.Parallel()
	// A leak in the runtime's own process, as a library may have.
	leak, err := syscall.Open("/dev/null", syscall.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(leak)
	spec := shell(t, "")
	spec.Args = []string{"sh", "-c", `for f in /proc/$$/fd/*; do [ -e $f ] && echo ${f##*/}; done; grep flags /proc/$$/fdinfo/1 /proc/$$/fdinfo/2`}
	_, stdout, _ := run(t, spec)
	head, flags, _ := strings.Cut(stdout, "/")
	if got := strings.Fields(strings.TrimSuffix(head, "proc")); !slices.Equal(got, []string{"0", "1", "2"}) {
		t.Errorf("descriptors %v", got)
	}
	// Agents take it for an error when a full pipe says EAGAIN.
	for _, line := range strings.Split(strings.TrimSpace(flags), "\n") {
		fields := strings.Fields(line)
		mode, err := strconv.ParseInt(fields[len(fields)-1], 8, 64)
		if err != nil || mode&syscall.O_NONBLOCK != 0 {
			t.Errorf("the command's stream does not block: %s", line)
		}
	}
}

func TestCommandHasItsOwnSessionAndGroupAndNoTerminal(t *testing.T) {
	t.Parallel()
	p, stdout, _ := start(t, shell(t, `echo ready; sleep 1000`))
	until(t, "ready", 10*time.Second, func() bool { return stdout.String() != "" })
	list, err := proc.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range list {
		if q.PID == p.PID() && (q.Group != p.PID() || q.Session != p.keeperPID() || q.Parent != p.keeperPID()) {
			t.Errorf("group %d, session %d, parent %d", q.Group, q.Session, q.Parent)
		}
	}
	p.Kill()
	_, _ = p.Wait()
}

func TestSignalsToTheKeeperDoNotReachItsWork(t *testing.T) {
	t.Parallel()
	p, stdout, _ := start(t, shell(t, `trap 'echo got; exit 6' USR1; echo ready; while :; do sleep 0.01; done`))
	until(t, "ready", 10*time.Second, func() bool { return stdout.String() != "" })
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE, syscall.SIGUSR1} {
		_ = syscall.Kill(p.keeperPID(), sig)
	}
	_ = syscall.Kill(p.PID(), syscall.SIGUSR1)
	if exit, err := p.Wait(); err != nil || exit.Code != 6 || exit.KeeperLost {
		t.Errorf("exit %+v, %v", exit, err)
	}
}

func TestAStoppedKeeperStillKills(t *testing.T) {
	t.Parallel()
	spec := shell(t, `echo ready; sleep 1000`)
	p, stdout, _ := start(t, spec)
	until(t, "ready", 10*time.Second, func() bool { return stdout.String() != "" })
	_ = syscall.Kill(p.keeperPID(), syscall.SIGSTOP)
	p.Kill()
	if exit, err := p.Wait(); err != nil || !exit.Stopped || exit.KeeperLost {
		t.Errorf("exit %+v, %v", exit, err)
	}
}

// A command that stops its keeper and ends has ended, as it did.
func TestAKeeperThatItsCommandStoppedGoesOn(t *testing.T) {
	t.Parallel()
	exit, _, _ := run(t, shell(t, `kill -STOP $PPID; exit 3`))
	if exit.Code != 3 || exit.Stopped || exit.TimedOut || exit.KeeperLost {
		t.Errorf("exit = %+v", exit)
	}
}

// What was finished before somebody wanted it to stop was not stopped, each
// time, although a stopped keeper hears of both at once.
func TestWhatHadEndedWasNotStopped(t *testing.T) {
	t.Parallel()
	for range 5 {
		p, _, _ := start(t, shell(t, `kill -STOP $PPID; exit 3`))
		until(t, "the command has ended", 10*time.Second, func() bool {
			verdict, _ := p.Identity().Check()
			return verdict == proc.Dead
		})
		p.Stop()
		if exit, err := p.Wait(); err != nil || exit.Code != 3 || exit.Stopped || exit.KeeperLost {
			t.Errorf("exit %+v, %v", exit, err)
		}
	}
}

// What stops the keeper again and again is ended without it.
func TestAKeeperThatIsStoppedAgainAndAgainIsReplaced(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	spec := shell(t, `until [ -e started ]; do sleep 0.01; done; K=$PPID; (while kill -STOP $K 2>/dev/null; do :; done) & sleep 0.1; exit 0`)
	p, _, _ := start(t, spec)
	if err := os.WriteFile(filepath.Join(spec.Dir, "started"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if exit, err := p.Wait(); err != nil || !exit.KeeperLost && exit.Code != 0 {
		t.Errorf("exit %+v, %v", exit, err)
	}
	if left := holders(t, canary(spec)); len(left) > 0 {
		t.Errorf("alive: %v", left)
	}
}

func TestAStoppedCommandHearsTheStop(t *testing.T) {
	t.Parallel()
	spec := shell(t, `trap 'exit 8' TERM; echo ready; kill -STOP $$; while :; do sleep 0.01; done`)
	p, _, _ := start(t, spec)
	until(t, "stopped", 10*time.Second, func() bool {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID()))
		return strings.Contains(string(b), ") T ")
	})
	p.Stop()
	if exit, err := p.Wait(); err != nil || exit.Code != 8 {
		t.Errorf("exit %+v, %v", exit, err)
	}
}

func TestACommandKilledByOthersIsReported(t *testing.T) {
	t.Parallel()
	spec := shell(t, `sleep 1000 & echo ready; wait`)
	p, stdout, _ := start(t, spec)
	until(t, "ready", 10*time.Second, func() bool { return stdout.String() != "" })
	_ = syscall.Kill(p.PID(), syscall.SIGKILL)
	exit, err := p.Wait()
	if err != nil || exit.Signal != "SIGKILL" || exit.Stopped || exit.KilledTotal != 1 {
		t.Errorf("exit %+v, %v", exit, err)
	}
	if left := holders(t, canary(spec)); len(left) > 0 {
		t.Errorf("alive after Wait: %v", left)
	}
}

func TestAStreamHeldOpenFromOutsideDoesNotBlock(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	p, stdout, _ := start(t, shell(t, `echo ready; sleep 1000`))
	until(t, "ready", 10*time.Second, func() bool { return stdout.String() != "" })
	held, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/1", p.PID()), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	p.Kill()
	if exit, err := p.Wait(); !errors.Is(err, errHeld) || !exit.Stopped {
		t.Errorf("exit %+v, %v", exit, err)
	}
}
