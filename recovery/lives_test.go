package recovery

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"hank/checkpoint"
	"hank/internal/proc"
	"hank/internal/short"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/layout"
	"hank/recovery/lock"
	"hank/state"
)

// The test binary is also the other process: it takes an execution, or makes
// one, says so, and holds it until its input ends.
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == "__hold" {
		os.Exit(hold(os.Args[2], os.Args[3]))
	}
	if len(os.Args) > 2 && roles[os.Args[1]] != nil {
		os.Exit(roles[os.Args[1]](os.Args[2:]))
	}
	os.Exit(m.Run())
}

// roles are what the test binary plays besides. Files of tests add theirs.
var roles = map[string]func(args []string) int{}

func hold(root, workspace string) int {
	open := func() (*execution.Execution, error) {
		if layout.Exists(root) {
			return Open(context.Background(), root, execution.Options{Command: "hank run (a test's)"})
		}
		o := CreateOptions{Options: execution.Options{Command: "hank run (a test's)"}}
		if workspace != "-" {
			o.Workspace = workspace
		}
		return Create(context.Background(), root, o)
	}
	x, err := open()
	var held *lock.HeldError
	switch {
	case errors.As(err, &held):
		fmt.Println("held", err)
		return 5
	case err != nil:
		fmt.Println("error", err)
		return 1
	}
	self, err := proc.Self()
	if err == nil && x.State().CurrentRunID == "" {
		var identity []byte
		if identity, err = json.Marshal(self); err == nil {
			id := state.RunID(fmt.Sprintf("%d-other", time.Now().UnixNano()))
			err = x.Record(state.RunStarted{Run: &state.Run{RunID: id, RunFolder: x.Layout.RunDir(id), GitBranch: "run-" + string(id),
				Status: state.StatusRunning, StartTime: x.Now(), ServerPid: self.PID, Process: identity, StartingConditions: state.StartingConditions{Type: state.StartFresh}}})
		}
	}
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	fmt.Println("holding", self.PID)
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := x.Close(); err != nil {
		fmt.Println("error", err)
		return 1
	}
	return 0
}

// other is another process that holds an execution, or could not.
type other struct {
	cmd  *exec.Cmd
	in   io.Closer
	out  io.Reader
	said string
}

func startOther(t testing.TB, root, workspace string) *other {
	t.Helper()
	o, err := launchOther(root, workspace)
	ok(t, err)
	if err := o.listen(); err != nil {
		t.Errorf("the other process says nothing: %v", err)
	}
	return o
}

func launchOther(root, workspace string) (*other, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	o := &other{cmd: exec.Command(self, "__hold", root, workspace)}
	o.cmd.Stderr = os.Stderr
	if o.in, err = o.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if o.out, err = o.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	return o, o.cmd.Start()
}

// listen waits for what it says.
func (o *other) listen() error {
	line, err := bufio.NewReader(o.out).ReadString('\n')
	o.said = strings.TrimSpace(line)
	return err
}

func (o *other) kill() { _ = o.cmd.Process.Kill(); _ = o.cmd.Wait() }

func (o *other) end() error { _ = o.in.Close(); return o.cmd.Wait() }

func (o *other) holds() bool { return strings.HasPrefix(o.said, "holding") }

// While a runtime lives nobody can take its execution, and it is never shown
// as crashed; once it is killed, the next command shows it as crashed and the
// next that may write records it.
func TestALiveRunIsLeftAloneAndADeadOneIsClosed(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	root := filepath.Join(t.TempDir(), "x")
	o := startOther(t, root, "-")
	if !o.holds() {
		t.Fatal(o.said)
	}
	for range 3 {
		v := must(Read(root))(t)
		if r := v.State.Runs[0]; !v.Live || v.Crashed(r) || len(v.Report.Findings) > 0 || v.Holder == nil || v.Holder.PID != o.cmd.Process.Pid {
			t.Fatalf("a reader sees live %v, crashed %v, holder %+v, %+v", v.Live, v.Crashed(r), v.Holder, v.Report)
		}
		_, err := Open(context.Background(), root, execution.Options{})
		var held *lock.HeldError
		if !errors.As(err, &held) || held.Holder == nil || held.Holder.PID != o.cmd.Process.Pid {
			t.Fatalf("opening says %v", err)
		}
		for _, word := range []string{fmt.Sprint(o.cmd.Process.Pid), held.Holder.Process.Host, "hank run (a test's)", held.Holder.StartTime.Format("2006-01-02")} {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%q is not in: %v", word, err)
			}
		}
		remove(t, layout.Layout{Root: root}.Lock()) // it explains, it does not decide
		if _, err := Open(context.Background(), root, execution.Options{}); !errors.As(err, &held) {
			t.Fatalf("without runtime.lock: %v", err)
		}
		o.kill()
		v = must(Read(root))(t)
		if r := v.State.Runs[0]; v.Live || !v.Crashed(r) || r.Status != state.StatusRunning {
			t.Fatalf("killed, and a reader sees live %v, crashed %v, %s", v.Live, v.Crashed(r), r.Status)
		}
		x := must(Open(context.Background(), root, execution.Options{}))(t)
		if r := x.State().Runs[0]; r.Status != state.StatusCrashed || r.EndTime == nil || x.State().CurrentRunID != "" || !x.Report.Has(finding.Mended) {
			t.Fatalf("the run is %s, %+v", r.Status, x.Report)
		}
		ok(t, x.Close())
		if o = startOther(t, root, "-"); !o.holds() {
			t.Fatal(o.said)
		}
	}
	ok(t, o.end())
}

// Of many processes that want one execution, or one workspace, exactly one
// gets it.
func TestOfManyRacersOneWins(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	workspace := filepath.Join(base, "shared")
	ok(t, os.Mkdir(workspace, 0o755))
	for name, where := range map[string]func(i int) (string, string){
		"execution": func(int) (string, string) { return filepath.Join(base, "one"), "-" },
		"workspace": func(i int) (string, string) { return filepath.Join(base, fmt.Sprint("own", i)), workspace },
	} {
		racers := make(chan *other)
		const n = 5
		for i := range n {
			go func() { root, ws := where(i); racers <- startOther(t, root, ws) }()
		}
		var winners []*other
		for range n {
			switch o := <-racers; {
			case o.holds():
				winners = append(winners, o)
			case !strings.HasPrefix(o.said, "held "):
				t.Errorf("%s: %s", name, o.said)
				o.kill()
			default:
				_ = o.cmd.Wait()
			}
		}
		if len(winners) != 1 {
			t.Errorf("%s: %d of %d hold it", name, len(winners), n)
		}
		for _, o := range winners {
			ok(t, o.end())
		}
	}
}

// Verdicts on the identity of a run's process.
func TestTheVerdictOnARunsProcess(t *testing.T) {
	t.Parallel()
	sleeper := exec.Command("sleep", "1000")
	ok(t, sleeper.Start())
	defer func() { _ = sleeper.Process.Kill(); _ = sleeper.Wait() }()
	alive := must(proc.Of(sleeper.Process.Pid))(t)
	for _, c := range []struct {
		name string
		edit func(*proc.Identity)
		over bool
		why  string // that the run is over, as its record says
	}{
		{"alive, though it holds nothing", func(*proc.Identity) {}, false, ""},
		{"its pid belongs to another process now", func(id *proc.Identity) { id.StartTicks-- }, true, "process id PID now belongs to another process"},
		{"gone", func(id *proc.Identity) { id.PID = 1 << 30 }, true, "there is no process PID"},
		{"the host has another name now, and the process is gone", func(id *proc.Identity) { id.Host, id.PID = "renamed", 1<<30 }, true, "there is no process PID"},
		{"the host has another name now, and it is alive", func(id *proc.Identity) { id.Host = "renamed" }, false, ""},
		{"before a restart", func(id *proc.Identity) { id.BootID = "00000000-0000-0000-0000-000000000000" }, true, "the machine was restarted since"},
		{"on another machine, though the file system is local", func(id *proc.Identity) { id.Host, id.Machine, id.BootID = "far", "else", "else" }, true, "it was started on another machine (\"far\", this is \"HOST\"), and its lock is free"},
		{"this process, which has given it up", func(id *proc.Identity) { *id = must(proc.Of(os.Getpid()))(t) }, true, "process PID, which runs, has given it up"},
	} {
		root := t.TempDir()
		a := begin(t, root, 12, CreateOptions{})
		id := alive
		c.edit(&id)
		ok(t, a.start(func(r *state.Run) { r.ServerPid, r.Process = id.PID, must(json.Marshal(id))(t) }))
		if err := a.play(attempt{upto: state.Running}); !errors.Is(err, errCut) {
			t.Fatal(err)
		}
		a.close()
		v := must(Read(root))(t)
		if v.Crashed(v.State.Runs[0]) != c.over {
			t.Errorf("%s: a reader says crashed: %v", c.name, !c.over)
		}
		if said := fmt.Sprint(v.Report.Findings); strings.Contains(said, "has crashed") != c.over {
			t.Errorf("%s: a reader finds %s", c.name, said)
		}
		x, err := Open(context.Background(), root, execution.Options{FS: fast})
		if !c.over {
			var held *lock.HeldError
			if !errors.As(err, &held) {
				t.Errorf("%s: opening says %v", c.name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		r := x.State().Runs[0]
		last := r.Codon(r.Len() - 1)
		if r.Status != state.StatusCrashed || last.Status != state.Failed || last.Interrupted != state.InterruptedByCrash || last.ErrorCheckpoint == "" || !last.FailureReason.Retriable ||
			last.FailureReason.Type != state.FailUnknown || r.Head != last.ErrorCheckpoint {
			t.Errorf("%s: the run is %s at %q, its codon %s (%s) %+v, its error checkpoint %q", c.name, r.Status, r.Head, last.Status, last.Interrupted, last.FailureReason, last.ErrorCheckpoint)
		}
		host, _ := os.Hostname()
		if why := strings.NewReplacer("PID", strconv.Itoa(r.ServerPid), "HOST", host).Replace(c.why); r.EndDetail != why || !strings.Contains(fmt.Sprint(x.Report.Findings), "("+why+")") {
			t.Errorf("%s: its record says %q, and the opening %v, not %q", c.name, r.EndDetail, x.Report.Findings, why)
		}
		ok(t, x.Close())
	}
}

// A run that its runtime has paused is ended whatever is known of the process: for the
// reason that was given, and with its unfinished work in the error checkpoint.
func TestAPausedRunEndsWhateverIsKnownOfItsProcess(t *testing.T) {
	t.Parallel()
	sleeper := exec.Command("sleep", "1000")
	ok(t, sleeper.Start())
	defer func() { _ = sleeper.Process.Kill(); _ = sleeper.Wait() }()
	id := must(proc.Of(sleeper.Process.Pid))(t)
	a := begin(t, t.TempDir(), 12, CreateOptions{})
	ok(t, a.start(func(r *state.Run) { r.ServerPid, r.Process = id.PID, must(json.Marshal(id))(t) }))
	if err := a.play(attempt{upto: state.Running}); !errors.Is(err, errCut) {
		t.Fatal(err)
	}
	ok(t, a.x.Record(state.RunPaused{RunID: a.run, Time: a.x.Now(), Reason: state.EndError, Detail: "the disk is full"}))
	root := a.x.Layout.Root
	ok(t, a.x.Close())
	x := reopen(t, root)
	r := x.State().Runs[0]
	if last := r.Codon(r.Len() - 1); r.Status != state.StatusFailed || r.EndReason != state.EndError || last.Interrupted != state.InterruptedByPause || last.ErrorCheckpoint == "" {
		t.Errorf("the run is %s (%s), its codon %+v", r.Status, r.EndReason, last)
	}
	ok(t, x.Close())
}

// A change of the workspace that was interrupted is ended before a run is closed: what
// the run's codon has left is not taken from half a change.
func TestAnInterruptedMoveIsEndedBeforeTheRunIsClosed(t *testing.T) {
	t.Parallel()
	a := begin(t, t.TempDir(), 12, CreateOptions{})
	ok(t, a.start())
	if err := a.play(attempt{upto: state.Running}); !errors.Is(err, errCut) {
		t.Fatal(err)
	}
	a.write("log.txt", "half\n")
	plan := must(a.x.PlanMove(a.ctx, execution.Move{Kind: "restore", To: a.x.Head(), Tracked: checkpoint.Selection{All: true}}))(t)
	intent := must(a.x.Safeguard(a.ctx, plan))(t)
	ok(t, a.x.Record(state.IntentOpened{Intent: *intent}))
	root := a.x.Layout.Root
	ok(t, a.x.Close())
	x := reopen(t, root)
	r := x.State().Runs[0]
	last := r.Codon(r.Len() - 1)
	if want, got := must(x.Tree(intent.To))(t), must(x.Tree(last.ErrorCheckpoint))(t); want != got || x.State().Intent != nil {
		t.Errorf("the error checkpoint has the tree %s, and the move was to %s; the intent is %+v", got, want, x.State().Intent)
	}
	ok(t, x.Close())
}

// Files that keep changing do not keep a crashed run open: the record says that what its
// codon left is in no checkpoint.
func TestACrashedRunEndsThoughItsFilesKeepChanging(t *testing.T) {
	t.Parallel()
	a := begin(t, t.TempDir(), 12, CreateOptions{})
	ok(t, a.start())
	if err := a.play(attempt{upto: state.Running}); !errors.Is(err, errCut) {
		t.Fatal(err)
	}
	a.settle()
	b := pack(t, a.x.Layout.Root, "")
	_ = a.x.Close()
	for size := int64(16 << 20); ; size *= 4 { // reading it takes longer than two writes are apart, unless the machine is busy
		b.reset()
		file := must(os.Create(filepath.Join(a.x.Layout.Workspace, "growing")))(t)
		ok(t, file.Truncate(size))
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for {
				select {
				case <-stop:
					return
				default:
					_, _ = file.WriteAt([]byte("x"), size)
					_, _ = file.Seek(0, io.SeekEnd)
					_, _ = file.WriteString("x")
				}
			}
		}()
		x, err := Open(t.Context(), b.root, execution.Options{})
		close(stop)
		<-stopped
		ok(t, errors.Join(err, file.Close()))
		r := x.State().Runs[0]
		last := r.Codon(r.Len() - 1)
		ok(t, x.Close())
		if last.ErrorCheckpoint != "" && size < 1<<30 {
			continue
		}
		if r.Status != state.StatusCrashed || last.Status != state.Failed || last.ErrorCheckpoint != "" || !strings.Contains(strings.Join(last.Notes, "\n"), "it has no checkpoint") {
			t.Errorf("the run is %s, its codon %+v", r.Status, last)
		}
		return
	}
}

// What is proven gone is over on any file system. Where locks say nothing, what
// cannot be examined is not.
func TestARunThatIsProvenGoneIsOverWithoutLocks(t *testing.T) {
	t.Parallel()
	sleeper := exec.Command("sleep", "1000")
	ok(t, sleeper.Start())
	defer func() { _ = sleeper.Process.Kill(); _ = sleeper.Wait() }()
	alive := must(proc.Of(sleeper.Process.Pid))(t)
	gone, reused, far := alive, alive, alive
	gone.PID = 1 << 30
	reused.StartTicks--
	far.Host, far.Machine, far.BootID = "far", "else", "else"
	for name, c := range map[string]struct {
		id             proc.Identity
		locks, without bool
	}{
		"alive":                               {alive, false, false},
		"gone":                                {gone, true, true},
		"its pid belongs to another process":  {reused, true, true},
		"on another machine":                  {far, true, false},
		"this process, which has given it up": {must(proc.Of(os.Getpid()))(t), true, true},
	} {
		r := &state.Run{RunID: "r", ServerPid: c.id.PID, Process: must(json.Marshal(c.id))(t)}
		for trusted, want := range map[bool]bool{true: c.locks, false: c.without} {
			if over, why := isOver(r, trusted, false); over != want {
				t.Errorf("%s, locks trusted %v: over is %v (%s)", name, trusted, over, why)
			}
			if over, why := isOver(r, trusted, true); over != (want || trusted) {
				t.Errorf("%s, in a copy, locks trusted %v: over is %v (%s)", name, trusted, over, why)
			}
		}
	}
}

// A codon whose agent had ended gets its checkpoint, and is not run again.
func TestACodonThatHadEndedIsNotLostWithTheRuntime(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	endedWithoutCheckpoint(t, root, func(*proc.Identity) {}) // this machine's boot
	var reaped []string
	x := reopen(t, root, func(o *execution.Options) {
		o.Reap = func(attempt string) ([]string, error) {
			reaped = append(reaped, attempt)
			return []string{"17 (sleep)"}, nil
		}
	})
	defer x.Close()
	r := x.State().Runs[0]
	c := r.Codon(0)
	if c.Status != state.Completed || c.CompletionCheckpoint == "" || r.Status != state.StatusCrashed || c.Cost() == 0 {
		t.Errorf("the codon is %s, the run %s", c.Status, r.Status)
	}
	if len(reaped) != 1 || !strings.HasPrefix(reaped[0], x.State().Lineage+"/") || !strings.Contains(fmt.Sprint(c.Notes), "17 (sleep)") {
		t.Errorf("reaped %v, notes %v", reaped, c.Notes)
	}
}

// Of a codon that had ended before the machine was started again, nobody knows
// what of its work had come onto the disk: it has failed, and is done again.
func TestACodonThatHadEndedBeforeAnotherBootIsDoneAgain(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	endedWithoutCheckpoint(t, root, func(id *proc.Identity) { id.BootID = "00000000-0000-4000-8000-000000000000" })
	x := reopen(t, root)
	defer x.Close()
	r := x.State().Runs[0]
	c := r.Codon(0)
	if c.Status != state.Failed || c.Interrupted != state.InterruptedByCrash || c.CompletionCheckpoint != "" || r.Status != state.StatusCrashed {
		t.Errorf("the codon is %s (%s), the run %s", c.Status, c.Interrupted, r.Status)
	}
}

// endedWithoutCheckpoint leaves an execution whose codon has ended and whose
// runtime is gone. change changes who that runtime was.
func endedWithoutCheckpoint(t *testing.T, root string, change func(*proc.Identity)) {
	t.Helper()
	a := begin(t, root, 12, CreateOptions{})
	ok(t, a.start(func(r *state.Run) {
		id := must(proc.Self())(t)
		id.PID = 1 << 30
		change(&id)
		r.ServerPid, r.Process = id.PID, must(json.Marshal(id))(t)
	}))
	if err := a.play(attempt{upto: state.CompletingSentinels}); !errors.Is(err, errCut) {
		t.Fatal(err)
	}
	a.close()
}
