package runtime

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"hank/checkpoint"
	"hank/internal/failpoint"
	"hank/internal/proc"
	"hank/internal/registry"
	"hank/internal/secret"
	"hank/internal/vfs"
	"hank/plan"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/githistory"
	"hank/recovery/layout"
	"hank/runtime/agents"
	"hank/runtime/codon"
	"hank/runtime/events"
	"hank/runtime/exitcode"
	"hank/runtime/history"
	"hank/runtime/keeper"
	"hank/runtime/verdict"
	"hank/state"
	"hank/state/journal"
)

// Mode is what a person asked for.
type Mode string

// The modes.
const (
	ModeRun    Mode = "run"    // bring the hank to its end
	ModeResume Mode = "resume" // the same, on the tree as it is and in the session that was cut off
	ModeRetry  Mode = "retry"  // go back to before a codon, and on from there
)

// Run opens or creates an execution and drives its plan. The order:
//
//  1. Read the hank. Nothing is created for one that is invalid, or whose agents,
//     keys or requirements are not here.
//  2. Open or create the execution: locks, recovery.
//  3. Freeze the program; ask about one that has changed since.
//  4. Decide from which tree to go on. Look whether the agents of the codons that
//     are to run are there; ask about a workspace that a person changed.
//  5. Start a run, drive it, close it; an exit checkpoint carries its end.
//
// The error says why there was no run, or what broke it; Result is not nil
// when the execution could be opened. Request.Notify is told of both.
func Run(ctx context.Context, r Request, a Answers, ui UI) (*Result, error) {
	res, err := open(ctx, r, a, ui)
	if verdict.CodeOf(err) == exitcode.Decision && (res == nil || res.RunID == "") {
		ui.sayUnkept(r)
	}
	if res != nil && err != nil {
		res.Code, res.Message = verdict.CodeOf(err), verdict.Sentence(err)
	}
	notifyEnd(ctx, r, ui, res, err)
	return res, err
}

// open is Run without its notification.
func open(ctx context.Context, r Request, a Answers, ui UI) (*Result, error) {
	root, err := locate(r)
	if err != nil {
		return nil, err
	}
	if err := layout.Obstructed(root); err != nil {
		return nil, err
	}
	layers := r.layers("")
	program, where, loadErr := loadHank(root, r, layers)
	if loadErr != nil && (program == nil && !layout.Exists(root) || !tolerable(loadErr)) {
		return nil, loadErr
	}
	var replay *recording
	if r.Replay != "" {
		if replay, err = openRecording(r.Replay); err != nil {
			return nil, err
		}
		defer replay.close()
	}
	var found agents.Found
	if !layout.Exists(root) { // nothing is made for a hank that could not be run here
		if err := confineNew(program, root, r); err != nil {
			return nil, err
		}
		if err := askAboutRemains(root, r, a, ui); err != nil {
			return nil, err
		}
		if r.Mode == ModeRun {
			if found, err = preflightNew(ctx, program, r, ui); err != nil {
				return nil, err
			}
		}
		if a, err = askBeforeCreation(ctx, root, r, a, ui); err != nil {
			return nil, err
		}
	}
	secrets := &secret.Values{}
	secrets.Add(r.environ())
	bus := events.New(func(from uint64, fn func(journal.Event) error) error {
		return journal.Read(vfs.OS, layout.Layout{Root: root}.Events(), from, fn)
	})
	x, err := openOrCreate(ctx, root, where, secrets, bus, r, a, ui)
	if err != nil {
		return nil, err
	}
	d := &driver{x: x, events: bus, request: r, answers: a, ui: ui, layers: layers, agents: found, secrets: secrets, replay: replay, requests: make(chan codon.Request, 16), began: time.Now(), allowed: x.Allowed()}
	res, err := d.runOpened(ctx, program, loadErr)
	if closeErr := x.Close(); closeErr != nil && !errors.Is(err, closeErr) && (err == nil || !strings.Contains(err.Error(), closeErr.Error())) {
		err = errors.Join(err, closeErr)
	}
	return res, err
}

// tolerable tells whether an execution can go on without the author's hank:
// it has a frozen one.
func tolerable(err error) bool {
	var invalid *exitcode.InvalidError
	return errors.As(err, &invalid) || errors.Is(err, os.ErrNotExist)
}

// locate finds the folder of the execution, or the one in which a run begins it.
func locate(r Request) (string, error) {
	found, err := history.Locate(r.Execution)
	if err == nil || r.Mode != ModeRun || r.Execution != "" {
		return found, err
	}
	return filepath.Abs(".")
}

// origin is where a hank was read from.
type origin struct {
	path string // of the file, absolute
	data string // absolute; may be empty

	found []plan.Diagnostic // of a hank that is valid
}

// loadHank reads the author's hank: the one that is named, or the one of the
// execution, or hank.json here; with the settings that hold.
func loadHank(root string, r Request, layers plan.Layers) (*plan.Program, origin, error) {
	var from origin
	path := r.Hank
	if path == "" && layout.Exists(root) {
		if view, err := layout.ReadMeta(root); err == nil {
			path = view.HankPath
		}
	}
	if path == "" {
		path = "."
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, from, err
	}
	fi, err := os.Stat(abs)
	if err != nil {
		return nil, from, fmt.Errorf("the hank %s cannot be read: %w", path, err)
	}
	if fi.IsDir() {
		abs = hankIn(abs)
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		if r.Hank == "" && layout.Exists(root) { // it has a frozen one
			return nil, from, fmt.Errorf("there is no hank.json in %s: %w", path, os.ErrNotExist)
		}
		return nil, from, &exitcode.UsageError{Why: fmt.Sprintf("there is no hank.json in %s; make one with: hank init", path)}
	}
	from.path = abs
	if r.Data != "" {
		if from.data, err = filepath.Abs(r.Data); err != nil {
			return nil, from, err
		}
		if _, err := os.Stat(from.data); err != nil {
			return nil, from, &exitcode.UsageError{Why: fmt.Sprintf("the data %s cannot be read: %v", r.Data, err)}
		}
	}
	dir, err := os.OpenRoot(filepath.Dir(abs))
	if err != nil {
		return nil, from, err
	}
	if meta, err := layout.ReadMeta(root); err == nil {
		layers.AnyIDs = meta.Foreign()
	}
	program, diagnostics := plan.LoadWith(dir.FS(), filepath.Base(abs), layers)
	if program == nil {
		return nil, from, &exitcode.InvalidError{Diagnostics: diagnostics}
	}
	from.found = diagnostics
	return program, from, nil
}

// hankIn returns the hank's file in a folder; strand.json is its older name.
func hankIn(dir string) string {
	for _, name := range []string{"hank.json", "strand.json"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return filepath.Join(dir, name)
		}
	}
	return filepath.Join(dir, "hank.json")
}

func openOrCreate(ctx context.Context, root string, from origin, secrets *secret.Values, bus *events.Bus, r Request, a Answers, ui UI) (*execution.Execution, error) {
	ro := execution.Options{
		Command: "hank " + string(r.Mode), BreakLock: a.BreakLock, Fresh: a.Fresh, Reap: keeper.ReapNames, Workspace: absolute(r.Workspace),
		CheckpointCap: r.Layers.Merge(nil).CheckpointCap.Limit(),
		Limit:         r.limit,
		Mask:          secrets.Text,
		Unfinished:    unfinishedFor(a),
		Late:          decideLate(r.Mode, a, ui),
		Synced:        bus.Synced,
		Appended: func(e journal.Event, s *state.State) {
			bus.Appended(e)
			if ui.appended != nil {
				ui.appended(e, s)
			}
		},
		Warn: ui.say, Work: ui.Work,
	}
	if layout.Exists(root) {
		x, err := recovery.Open(ctx, root, ro)
		if err != nil {
			return nil, err
		}
		if err := sameInputs(x, from, r); err != nil {
			return nil, errors.Join(err, x.Close())
		}
		return x, nil
	}
	if r.Mode != ModeRun {
		return nil, &layout.NotFoundError{From: root}
	}
	workspace, output := "", ""
	var err error
	if r.Workspace != "" {
		if workspace, err = filepath.Abs(r.Workspace); err != nil {
			return nil, err
		}
		if fi, err := os.Stat(workspace); err != nil || !fi.IsDir() {
			return nil, &exitcode.UsageError{Why: fmt.Sprintf("the workspace %s is not a folder", r.Workspace)}
		}
	}
	if r.Output != "" {
		if output, err = filepath.Abs(r.Output); err != nil {
			return nil, err
		}
	}
	x, err := recovery.Create(ctx, root, recovery.CreateOptions{
		Options: ro, Workspace: workspace, Data: from.data, HankPath: from.path, Output: output, Version: r.Version,
	})
	if err == nil && x.Report.Source == "new" { // the folder may be a mistyped one
		ui.say("a new execution begins in " + root)
		for _, d := range from.found {
			if d.Severity == plan.Warning {
				ui.say(d.String())
			}
		}
	}
	return x, err
}

// unfinishedFor is what becomes of an interrupted move that cannot be finished.
func unfinishedFor(a Answers) execution.Unfinished {
	if a.KeepTree {
		return recovery.KeepUnfinished
	}
	return recovery.AskUnfinished
}

// askAboutRemains asks before an execution is begun where there may have been one:
// all codons would run again, and what is there would count as the workspace from
// before them.
func askAboutRemains(root string, r Request, a Answers, ui UI) error {
	what := ""
	if r.Mode == ModeRun && !a.Fresh {
		what = recovery.Remains(root, r.Workspace != "")
	}
	if what == "" {
		return nil
	}
	question := "there is no execution in " + root + ", but " + what
	if ui.choose(question, "begin with what is there as the initial checkpoint; every codon runs", "leave it") == 0 {
		return nil
	}
	return &finding.DecisionError{What: question, Command: "hank run --fresh", Options: []string{
		"--fresh begins with what is there as the initial checkpoint; every codon runs",
		"if there was an execution, put its " + layout.Dir + " back from a copy: `hank run` then goes on with it",
		"-e DIR begins in another folder"}}
}

// absolute returns a path that does not depend on where this process is; one
// that is not given stays so.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil && path != "" {
		return abs
	}
	return path
}

// sameInputs refuses to go on with other data or in another workspace than
// the execution was begun with.
func sameInputs(x *execution.Execution, from origin, r Request) error {
	if have := x.Meta().ReadOnlySourceDataPath; from.data != "" && have != from.data && !vfs.SameFile(have, from.data) {
		return &exitcode.UsageError{Why: fmt.Sprintf("this execution reads %s, not %s; other data want an execution of their own: -e DIR", orNothing(have), from.data)}
	}
	if r.Workspace != "" {
		if abs, err := filepath.Abs(r.Workspace); err != nil || abs != x.Layout.Workspace {
			return &exitcode.UsageError{Why: fmt.Sprintf("this execution works in %s; another workspace wants an execution of its own: -e DIR", x.Layout.Workspace)}
		}
	}
	return nil
}

func orNothing(s string) string {
	if s == "" {
		return "no data"
	}
	return s
}

// runOpened is everything between opening and closing the execution.
func (d *driver) runOpened(ctx context.Context, program *plan.Program, loadErr error) (*Result, error) {
	for _, f := range d.x.Report.Findings {
		d.say("%s: %s", f.Severity.Word(), f.What)
	}
	start, err := d.begins(ctx, program, loadErr)
	if err == nil {
		err = d.accept()
	} else {
		err = d.withdraw(err)
	}
	if err != nil || start.End != nil {
		return d.result(deref(start.End), err), err
	}
	out, err := d.serve(ctx, start)
	return d.result(out, err), err
}

// begins is everything up to where a run can start. Limits and cap that are given
// with the command are kept before the first checkpoint is made, or the workspace is
// moved: killed there, the next command has them. One that is refused, or ends with a
// question, has changed none.
func (d *driver) begins(ctx context.Context, program *plan.Program, loadErr error) (Start, error) {
	if _, err := decide(situation{state: d.x.State()}, d.request, d.answers); err != nil { // it cannot mean anything here
		return Start{}, err
	}
	_ = registry.Add(registry.Entry{Root: d.x.Layout.Root, Lineage: d.x.State().Lineage, Hank: d.x.Meta().HankPath,
		Created: d.x.Meta().CreatedAt.Time, LastUsed: d.x.Now().Time})
	if err := d.begin(ctx); err != nil {
		return Start{}, err
	}
	if err := d.chooseProgram(ctx, program, loadErr); err != nil {
		return Start{}, err
	}
	d.checkData(ctx)
	d.prepare()
	if err := d.confine(); err != nil {
		return Start{}, err
	}
	return d.start(ctx)
}

// prepare reads the settings that hold.
func (d *driver) prepare() {
	d.settings = d.layers.Merge(d.program.Hank.Overrides)
	present := *d.program // what was frozen had the settings of another day
	present.Settings = d.settings
	d.program = &present
	agents.EachCodon(d.program, func(c *plan.Codon) { d.secrets.Add(agents.WithEnv(nil, c.Env)) })
	d.ignoreRigs = d.settings.IgnoreRigFailures != nil && *d.settings.IgnoreRigFailures
}

func deref(o *outcome) outcome {
	if o == nil {
		return outcome{}
	}
	return *o
}

// startRun opens a run.
func (d *driver) startRun(st Start) error {
	self, err := proc.Self()
	if err != nil {
		return err
	}
	identity, err := json.Marshal(self)
	if err != nil {
		return err
	}
	now := d.x.Now()
	id := newRunID(now.Time)
	folder := d.x.Layout.RunFolder(id)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("creating the folder of the run: %w", err)
	}
	failpoint.Hit("run.foldered")
	d.run = id
	if err := d.x.Watch(); err != nil {
		return err
	}
	return d.x.Record(state.RunStarted{Run: &state.Run{
		RunID: id, RunFolder: folder, GitBranch: "run-" + string(id), StartingConditions: conditions(d.x.State(), st, d.request.Mode, d.x.Head()),
		Status: state.StatusRunning, StartTime: now, ServerPid: self.PID, Process: identity,
		StartedBy: startedBy(self.Host, d.request.Unattended), Note: d.request.Note, Labels: d.request.Labels,
	}})
}

func newRunID(now time.Time) state.RunID {
	const digits = "0123456789abcdefghijklmnopqrstuvwxyz"
	b := make([]byte, 5)
	_, _ = rand.Read(b) // never fails (crypto/rand)
	for i := range b {
		b[i] = digits[int(b[i])%len(digits)]
	}
	return state.RunID(strconv.FormatInt(now.UnixMilli(), 10) + "-" + string(b))
}

// startedBy says who began the run. Arguments may hold secrets, so only the
// program and the verb are kept.
func startedBy(host string, unattended bool) *state.StartedBy {
	user := os.Getenv("USER")
	if user == "" {
		user = strconv.Itoa(os.Getuid())
	}
	argv := os.Args[:min(2, len(os.Args))]
	return &state.StartedBy{User: user, Host: host, Argv: append([]string{filepath.Base(argv[0])}, argv[1:]...), Unattended: unattended}
}

// endRun closes the run, and makes its exit checkpoint. The plan's end is a
// fact; the checkpoint of it is a copy.
//
// What agents wrote they have not synced, and a run that has ended is not looked
// at again: without a sync before that is said, a power cut would leave files of
// zeros in the place of results.
func (d *driver) endRun(ctx context.Context, out outcome) error {
	d.summarize()
	if err := vfs.SyncVolume(d.x.Layout.Workspace); err != nil && out.reason == "" {
		return fmt.Errorf("bringing the workspace onto the disk: %w", err)
	}
	now := d.x.Now()
	var end state.Transition = state.RunCompleted{RunID: d.run, EndTime: now}
	if out.reason != "" {
		end = state.RunFailed{RunID: d.run, EndTime: now, Reason: out.reason, Detail: out.detail}
	}
	if err := d.x.Record(end); err != nil {
		return err
	}
	failpoint.Hit("run.ended")
	return d.exitCheckpoint(ctx, out)
}

// exitCheckpoint makes the checkpoint of a run's end. It is a copy: a workspace
// that cannot be captured now is only said.
func (d *driver) exitCheckpoint(ctx context.Context, out outcome) error {
	sel := d.selection(min(d.x.State().Next(), len(d.x.State().ExecutionPlan())-1))
	snap, err := d.x.Snapshot(ctx, sel, d.x.Head())
	if err != nil {
		d.say("the run has no exit checkpoint: %v", err)
		return nil
	}
	_, err = d.x.Commit(ctx, execution.Commit{
		Title:    githistory.Title{Status: state.KindExit, CodonID: out.codon, RunID: d.run, Name: string(out.reason)},
		Snapshot: snap, Parents: d.parents(), Branch: d.branch(),
		Transition: state.CheckpointCreated{Kind: state.KindExit, RunID: d.run, CodonID: out.codon, Branch: d.branch()},
	})
	return err
}

// abort ends a run that hank itself cannot go on with, and says why. Where a
// codon is at work the run stays open, paused, until the next opening has made
// the codon's checkpoint. If not even that can be written, the next opening will
// call it a crash. A write that has failed is not tried again.
func (d *driver) abort(ctx context.Context, err error) (outcome, error) {
	out := outcome{reason: leftFor(err), code: verdict.CodeOf(err), detail: verdict.Sentence(err)}
	live := d.x.State().Run(d.run).Live()
	if live == nil {
		if endErr := d.endRun(context.WithoutCancel(ctx), out); endErr != nil && !errors.Is(err, endErr) {
			err = errors.Join(err, endErr)
		}
		return out, err
	}
	out.codon = live.CodonID
	pauseErr := d.x.Record(state.RunPaused{RunID: d.run, Time: d.x.Now(), Reason: out.reason, Detail: out.detail, Changing: changing(err)})
	switch {
	case pauseErr != nil && !errors.Is(err, pauseErr):
		err = errors.Join(err, pauseErr)
	case pauseErr == nil && live.Settling != nil:
		err = fmt.Errorf("the run is paused: codon %s has done its work, which is kept and not done again, and has no checkpoint yet: %w", live.CodonID, err)
	case pauseErr == nil:
		err = fmt.Errorf("the run is paused, and `hank run` does codon %s again: %w", live.CodonID, err)
	}
	return out, err
}

// changing is the file that kept changing while it was to be recorded, if that
// is what an error says. One that cannot be read is none.
func changing(err error) string {
	var unstable *checkpoint.UnstableError
	if !errors.As(err, &unstable) || errors.Is(err, fs.ErrPermission) {
		return ""
	}
	return strings.ToValidUTF8(unstable.Path, "\uFFFD")
}

// leftFor is the reason for which an error of hank itself ends a run.
func leftFor(err error) state.EndReason {
	switch verdict.CodeOf(err) {
	case exitcode.Decision:
		return state.EndDecision
	case exitcode.Interrupted:
		return state.EndSignal
	}
	return state.EndError
}

// result describes where the execution stands now.
func (d *driver) result(out outcome, err error) *Result {
	s := d.x.State()
	res := &Result{Schema: outputSchema, Code: out.code, RunID: d.run, EndReason: out.reason, Codon: out.codon,
		Done: s.Next(), Planned: len(s.ExecutionPlan()), Cost: s.TotalCost(), Limits: s.Limits,
		Execution: d.x.Layout.Root, Workspace: d.x.Layout.Workspace, Output: d.x.Meta().Output, Sandbox: d.confinement, Caveats: s.Caveats()}
	if run := s.Run(d.run); run != nil {
		if res.Status = run.Status; run.Paused != nil {
			res.Status = state.StatusFailed // which is what it will be closed as
		}
		res.Verdict = verdict.On(run, false, false)
	}
	if res.Verdict == "" && err == nil { // there was nothing to run
		res.Verdict = verdict.On(endedAs(out.reason), false, false)
	}
	switch {
	case err != nil:
		res.Code, res.Message = verdict.CodeOf(err), verdict.Sentence(err)
	case out.reason == "":
		if res.Message = "the hank is done"; !res.Caveats.Empty() {
			res.Message += ", with " + verdict.CaveatText(res.Caveats)
		}
	default:
		res.Message = out.detail
		if out.codon != "" {
			res.Message = about(out)
		}
	}
	res.Next = d.nextCommand(out)
	res.Finish, res.FinishFirst = verdict.Finish(s, "")
	if first := verdict.RaiseFirst(res.Next); first != "" && out.reason == state.EndBudget {
		res.Message += "; " + first + " first"
	}
	return res
}

// endedAs is a run that has ended for a reason, or completed.
func endedAs(reason state.EndReason) *state.Run {
	if reason == "" {
		return &state.Run{Status: state.StatusCompleted}
	}
	return &state.Run{Status: state.StatusFailed, EndReason: reason}
}

// about is an outcome that is about a codon, in one sentence.
func about(out outcome) string {
	detail := strings.TrimSpace(out.detail)
	switch {
	case out.reason == state.EndCodonFailed && strings.HasPrefix(detail, "failed in "):
		return fmt.Sprintf("codon %s %s", out.codon, detail)
	case out.reason == state.EndCodonFailed:
		return fmt.Sprintf("codon %s failed: %s", out.codon, detail)
	}
	return fmt.Sprintf("codon %s: %s", out.codon, detail)
}

// nextCommand is what a person would type to continue.
func (d *driver) nextCommand(out outcome) string {
	s, verb := d.x.State(), "hank run"
	switch out.reason {
	case "":
		return ""
	case state.EndAgent:
		if _, command := verdict.RefusedModel(history.LastRecord(s)); command != "" {
			verb = command
		}
	case state.EndCodonFailed:
		verb = "hank retry"
	case state.EndBudget: // it was stopped before the codon, or the codon failed by it
		if last := history.LastRecord(s); last != nil && !last.Settled() && last.Interrupted == "" {
			verb = "hank retry"
		}
	}
	return verdict.Continue(s, verb, out.reason == state.EndBudget)
}

func newToken() string {
	b := make([]byte, 8)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}
