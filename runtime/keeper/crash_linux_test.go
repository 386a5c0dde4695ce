package keeper

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"hank/internal/proc"
	"hank/internal/short"
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
		host.Started.Command, host.Started.Keeper = p.PID(), p.keeperPID()
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

// The runtime is killed together with its keeper, or while its keeper hangs,
// and nobody opens the execution again: what the codon started is gone within
// five seconds all the same.
func TestNothingOutlivesRuntimeAndKeeperTogether(t *testing.T) {
	t.Parallel()
	for k, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP} {
		for i, codon := range codons {
			if testing.Short() && (i+2*k)%4 != 0 {
				continue
			}
			if codon.name == "daemon without marks" && signal == syscall.SIGKILL {
				continue // nothing tells whose it is, once keeper and runtime are gone
			}
			t.Run(codon.name+", keeper: "+signal.String(), func(t *testing.T) {
				t.Parallel()
				spec := lasting(t, codon.script)
				cmd, _, host := startRuntime(t, spec, true)
				keeper, err := proc.Of(host.Started.Keeper)
				if err != nil {
					t.Fatal(err)
				}
				if len(holders(t, canary(spec))) == 0 {
					t.Fatal("nothing is alive before the kill; this test looks at nothing")
				}
				_ = syscall.Kill(host.Started.Keeper, signal)
				_ = cmd.Process.Kill()
				began := time.Now()
				until(t, "everything dead", 5*time.Second, func() bool {
					verdict, _ := keeper.Check()
					return verdict == proc.Dead && len(holders(t, canary(spec))) == 0
				})
				t.Logf("after %v", time.Since(began).Round(time.Millisecond))
			})
		}
	}
}

// A watchdog that was killed is replaced with the next attempt, which it is told
// of together with those before it.
func TestALostWatchdogIsReplaced(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	spec := shell(t, "") // the part brings its own script
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "__part", "unguarded")
	cmd.Env = append(spec.Env, "DIR="+spec.Dir, "ATTEMPT="+spec.Attempt)
	out, err := cmd.CombinedOutput()
	if string(out) != "watched\n" {
		t.Fatalf("%s, %v", out, err)
	}
	until(t, "everything dead", 5*time.Second, func() bool { return len(holders(t, canary(spec))) == 0 })
}

func init() {
	// A runtime that loses its watchdog, starts another command, and is killed
	// with the keepers of both.
	parts["unguarded"] = func([]string) {
		begin := func(name string) *Process {
			p, err := Start(Spec{
				Args: []string{"sh", "-c", `exec 9>>"$CANARY"; setsid sleep 1000 & wait`},
				Env:  os.Environ(), Dir: os.Getenv("DIR"), Attempt: os.Getenv("ATTEMPT") + name,
			}, Streams{})
			if err != nil {
				panic(err)
			}
			for {
				if list, _ := proc.Descendants(p.keeperPID()); len(list) == 2 {
					return p
				}
				time.Sleep(time.Millisecond)
			}
		}
		watchdog := func() []proc.Info {
			var found []proc.Info
			list, _ := proc.List()
			for _, p := range proc.Below(list, os.Getpid()) {
				if line := p.CmdLine(); strings.HasSuffix(line, watchdogArgument) {
					found = append(found, p)
				}
			}
			return found
		}
		settled := func() []proc.Info { // a watchdog that starts a program is two for a moment
			for range 2000 {
				if len(watchdog()) == 1 {
					break
				}
				time.Sleep(time.Millisecond)
			}
			return watchdog()
		}
		first := begin("-1")
		old := settled()
		if len(old) != 1 {
			fmt.Println("watchdogs:", old)
			return
		}
		_ = old[0].Kill(syscall.SIGKILL)
		for len(watchdog()) > 0 {
			time.Sleep(time.Millisecond)
		}
		second := begin("-2")
		if now := settled(); len(now) != 1 {
			fmt.Println("watchdogs now:", now)
			return
		}
		fmt.Println("watched")
		for _, p := range []*Process{first, second} {
			_ = syscall.Kill(p.keeperPID(), syscall.SIGKILL)
		}
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
}
