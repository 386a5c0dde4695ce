package recovery

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/go-json-experiment/json"

	"hank/internal/proc"
	"hank/internal/vfs"
	"hank/plan"
	"hank/recovery/execution"
	"hank/recovery/githistory"
	"hank/state"
)

// The long forms of some tests, with a seed of one's own for what they choose
// at random, are what scripts/prove runs.
var (
	long = os.Getenv("HANK_LONG") != ""
	seed = chosenSeed()
)

func chosenSeed() uint64 {
	n, err := strconv.ParseUint(cmp.Or(os.Getenv("HANK_SEED"), "1"), 10, 64)
	if err != nil {
		panic("HANK_SEED must be a whole number: " + err.Error())
	}
	return n
}

// unsynced is the real file system without fsync: the executions that tests
// make live as long as the test does.
type unsynced struct{ vfs.FS }

type unsyncedFile struct{ vfs.File }

func (unsyncedFile) Sync() error { return nil }

func (unsynced) SyncDir(name string) error { _, err := os.Lstat(name); return err }

func (u unsynced) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	f, err := u.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return unsyncedFile{f}, nil
}

var fast = unsynced{vfs.OS}

// author makes executions through the real API, as the runtime does, and plays
// the agents itself.
type author struct {
	t       testing.TB
	ctx     context.Context
	x       *execution.Execution
	program *plan.Program
	run     state.RunID
	runs    int
}

// program is a hank of a codon, a loop of three iterations of two codons, and
// plain codons behind it: n in all once the loop is laid out.
func program(t testing.TB, n int) *plan.Program {
	t.Helper()
	var items []string
	codon := func(id string) string {
		return fmt.Sprintf(`{"id":%q,"name":"Do %s","promptText":"echo %s >>log.txt\n","model":"shell","continuationMode":"fresh"}`, id, id, id)
	}
	items = append(items, codon("first"))
	items = append(items, fmt.Sprintf(`{"type":"loop","id":"review","name":"Review","terminateOn":{"type":"iterationLimit","limit":3},"codons":[%s,%s]}`, codon("look"), codon("mend")))
	for i := len(items) + 5; i < n; i++ {
		items = append(items, codon(fmt.Sprintf("c%03d", i)))
	}
	text := `{"meta":{"name":"test","version":"1.0.0"},"hank":[` + strings.Join(items, ",") + `]}`
	p, problems := plan.Load(fstest.MapFS{"hank.json": {Data: []byte(text)}}, "hank.json")
	if p == nil {
		t.Fatalf("the test's hank is invalid: %v", problems)
	}
	return p
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// begin makes an execution with its initial checkpoint and its plan.
func begin(t testing.TB, root string, n int, o CreateOptions) *author {
	t.Helper()
	a := &author{t: t, ctx: context.Background(), program: program(t, n)}
	if o.FS == nil {
		o.FS = fast
	}
	a.x = must(Create(a.ctx, root, o))(t)
	ok(t, a.outset())
	return a
}

func (a *author) outset() error {
	a.write("log.txt", "begun\n")
	snap, err := a.x.Snapshot(a.ctx, execution.Tracked(a.x.State(), ""), "")
	if err != nil {
		return err
	}
	if _, err = a.x.Commit(a.ctx, execution.Commit{Title: githistory.Title{Status: state.KindInitial}, Snapshot: snap, Branch: "main", Transition: state.InitialCheckpointSet{}}); err != nil {
		return err
	}
	sha, err := a.x.Freeze(a.ctx, a.program)
	if err != nil {
		return err
	}
	return a.x.Record(state.PlanSet{Program: sha, HankHash: "sha256:test", Entries: a.entries(a.program.Derive(githistory.Outcomes(a.program.Hank.Items, a.x.State())))})
}

func (a *author) entries(entries []plan.Entry) []byte {
	return must(json.Marshal(plan.StoredEntries(entries)))(a.t)
}

func (a *author) write(name, text string) {
	a.t.Helper()
	path := filepath.Join(a.x.Layout.Workspace, name)
	f := must(os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644))(a.t)
	_, err := f.WriteString(text)
	ok(a.t, err)
	ok(a.t, f.Close())
}

// start opens a run of this process.
func (a *author) start(edit ...func(*state.Run)) error {
	a.runs++
	s := a.x.State()
	self := must(proc.Self())(a.t)
	identity := must(json.Marshal(self))(a.t)
	id := state.RunID(fmt.Sprintf("%d-run%02d", a.x.Now().UnixMilli(), a.runs))
	r := &state.Run{RunID: id, RunFolder: a.x.Layout.RunDir(id), GitBranch: "run-" + string(id), Status: state.StatusRunning,
		StartTime: a.x.Now(), ServerPid: self.PID, Process: identity, Note: "by a test",
		StartingConditions: state.StartingConditions{Type: state.StartFresh, InitialCheckpointSHA: s.InitialCheckpoint}}
	if s.Newest() != nil || s.Position != nil {
		here := s.CurrentPosition()
		r.StartingConditions = state.StartingConditions{Type: state.StartContinuation, Source: &here, Reason: state.ReasonContinue}
	}
	for _, e := range edit {
		e(r)
	}
	if err := os.MkdirAll(r.RunFolder, 0o700); err != nil {
		return err
	}
	a.run = id
	return a.x.Record(state.RunStarted{Run: r})
}

// attempt is how a codon is played.
type attempt struct {
	rig  bool
	end  state.CodonStatus
	fail string // why, for Failed
	on   bool   // onFailure ignore
	upto state.CodonStatus
	over *state.BudgetExceeded
	said state.SHA // the checkpoint of its session
}

// play takes the next codon of the plan from its beginning to how says.
func (a *author) play(how attempt) error {
	s := a.x.State()
	entry := s.ExecutionPlan()[s.Next()]
	r := s.Run(a.run)
	number := 1
	for i := r.Len() - 1; i >= 0 && r.Codon(i).CodonID == entry.CodonID; i-- {
		number++
	}
	live := func() *state.Codon { return a.x.State().Run(a.run).Live() }
	record := &state.Codon{CodonID: entry.CodonID, StartTime: a.x.Now(), Status: state.Preparing, LoopContext: entry.LoopContext,
		Attempt: number, Harness: "shell", Model: "shell", BaseCheckpoint: s.Base}
	move := func(c *state.Codon) error {
		if how.upto != "" && live().Status == how.upto {
			return errCut
		}
		return a.x.Record(state.CodonTransitioned{RunID: a.run, Record: c})
	}
	if err := a.x.Record(state.CodonStarted{RunID: a.run, Record: record}); err != nil {
		return err
	}
	if how.rig {
		a.write("rig.txt", string(entry.CodonID)+"\n")
		snap, err := a.x.Snapshot(a.ctx, execution.Tracked(s, entry.CodonID), a.x.Head())
		if err != nil {
			return err
		}
		if _, err := a.x.Commit(a.ctx, execution.Commit{Title: githistory.Title{Status: state.KindRigSetup, CodonID: entry.CodonID, RunID: a.run, Name: entry.Codon.Name},
			Snapshot: snap, Parents: []state.SHA{a.x.Head()}, Branch: r.GitBranch, Transition: state.CodonTransitioned{RunID: a.run, Record: live().Start()}}); err != nil {
			return err
		}
	} else if err := move(live().Start()); err != nil {
		return err
	}
	if err := move(live().Spawn(4711, "log", "")); err != nil {
		return err
	}
	if err := move(live().Work("session-" + string(entry.CodonID))); err != nil {
		return err
	}
	a.write("log.txt", fmt.Sprintf("%s %d\n", entry.CodonID, number))
	_ = a.x.Note("assistant.action", map[string]any{"codonId": entry.CodonID, "action": "message", "content": "did it"})
	cost := state.USD(1_000_001 * (len(entry.CodonID) + number + s.Next()))
	if err := a.x.RecordLater(state.CostsUpdated{RunID: a.run, CodonID: entry.CodonID, Cost: cost, Tokens: state.Tokens{Input: 10, Output: 5}, Messages: 2}); err != nil {
		return err
	}
	settling := state.Settling{Status: state.Completed, ResultSeen: true}
	if how.end == state.Failed {
		settling = state.Settling{Status: state.Failed, ExitCode: 1, Ignored: how.on, FailureReason: &state.FailureReason{Type: state.FailUnknown, Retriable: true, Message: how.fail}}
	}
	if how.end == state.Skipped {
		settling = state.Settling{Status: state.Skipped}
	}
	settled := live().Settle(settling)
	settled.BudgetExceeded, settled.SessionCheckpoint = how.over, how.said
	if err := move(settled); err != nil {
		return err
	}
	if how.upto == state.CompletingSentinels {
		return errCut
	}
	final := live().Conclude(a.x.Now())
	if err := Finish(a.ctx, a.x, a.run, entry.Codon.Name, final, execution.Tracked(s, entry.CodonID)); err != nil {
		return err
	}
	return a.grow(final)
}

var errCut = fmt.Errorf("cut off, as the test wanted")

// grow derives the plan anew where a loop goes on.
func (a *author) grow(final *state.Codon) error {
	s := a.x.State()
	if final.LoopContext == nil || !final.Settled() {
		return nil
	}
	var window []plan.Entry
	for _, e := range s.ExecutionPlan()[s.PlanIndex(final.CodonID):] {
		window = append(window, e.Entry)
	}
	drop, add := a.program.Grow(window, 0, githistory.Outcome(final))
	if drop == 0 && len(add) == 0 {
		return nil
	}
	return a.x.Record(state.PlanGrown{After: final.CodonID, Drop: drop, Add: a.entries(add)})
}

// exit closes the run with its exit checkpoint; no reason: the plan is done.
func (a *author) exit(reason state.EndReason) error {
	now := a.x.Now()
	var end state.Transition = state.RunCompleted{RunID: a.run, EndTime: now}
	if reason != "" {
		end = state.RunFailed{RunID: a.run, EndTime: now, Reason: reason, Detail: "as the test wanted"}
	}
	if err := a.x.Record(end); err != nil {
		return err
	}
	snap, err := a.x.Snapshot(a.ctx, execution.Tracked(a.x.State(), ""), a.x.Head())
	if err != nil {
		return err
	}
	branch := a.x.State().Run(a.run).GitBranch
	_, err = a.x.Commit(a.ctx, execution.Commit{Title: githistory.Title{Status: state.KindExit, RunID: a.run, Name: string(reason)}, Snapshot: snap, Parents: []state.SHA{a.x.Head()},
		Branch: branch, Transition: state.CheckpointCreated{Kind: state.KindExit, RunID: a.run, Branch: branch}})
	return err
}

// back rolls back to behind the codon at an index of the plan.
func (a *author) back(index int) error {
	s := a.x.State()
	id := s.ExecutionPlan()[index].CodonID
	c := s.Finished()[index]
	holder := state.RunID("")
	for _, step := range s.LineagePath() {
		if step.Codon == c {
			holder = step.Run.RunID
		}
	}
	here := s.CurrentPosition()
	p := &state.Position{RunID: holder, AfterCodon: &id, CheckpointSHA: c.Checkpoint(), Reason: state.ReasonRollback, Before: &here,
		RestartAt: s.ExecutionPlan()[index+1].CodonID}
	_, err := a.x.MoveTree(a.ctx, execution.Move{Kind: "rollback", To: c.Checkpoint(), Tracked: execution.Tracked(s, ""), Position: p})
	return err
}

// history plays a whole story of n codons: a failure with a retry, an ignored
// failure, a skip, rigs, a run that failed, a run that was stopped, a rollback,
// and the end.
func history(t testing.TB, root string, n int, o CreateOptions) *author {
	t.Helper()
	a := begin(t, root, n, o)
	play := func(upto int) {
		for {
			i := a.x.State().Next()
			switch {
			case i >= upto || i >= len(a.x.State().ExecutionPlan()):
				return
			case i%10 == 8 && a.x.State().Run(a.run).Len()%3 == 0:
				ok(t, a.play(attempt{end: state.Failed, fail: "once"}))
				to := a.x.State().Run(a.run).Codon(a.x.State().Run(a.run).Len() - 1).BaseCheckpoint
				_, err := a.x.MoveTree(a.ctx, execution.Move{Kind: "retry", To: to, Tracked: execution.Tracked(a.x.State(), "")})
				ok(t, err)
				ok(t, a.play(attempt{}))
			case i%10 == 5 && i > 7:
				ok(t, a.play(attempt{end: state.Failed, fail: "never mind", on: true}))
			case i%13 == 9:
				ok(t, a.play(attempt{end: state.Skipped}))
			default:
				ok(t, a.play(attempt{rig: i%4 == 1}))
			}
		}
	}
	ok(t, a.start())
	play(n / 2)
	ok(t, a.play(attempt{end: state.Failed, fail: "for good"}))
	ok(t, a.exit(state.EndCodonFailed))
	ok(t, a.start())
	play(n * 3 / 4)
	ok(t, a.exit(state.EndStopped))
	ok(t, a.back(n/2+2))
	ok(t, a.start())
	play(n)
	ok(t, a.exit(""))
	return a
}

// close gives the execution back and returns what it knew.
func (a *author) close() *state.State {
	a.t.Helper()
	s := a.x.State()
	ok(a.t, a.x.Close())
	return s
}

// told is what an execution must remember. Whatever may differ between two
// memories (counters of saves and events) is not in it.
func told(t testing.TB, s *state.State) string {
	t.Helper()
	copied := *s
	copied.Serial, copied.Seq = 0, 0
	text := must(copied.Marshal())(t)
	return string(text[:strings.LastIndex(string(text), ",\n  \"digest\"")])
}

func reopen(t testing.TB, root string, edit ...func(*execution.Options)) *execution.Execution {
	t.Helper()
	o := execution.Options{FS: fast, Command: "test"}
	for _, e := range edit {
		e(&o)
	}
	foreseen := foresee(o.FS, root)
	x, err := Open(context.Background(), root, o)
	if !o.ReplaceStore && o.Workspace == "" && !o.KeepPaused { // these answer what a reader asks
		foreseen.came(t, "reopened", x, err)
	}
	return must(x, err)(t)
}

// differences shows the first lines in which two texts differ.
func differences(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		if i >= len(w) || i >= len(g) || w[i] != g[i] {
			return fmt.Sprintf("line %d of %d and %d:\nwant %s\ngot  %s", i+1, len(w), len(g),
				strings.Join(w[min(i, len(w)):min(i+5, len(w))], "\n     "), strings.Join(g[min(i, len(g)):min(i+5, len(g))], "\n     "))
		}
	}
	return ""
}
