//go:build unix

package runtime

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hank/internal/proc"
	"hank/recovery"
	"hank/runtime/codon"
	"hank/runtime/exitcode"
	"hank/runtime/internal/testkit"
	"hank/runtime/verdict"
	"hank/state"
	"hank/state/journal"
)

// order is what the test binary is told when it plays the runtime.
type order struct {
	Execution, Hank, Data, Output string

	// Most is the number of codons that this life may finish; in the next one
	// it stands still, to be killed there however late the killer is. 0 is no
	// limit, and 1 means none.
	Most int
}

// The runtime's part: what the command line does, without its flags. It says
// on its standard output what is acknowledged, a line each:
//
//	event SEQ TYPE [CODON STATUS]
//	alive ATTEMPT PROCESS   a process of an attempt whose agent has ended
//	say LINE
func init() {
	testkit.Parts["run"] = func(args []string) error {
		var o order
		if err := json.Unmarshal([]byte(args[0]), &o); err != nil {
			return err
		}
		go func() { // it does not outlive a test that ended in whatever way
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(99)
		}()
		caught, requests := make(chan os.Signal, 4), make(chan codon.Request, 4)
		signal.Notify(caught, os.Interrupt, syscall.SIGTERM)
		go func() {
			for s := range caught {
				requests <- codon.Request{Signal: codon.StopNow, Reason: state.EndSignal, Code: exitcode.Code(128 + int(s.(syscall.Signal)))}
			}
		}()
		res, err := Run(context.Background(), Request{Mode: ModeRun, Execution: o.Execution, Hank: o.Hank, Data: o.Data, Output: o.Output}, Answers{},
			UI{Requests: requests, Appended: o.observe, Say: func(line string) { fmt.Println("say", line) }})
		code := verdict.CodeOf(err)
		if err != nil {
			fmt.Println("say", err)
		} else {
			code = res.Code
		}
		os.Exit(int(code))
		return nil
	}
}

// observe prints an event. Between the end of an agent and its checkpoint,
// and behind that, it looks for what the agent may have left alive.
func (o order) observe(e journal.Event, s *state.State) {
	if e.Type != state.TransitionEvent {
		fmt.Println("event", e.Seq, e.Type)
		return
	}
	t, err := state.Decode(e.Data)
	if err != nil {
		fmt.Println("say", err)
		return
	}
	moved, ok := t.(state.CodonTransitioned)
	if !ok {
		fmt.Println("event", e.Seq, t.Type())
		return
	}
	if c := moved.Record; c.Settling != nil || c.Status.Terminal() {
		id := recovery.Attempt(s.Lineage, moved.RunID, c)
		alive, err := proc.WithEnv("HANK_ATTEMPT", id)
		if err != nil {
			fmt.Println("alive", id, err)
		}
		for _, p := range alive {
			fmt.Println("alive", id, p.CmdLine())
		}
	}
	fmt.Println("event", e.Seq, t.Type(), moved.Record.CodonID, moved.Record.Status)
	if moved.Record.Status == state.Running && o.Most > 0 && s.Run(moved.RunID).Len() >= o.Most {
		select {}
	}
}

// life is one process of the runtime.
type life struct {
	cmd   *exec.Cmd
	lines chan string
	log   strings.Builder // all that was read from lines
	alive []string
}

// start begins a life. It never outlives the test.
func (o order) start(t *testing.T, env ...string) *life {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	l := &life{cmd: exec.Command(os.Args[0], "__part", "run", string(text)), lines: make(chan string, 1<<16)}
	l.cmd.Env = append(os.Environ(), env...)
	l.cmd.Env = append(l.cmd.Env, "HANK_STATE_DIR="+filepath.Join(filepath.Dir(o.Execution), "registry"))
	out, err := l.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	l.cmd.Stderr = l.cmd.Stdout
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.cmd.Process.Kill() })
	go func() {
		defer close(l.lines)
		for r := bufio.NewScanner(out); r.Scan(); {
			l.lines <- r.Text()
		}
	}()
	return l
}

// next returns the words of the next line; nil at the end of the life.
func (l *life) next() []string {
	line, more := <-l.lines
	if !more {
		return nil
	}
	l.log.WriteString(line + "\n")
	words := strings.Fields(line)
	if len(words) > 1 && words[0] == "alive" {
		l.alive = append(l.alive, line)
	}
	return append(words, "", "", "", "", "")
}

// until reads on until a line begins with words.
func (l *life) until(t *testing.T, words ...string) {
	t.Helper()
	for got := l.next(); got != nil; got = l.next() {
		same := true
		for i, w := range words {
			same = same && (w == "*" || got[i] == w)
		}
		if same {
			return
		}
	}
	t.Fatalf("the life ended without %q:\n%s", words, &l.log)
}

// kill is kill -9, and nothing else.
func (l *life) kill() { _ = l.cmd.Process.Signal(syscall.SIGKILL) }

// wait sees a life through to its end. killed tells that it was SIGKILL.
func (l *life) wait() (code exitcode.Code, killed bool) {
	for l.next() != nil {
	}
	_ = l.cmd.Wait() // its error is in the state
	status := l.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return exitcode.Code(l.cmd.ProcessState.ExitCode()), status.Signaled() && status.Signal() == syscall.SIGKILL
}

// end is a life that must end by itself, and with a code.
func (l *life) end(t *testing.T, want exitcode.Code) {
	t.Helper()
	if code, killed := l.wait(); killed || code != want {
		t.Fatalf("the life ended with %d (killed: %v) instead of %d:\n%s", code, killed, want, &l.log)
	}
	l.leftNothing(t)
}

// leftNothing checks that nothing was alive at a checkpoint that should not.
func (l *life) leftNothing(t *testing.T) {
	t.Helper()
	if len(l.alive) > 0 {
		t.Errorf("at a checkpoint there was alive:\n%s\n%s", strings.Join(l.alive, "\n"), &l.log)
	}
}

// within waits for what another process does.
func within(t *testing.T, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", limit, what)
		}
	}
}
