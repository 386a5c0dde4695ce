package keeper

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"hank/internal/proc"
	"hank/internal/short"
)

// A keeper that dies between two of its steps: the runtime that waits for it
// must neither hang nor leave anything alive.
func TestAKeeperMayDieAtAnyStep(t *testing.T) {
	t.Parallel()
	for step, want := range map[string]string{
		"keeper.forked":    "the keeper ended before it could start the command",
		"keeper.childless": "lost",
	} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			spec := shell(t, "") // the part brings its own script
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(self, "__part", "lost")
			cmd.Env = append(spec.Env, "HANK_FAILPOINT="+step, "DIR="+spec.Dir, "ATTEMPT="+spec.Attempt)
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), want) {
				t.Errorf("%s, %v; want %q", out, err, want)
			}
			if left := holders(t, canary(spec)); len(left) > 0 {
				t.Errorf("alive: %v", left)
			}
		})
	}
}

func init() {
	parts["lost"] = func([]string) {
		if err := BecomeSubreaper(); err != nil {
			panic(err)
		}
		p, err := Start(Spec{
			Args:    []string{"sh", "-c", `exec 9>>"$CANARY"; setsid sleep 1000 & nohup sleep 1000 & exit 0`},
			Env:     os.Environ(),
			Dir:     os.Getenv("DIR"),
			Attempt: os.Getenv("ATTEMPT"),
		}, Streams{})
		if err != nil {
			fmt.Println(err)
			return
		}
		exit, err := p.Wait()
		if exit.KeeperLost && err == nil {
			fmt.Println("lost")
			return
		}
		fmt.Printf("%+v, %v\n", exit, err)
	}
	// A process that may not be killed: it belongs to root, the hunter does not.
	parts["powerless"] = func([]string) {
		cmd := exec.Command("sleep", "1000")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		command, err := proc.Of(cmd.Process.Pid)
		if err != nil {
			panic(err)
		}
		if err := errors.Join(syscall.Setgid(65534), syscall.Setuid(65534)); err != nil {
			panic(err)
		}
		killed, err := reaper{attempt: "powerless", command: command}.end(100 * time.Millisecond)
		fmt.Printf("%d\n%d\n%v\n", command.PID, killed.total, err)
	}
}

func TestWhatCannotBeKilledIsNamed(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs two users")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(self, "__part", "powerless").Output()
	if err != nil {
		t.Fatal(err)
	}
	var pid, total int
	if _, err := fmt.Sscanf(string(out), "%d\n%d\n", &pid, &total); err != nil {
		t.Fatalf("%q: %v", out, err)
	}
	id, err := proc.Of(pid)
	if err != nil || !strings.Contains(id.CmdLine(), "sleep 1000") {
		t.Fatalf("%+v, %v: it was killed all the same", id, err)
	}
	defer func() { _ = id.Kill(syscall.SIGKILL) }()
	want := fmt.Sprintf(`what attempt "powerless" started cannot be killed and still runs: process %d (sleep 1000); kill it as its owner, or reboot`, pid)
	if total != 0 || !strings.Contains(string(out), want) {
		t.Errorf("%q does not say %q", out, want)
	}
}

// Losing one keeper must not cost the work of another, nor a keeper that is
// just being started.
func TestALostKeeperTakesNobodyAlong(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	spec := shell(t, "") // the part brings its own scripts
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "__part", "neighbours")
	cmd.Env = append(spec.Env, "DIR="+spec.Dir)
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "fine\n" {
		t.Errorf("%s, %v", out, err)
	}
	if left := holders(t, canary(spec)); len(left) > 0 {
		t.Errorf("alive: %v", left)
	}
}

func init() {
	parts["neighbours"] = func([]string) {
		if err := BecomeSubreaper(); err != nil {
			panic(err)
		}
		begin := func(name string) *Process {
			p, err := Start(Spec{
				Args:    []string{"sh", "-c", `exec 9>>"$CANARY"; env -i setsid sleep 1000 & setsid sleep 1000 & wait`},
				Env:     os.Environ(),
				Dir:     os.Getenv("DIR"),
				Attempt: fmt.Sprintf("neighbours-%d-%s", os.Getpid(), name),
			}, Streams{})
			if err != nil {
				panic(err)
			}
			return p
		}
		alive := func(p *Process) int {
			list, err := proc.Descendants(p.keeperPID())
			if err != nil {
				panic(err)
			}
			return len(list)
		}
		survivor := begin("survivor")
		for alive(survivor) != 3 {
			time.Sleep(time.Millisecond)
		}
		var later []*Process
		for i := range 5 {
			victim := begin(fmt.Sprint("victim", i))
			_ = syscall.Kill(victim.keeperPID(), syscall.SIGKILL)
			later = append(later, begin(fmt.Sprint("later", i))) // while the victim's tree is hunted
			if exit, err := victim.Wait(); err != nil || !exit.KeeperLost {
				fmt.Printf("victim: %+v, %v\n", exit, err)
			}
		}
		if n := alive(survivor); n != 3 {
			fmt.Println("survivor has processes:", n)
		}
		for _, p := range append(later, survivor) {
			p.Kill()
			if exit, err := p.Wait(); err != nil || exit.KeeperLost || exit.Signal != "SIGKILL" {
				fmt.Printf("neighbour: %+v, %v\n", exit, err)
			}
		}
		fmt.Println("fine")
	}
}
