package keeper

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"hank/internal/proc"
)

// hostRuntime is what the part "runtime" is told and tells.
type hostRuntime struct {
	Spec    Spec
	Adopt   bool
	Started struct{ Command, Keeper int }
	Exit    *Exit
	Err     string
}

func init() {
	// A runtime with one command: started with a hostRuntime on its standard
	// input, it tells what it started, and how it ended.
	parts["runtime"] = func([]string) {
		var host hostRuntime
		if err := json.NewDecoder(os.Stdin).Decode(&host); err != nil {
			panic(err)
		}
		if host.Adopt {
			if err := BecomeSubreaper(); err != nil {
				panic(err)
			}
		}
		// A helper in the runtime's own session must never be hit.
		runtime.LockOSThread()
		helper := exec.Command("sleep", "1000")
		helper.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := helper.Start(); err != nil {
			panic(err)
		}
		defer helper.Process.Kill()
		p, err := Start(host.Spec, Streams{})
		if err != nil {
			panic(err)
		}
		host.Started.Command, host.Started.Keeper = p.PID(), p.KeeperPID()
		out := json.NewEncoder(os.Stdout)
		_ = out.Encode(host)
		exit, err := p.Wait()
		host.Exit = &exit
		if err != nil {
			host.Err = err.Error()
		}
		if syscall.Kill(helper.Process.Pid, 0) != nil {
			host.Err += " the helper was killed"
		}
		_ = out.Encode(host)
	}
}

// startRuntime starts another process as the runtime of a command, and
// returns when what the codon leaves behind is there.
func startRuntime(t *testing.T, spec Spec, adopt bool) (*exec.Cmd, *json.Decoder, hostRuntime) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	host := hostRuntime{Spec: spec, Adopt: adopt}
	order, err := json.Marshal(host)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "__part", "runtime")
	cmd.Stdin, cmd.Stderr = strings.NewReader(string(order)), os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	answers := json.NewDecoder(stdout)
	if err := answers.Decode(&host); err != nil {
		t.Fatal(err)
	}
	until(t, "ready", 10*time.Second, func() bool {
		_, err := os.Stat(filepath.Join(spec.Dir, "ready"))
		return err == nil
	})
	return cmd, answers, host
}

// lasting is a codon that does not end and has left something behind.
func lasting(t *testing.T, script string) Spec {
	return shell(t, script+`; >ready; while :; do sleep 0.05; done`)
}

func TestNothingOutlivesAKilledRuntime(t *testing.T) {
	t.Parallel()
	for _, codon := range codons {
		t.Run(codon.name, func(t *testing.T) {
			t.Parallel()
			spec := lasting(t, codon.script)
			cmd, _, host := startRuntime(t, spec, true)
			keeper, err := proc.Of(host.Started.Keeper)
			if err != nil {
				t.Fatal(err)
			}
			_ = cmd.Process.Kill()
			until(t, "everything dead", 5*time.Second, func() bool {
				verdict, _ := keeper.Check()
				return verdict == proc.Dead && len(holders(t, canary(spec))) == 0
			})
		})
	}
}

func TestNothingOutlivesAKilledKeeper(t *testing.T) {
	t.Parallel()
	for _, codon := range codons {
		t.Run(codon.name, func(t *testing.T) {
			t.Parallel()
			spec := lasting(t, codon.script)
			_, answers, host := startRuntime(t, spec, true)
			_ = syscall.Kill(host.Started.Keeper, syscall.SIGKILL)
			if err := answers.Decode(&host); err != nil {
				t.Fatal(err)
			}
			if left := holders(t, canary(spec)); len(left) > 0 {
				t.Errorf("alive after Wait: %v", left)
			}
			if host.Err != "" || !host.Exit.KeeperLost || host.Exit.Code != -1 {
				t.Errorf("exit %+v, %s", host.Exit, host.Err)
			}
		})
	}
}

// The kernel alone ends the command with its keeper: the runtime is stopped
// and can do nothing.
func TestTheCommandDiesWithItsKeeper(t *testing.T) {
	t.Parallel()
	spec := lasting(t, `:`)
	cmd, _, host := startRuntime(t, spec, true)
	command, err := proc.Of(host.Started.Command)
	if err != nil {
		t.Fatal(err)
	}
	_ = cmd.Process.Signal(syscall.SIGSTOP)
	_ = syscall.Kill(host.Started.Keeper, syscall.SIGKILL)
	until(t, "dead", 5*time.Second, func() bool {
		verdict, _ := command.Check()
		return verdict == proc.Dead
	})
}

// The runtime is killed and the keeper cannot do its work, because it was
// killed as well (as when memory ends) or stopped; the next one that opens the
// execution calls Reap.
func TestReapEndsWhatACrashHasLeft(t *testing.T) {
	t.Parallel()
	for i, codon := range codons {
		if codon.name == "daemon without marks" {
			continue // nothing tells whose it is, once keeper and runtime are gone
		}
		t.Run(codon.name, func(t *testing.T) {
			t.Parallel()
			spec := lasting(t, codon.script)
			cmd, _, host := startRuntime(t, spec, false)
			_ = syscall.Kill(host.Started.Keeper, []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL}[i%2])
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			killed, err := Reap(spec.Attempt)
			if left := holders(t, canary(spec)); len(left) > 0 || err != nil {
				t.Errorf("alive after Reap: %v, %v", left, err)
			}
			// Some of it dies of the keeper's death.
			t.Logf("killed %v", killed)
			if again, err := Reap(spec.Attempt); err != nil || len(again) != 0 {
				t.Errorf("second Reap: %v, %v", again, err)
			}
		})
	}
}

func TestReapTouchesNothingElse(t *testing.T) {
	t.Parallel()
	spec := shell(t, `sleep 1000 & echo ready; wait`)
	p, stdout, _ := start(t, spec)
	until(t, "ready", 10*time.Second, func() bool { return stdout.String() != "" })
	for _, other := range []string{spec.Attempt + "0", spec.Attempt[:len(spec.Attempt)-1] + "x", "x" + spec.Attempt} {
		if killed, err := Reap(other); err != nil || len(killed) != 0 {
			t.Errorf("Reap(%q) = %v, %v", other, killed, err)
		}
	}
	if n := len(holders(t, canary(spec))); n != 2 {
		t.Errorf("%d processes alive, want 2", n)
	}
	if _, err := Reap(""); err == nil {
		t.Error("Reap of no attempt is no error")
	}
	p.Kill()
	_, _ = p.Wait()
}
