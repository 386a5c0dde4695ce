package proc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shirou/gopsutil/v3/process"
	"golang.org/x/sys/unix"

	"hank/internal/proc/proctest"
)

// The test binary starts itself to judge a pid from within another PID
// namespace, and to be a process without its first thread.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "__headless" {
		headless()
	}
	if len(os.Args) == 2 && os.Args[1] == "__reuse" {
		if err := reuse(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) == 3 && os.Args[1] == "__check" {
		pid, _ := strconv.Atoi(os.Args[2])
		_, err := Self()
		verdict, why := Identity{PID: pid}.Check()
		fmt.Printf("%v\n%s\n%v\n", verdict, why, err)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child starts a process that waits for the end of its input.
func child(t *testing.T, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("cat")
	cmd.Env = append(os.Environ(), env...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdin.Close(); _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

func identify(t *testing.T, pid int) Identity {
	t.Helper()
	id, err := Of(pid)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func expect(t *testing.T, id Identity, want Liveness) {
	t.Helper()
	if got, why := id.Check(); got != want {
		t.Errorf("%v (%s), want %v", got, why, want)
	}
}

func awaitState(t *testing.T, pid int, state byte) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if s, err := readStat(pid); err == nil && s.state == state {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d did not get into state %c", pid, state)
		}
	}
}

func TestALifeFromStartToEnd(t *testing.T) {
	t.Parallel()
	cmd := child(t)
	id := identify(t, cmd.Process.Pid)
	if id.Host == "" || id.BootID == "" || id.PIDNamespace == "" || id.StartTicks == 0 {
		t.Errorf("incomplete: %+v", id)
	}
	expect(t, id, Alive)
	if err := id.Kill(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	awaitState(t, id.PID, 'T')
	expect(t, id, Alive)
	if err := id.Kill(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitState(t, id.PID, 'Z')
	expect(t, id, Dead)
	if err := id.Kill(syscall.SIGKILL); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("killing a zombie: %v", err)
	}
	if dead, err := Of(id.PID); err != nil || dead != id {
		t.Errorf("identifying a zombie: %+v, %v", dead, err)
	}
	_ = cmd.Wait()
	expect(t, id, Dead)
	if _, err := Of(id.PID); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("identifying nothing: %v", err)
	}
	if err := id.Kill(syscall.SIGKILL); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("killing nothing: %v", err)
	}
	if line := id.CmdLine(); line != "" {
		t.Errorf("command line of nothing: %q", line)
	}
}

func TestSelfIsAlive(t *testing.T) {
	t.Parallel()
	id, err := Self()
	if err != nil || id.PID != os.Getpid() {
		t.Fatal(id, err)
	}
	expect(t, id, Alive)
	if line := id.CmdLine(); !strings.Contains(line, "proc.test") {
		t.Errorf("command line %q", line)
	}
}

// A pid that was given away is known by the start time of its new owner, which
// no signal that is meant for the old one reaches.
func TestAReusedPIDIsDeadAndItsNewOwnerIsNotKilled(t *testing.T) {
	t.Parallel()
	t.Run("by injection", func(t *testing.T) {
		t.Parallel()
		now := identify(t, child(t).Process.Pid)
		for _, ticks := range []uint64{now.StartTicks - 1, now.StartTicks + 1, 1} {
			old := now
			old.StartTicks = ticks
			expect(t, old, Dead)
			if err := old.Kill(syscall.SIGKILL); !errors.Is(err, os.ErrProcessDone) {
				t.Errorf("killing a reused pid: %v", err)
			}
		}
		expect(t, now, Alive)
	})
	t.Run("for real", func(t *testing.T) {
		t.Parallel()
		if why := proctest.Refused(); why != "" {
			t.Skip(why)
		}
		if out, err := proctest.Command("__reuse").CombinedOutput(); err != nil || string(out) != "reused\n" {
			t.Errorf("%v: %s", err, out)
		}
	})
}

// reuse lets the kernel give a pid to another process, in a namespace where
// nobody else starts any.
func reuse() error {
	if err := proctest.Enter(); err != nil {
		return err
	}
	first := exec.Command("true")
	if err := first.Start(); err != nil {
		return err
	}
	old, err := Of(first.Process.Pid)
	if err != nil {
		return err
	}
	_ = first.Wait()
	time.Sleep(20 * time.Millisecond) // start times differ by ticks, of 10 ms
	second, err := proctest.As(old.PID, func() (*exec.Cmd, error) { cmd := exec.Command("sleep", "1000"); return cmd, cmd.Start() })
	if err != nil {
		return err
	}
	defer func() { _ = second.Process.Kill() }()
	if verdict, why := old.Check(); verdict != Dead || !strings.Contains(why, "belongs to another process") {
		return fmt.Errorf("the old process is %v: %s", verdict, why)
	}
	if err := old.Kill(syscall.SIGKILL); !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("killing the old process: %w", err)
	}
	now, err := Of(old.PID)
	if err != nil {
		return err
	}
	if verdict, why := now.Check(); verdict != Alive {
		return fmt.Errorf("the new process is %v: %s", verdict, why)
	}
	fmt.Println("reused")
	return nil
}

func TestWhatIsNotCertainIsNotSignalled(t *testing.T) {
	t.Parallel()
	id := identify(t, child(t).Process.Pid)
	for name, edit := range map[string]func(*Identity){
		"other machine":   func(id *Identity) { id.BootID, id.Host, id.Machine = "x", "elsewhere", "y" },
		"other namespace": func(id *Identity) { id.PIDNamespace = "1" },
		"pid only":        func(id *Identity) { *id = Identity{PID: id.PID} },
	} {
		doubtful := id
		edit(&doubtful)
		if err := doubtful.Kill(syscall.SIGKILL); err == nil || errors.Is(err, os.ErrProcessDone) {
			t.Errorf("%s: Kill returned %v", name, err)
		}
	}
	expect(t, id, Alive)
	// A renamed host is no doubt.
	id.Host = "renamed"
	expect(t, id, Alive)
}

func TestAThreadIsNoReusedProcess(t *testing.T) {
	t.Parallel()
	// Thread ids can be looked up in /proc although they are not listed.
	id, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		tid, _ := strconv.Atoi(thread.Name())
		if tid == id.PID {
			continue
		}
		stolen := id
		stolen.PID, stolen.StartTicks = tid, 1
		expect(t, stolen, Dead)
		if err := stolen.Kill(0); !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("signal to a thread: %v", err)
		}
	}
}

// In a new PID namespace with the /proc of the old one, a pid in /proc is not
// the process that the kernel knows by that pid.
func TestAForeignProcFSProvesNothing(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "__check", strconv.Itoa(os.Getpid()))
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
	}
	out, err := cmd.Output()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOSPC) {
		t.Skip("no new PID namespace allowed:", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(out), "\n")
	if lines[0] != "unknown" || !strings.Contains(lines[2], "another PID namespace") {
		t.Errorf("verdict %q", lines)
	}
}

// headless ends the first thread; the process goes on in the others. Go's
// runtime would park that thread, the system call does not ask.
func headless() {
	runtime.LockOSThread()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	if os.Getpid() != unix.Gettid() {
		panic("main does not run on the first thread")
	}
	_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0)
}

func TestAProcessWithoutItsFirstThreadIsNoZombie(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	value := fmt.Sprintf("headless%d", os.Getpid())
	cmd := exec.Command(self, "__headless")
	cmd.Env = append(os.Environ(), "PROC_TEST="+value)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	awaitState(t, cmd.Process.Pid, 'Z')
	id := identify(t, cmd.Process.Pid)
	expect(t, id, Alive)
	if found, err := WithEnv("PROC_TEST", value); err != nil || len(found) != 1 || found[0] != id {
		t.Errorf("by environment: %+v, %v", found, err)
	}
	stdin.Close()
	_ = cmd.Wait()
	expect(t, id, Dead)
}

func TestProcessesAreFoundByEnvironment(t *testing.T) {
	t.Parallel()
	value := fmt.Sprintf("v%d", os.Getpid())
	marked := identify(t, child(t, "PROC_TEST="+value).Process.Pid)
	child(t, "PROC_TEST="+value+"x")
	child(t, "XPROC_TEST="+value)
	child(t, "OTHER=PROC_TEST="+value)
	found, err := WithEnv("PROC_TEST", value)
	if err != nil || len(found) != 1 || found[0] != marked {
		t.Errorf("found %+v, %v; want %+v", found, err, marked)
	}
	if err := marked.Kill(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitState(t, marked.PID, 'Z')
	if found, err := WithEnv("PROC_TEST", value); err != nil || len(found) != 0 {
		t.Errorf("found a zombie: %+v, %v", found, err)
	}
}

func TestDescendantsOfEveryGeneration(t *testing.T) {
	t.Parallel()
	// Three generations, the last in a session of its own.
	cmd := exec.Command("sh", "-c", `exec 3<&0; sh -c 'setsid cat <&3 & echo; wait' & wait`)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { stdin.Close(); _ = cmd.Wait() }()
	if _, err := io.ReadFull(stdout, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	found, err := Descendants(cmd.Process.Pid)
	if err != nil || len(found) != 2 {
		t.Fatalf("found %+v, %v", found, err)
	}
	mine, err := Descendants(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	index := map[int]int{}
	for i, id := range mine {
		index[id.PID] = i + 1
	}
	if a, b, c := index[cmd.Process.Pid], index[found[0].PID], index[found[1].PID]; a == 0 || b < a || c < b {
		t.Errorf("order %d, %d, %d in %+v", a, b, c, mine)
	}
}

// Oracle: gopsutil's own reading of the same processes.
func TestListAgreesWithGopsutil(t *testing.T) {
	t.Parallel()
	list, err := List()
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, p := range list {
		q := &process.Process{Pid: int32(p.PID)}
		ppid, err := q.Ppid()
		if err != nil {
			continue
		}
		if now, err := Of(p.PID); err != nil || now.StartTicks != p.StartTicks {
			continue
		}
		if int(ppid) == p.Parent {
			compared++
		} else if p.Parent != 1 && ppid != 1 { // an orphan has moved meanwhile
			t.Errorf("%d: parent %d, gopsutil says %d", p.PID, p.Parent, ppid)
		}
	}
	if compared < 2 {
		t.Errorf("only %d processes compared", compared)
	}
}

// A process may call itself what it likes.
func TestAProcessNameCannotForgeTheStatus(t *testing.T) {
	t.Parallel()
	for _, name := range []string{") Z 1 1 1 (", "a) Z 0 0", "((((", "\n) R 1", "   "} {
		done := make(chan stat)
		go func() {
			// A thread has a status line of its own. This one ends with its
			// goroutine, as it stays locked.
			runtime.LockOSThread()
			if err := os.WriteFile("/proc/thread-self/comm", []byte(name), 0); err != nil {
				t.Error(err)
			}
			b, _ := os.ReadFile("/proc/thread-self/stat")
			s, err := parseStat(b)
			if err != nil {
				t.Errorf("%q: %v", b, err)
			}
			done <- s
		}()
		if s := <-done; s.state != 'R' || s.parent != os.Getppid() {
			t.Errorf("%q: %+v", name, s)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("6804 (cat) R 6799 6799 4842 0 -1 4194304 100 0 0 0 0 0 0 0 20 0 1 0 66853 3133440 383"), int64(66853))
	f.Add([]byte("1 () ) S 0 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 7 0 2 0"), int64(2))
	f.Add([]byte("1 (x"), int64(0))
	f.Add([]byte(""), int64(0))
	f.Fuzz(func(t *testing.T, b []byte, ticks int64) {
		s, err := parseStat(b)
		if err != nil {
			return
		}
		// What was accepted must say the same when written again.
		line := fmt.Sprintf("%d (%s) %s %d %d %d 0 -1 0 0 0 0 0 0 0 0 0 20 0 %d 0 %d 0", s.pid, bytes.TrimSpace(b), []byte{s.state}, s.parent, s.group, s.session, s.threads, s.ticks)
		again, err := parseStat([]byte(line))
		if err != nil || again != s {
			t.Fatalf("%+v became %+v, %v", s, again, err)
		}
	})
}

func TestHiddenProcessesAreNotDead(t *testing.T) {
	t.Parallel()
	// What /proc does not show (hidepid) is asked of the kernel: it knows our
	// own pid and does not know one beyond the highest.
	if seen, err := observeBySignal(os.Getpid()); err != nil || seen.state != unseen {
		t.Errorf("own pid: %+v, %v", seen, err)
	}
	if seen, err := observeBySignal(1 << 30); err != nil || seen.state != gone {
		t.Errorf("impossible pid: %+v, %v", seen, err)
	}
}

func TestAProcessWithoutPidfdIsStillKilledExactly(t *testing.T) {
	t.Parallel()
	cmd := child(t)
	id := identify(t, cmd.Process.Pid)
	other := id
	other.StartTicks++
	if err := other.killByNumber(syscall.SIGKILL); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("another life: %v", err)
	}
	expect(t, id, Alive)
	if err := id.killByNumber(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != unix.SIGKILL {
		t.Errorf("ended with %v", err)
	}
}

// The verdict at the start of every command: its target is 20 ms.
func BenchmarkCheck(b *testing.B) {
	id, err := Self()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if verdict, why := id.Check(); verdict != Alive {
			b.Fatal(why)
		}
	}
}

func BenchmarkWithEnv(b *testing.B) {
	for b.Loop() {
		if _, err := WithEnv("HANK_ATTEMPT", "none"); err != nil {
			b.Fatal(err)
		}
	}
}

func init() {
	// The main goroutine has to run on the first thread, see headless.
	if len(os.Args) == 2 && os.Args[1] == "__headless" {
		runtime.LockOSThread()
	}
}
