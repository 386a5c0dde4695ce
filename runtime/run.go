package runtime

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"hank/checkpoint"
	"hank/internal/registry"
	"hank/internal/secret"
	"hank/internal/vfs"
	"hank/plan"
	"hank/plan/config"
	"hank/recovery/layout"
	"hank/runtime/agents"
	"hank/runtime/bounds"
	"hank/runtime/codon"
	"hank/runtime/events"
	"hank/runtime/exitcode"
	"hank/runtime/hankfile"
	"hank/runtime/history"
	"hank/runtime/opening"
	"hank/runtime/recording"
	"hank/runtime/request"
	"hank/runtime/result"
	"hank/runtime/startpoint"
	"hank/runtime/verdict"
	"hank/state/journal"
)

// Run opens or creates an execution and drives its plan. The order:
//
//  1. Read the hank. Nothing is created for one that is invalid, or whose agents,
//     keys or requirements are not here.
//  2. Open or create the execution: locks, recovery.
//  3. Freeze the program; ask about one that has changed since.
//  4. Decide from which tree to continue. Look whether the agents of the codons that
//     are to run are there; ask about a workspace that the user changed.
//  5. Start a run, drive it, close it; an exit checkpoint carries its end.
//
// The error says why there was no run, or what broke it; Result is not nil
// when the execution could be opened. Request.Notify is told of both.
func Run(ctx context.Context, r Request, a Answers, ui UI) (*Result, error) {
	told := &request.Outbox{}
	ui = ui.Through(told)
	defer told.Wait()
	res, err := open(ctx, r, a, ui, told)
	if verdict.CodeOf(err) == exitcode.Decision && (res == nil || res.RunID == "") {
		ui.RemarkUnkept(r)
	}
	if res != nil && err != nil {
		res.Code, res.Message, res.Err = verdict.CodeOf(err), verdict.Sentence(err), err
	}
	if r.Notify != "" {
		ui.Monitor.Wait("running the notification command")
	}
	if res == nil || res.Repeats == nil {
		result.Notify(ctx, r, ui, res, err)
	}
	ui.Monitor.Change(func(a *codon.Activity) { *a = codon.Activity{} })
	return res, err
}

// streamPatience is how long the end of a run waits for a reader of its events that takes
// none.
const streamPatience = 5 * time.Second

// open is Run without its notification.
func open(ctx context.Context, r Request, a Answers, ui UI, told *request.Outbox) (*Result, error) {
	root, err := history.LocateFor(r.Execution, r.Mode == ModeRun, r.Hank)
	if err != nil {
		return nil, err
	}
	if err := layout.Obstructed(root); err != nil {
		return nil, err
	}
	if r.Operation, err = operationOf(r, a); err != nil {
		return nil, err
	}
	if again, err := repeated(root, r); again != nil || err != nil {
		return again, err
	}
	if err := r.CheckPlaces(root); err != nil {
		return nil, err
	}
	layers := r.LayersFor("")
	program, where, loadErr := hankfile.LoadFor(root, r, layers)
	if loadErr != nil && (program == nil && !layout.Exists(root) || !Tolerable(loadErr, layers, a)) {
		return nil, loadErr
	}
	var replay *recording.Recording
	if r.Replays() {
		if vfs.SameFile(r.Replay, root) {
			return nil, &exitcode.UsageError{Why: "an execution cannot replay itself: -e DIR names the one that replays"}
		}
		if replay, err = recording.Open(r.Replay); err != nil {
			return nil, err
		}
	}
	defer func() { _ = replay.Close() }()
	if replay != nil && program != nil {
		if err := replay.Fits(program); err != nil {
			return nil, err
		}
	}
	found := agents.Found{}
	var size *checkpoint.Size
	if !layout.Exists(root) { // nothing is made for a hank that could not be run here
		if err := cmp.Or(bounds.CheckNew(program, r), checkNew(program, root, r)); err != nil {
			return nil, err
		}
		if err := askAboutRemains(root, r, a, ui); err != nil {
			return nil, err
		}
		if r.Mode == ModeRun {
			if err := Preflight(ctx, program, program.Initial(), found, r, ui, "", r.Layers.Limited); err != nil {
				return nil, err
			}
		}
		if a, size, err = askBeforeCreation(ctx, root, r, a, ui); err != nil {
			return nil, err
		}
	}
	secrets := &secret.Values{}
	secrets.Add(r.ProcessEnviron())
	secrets.Add(r.SentinelEnviron())
	bus := events.New(func(from uint64, fn func(journal.Event) error) error {
		return journal.Read(vfs.OS, layout.Layout{Root: root}.Events(), from, fn)
	})
	ui.Monitor.Wait("opening the execution")
	x, err := openOrCreate(ctx, root, where, replay, secrets, bus, r, a, ui)
	if err != nil {
		return nil, err
	}
	sandboxed := config.Sandbox(x.Meta().Sandbox) // by a command before this one: it holds until another is given
	if r.Layers.Flags.Sandbox == "" {
		r.Layers.Flags.Sandbox = sandboxed
		layers.Flags.Sandbox = r.Layers.Flags.Sandbox
	}
	if ui.Stream != nil {
		s := bus.Stream(x.Journal.Last()+1, ui.Stream)
		defer func() {
			if err := s.End(streamPatience); err != nil {
				ui.Remark("the stream of events is not complete: " + err.Error())
			}
		}()
	}
	d := &driver{x: x, events: bus, request: r, answers: a, ui: ui, layers: layers, agents: found, secrets: secrets, replay: replay, noop: r.Replay == request.Noop, requests: make(chan codon.Request, 16), told: told, size: size, began: time.Now(), allowed: x.Allowed(), sandboxed: sandboxed, hankPath: where.Path, keep: a.KeepsTree(r.Mode)}
	if err = d.resumeReplay(); err != nil {
		return d.result(verdict.Outcome{}, err), errors.Join(err, x.Close())
	}
	replay = d.replay
	res, err := d.runOpened(ctx, program, loadErr)
	d.files.Take(true) // nothing reads the store any more
	ui.Monitor.Wait("closing the execution")
	if closeErr := x.Close(); closeErr != nil && !errors.Is(err, closeErr) && (err == nil || !strings.Contains(err.Error(), closeErr.Error())) {
		err = errors.Join(err, closeErr)
	}
	return res, err
}

// runOpened is everything between opening and closing the execution.
func (d *driver) runOpened(ctx context.Context, program *plan.Program, loadErr error) (*Result, error) {
	for _, f := range d.x.Report.Findings {
		d.say("%s: %s", f.Severity.Word(), f.What)
	}
	if again, err := d.rejoin(); again != nil || err != nil {
		return again, err
	}
	if hold := d.x.State().Hold; hold != nil {
		return d.result(*held(hold), nil), nil
	}
	st, err := d.begins(ctx, program, loadErr)
	if err == nil {
		err = d.accept()
	} else {
		err = d.withdraw(err)
	}
	var out verdict.Outcome
	if err == nil && st.End == nil {
		out, err = d.serve(ctx, st)
	} else if out = verdict.Deref(st.End); err == nil {
		err = d.keepReplay()
	}
	res := d.result(out, err)
	return res, errors.Join(err, d.keepAnswer(res, err))
}

// begins is everything up to where a run can start. Limits and cap that are given
// with the command are kept before the first checkpoint is made, or the workspace is
// moved: killed there, the next command has them. One that is refused, or ends with a
// question, has changed none.
func (d *driver) begins(ctx context.Context, program *plan.Program, loadErr error) (startpoint.Start, error) {
	if named, err := history.CodonAt(d.x.State(), string(d.request.Codon)); err == nil {
		d.request.Codon = named
	} else {
		return startpoint.Start{}, err
	}
	if d.request.From != "" {
		from, err := history.BranchTarget(d.x.State(), d.x.Store, d.request.From)
		if err != nil {
			return startpoint.Start{}, err
		}
		d.from = &from
	}
	if _, err := startpoint.Decide(startpoint.Situation{State: d.x.State(), From: d.from}, d.request, d.answers); err != nil { // it cannot mean anything here
		return startpoint.Start{}, err
	}
	_ = registry.Add(registry.Entry{Root: d.x.Layout.Root, Lineage: d.x.State().Lineage, Hank: d.x.Meta().HankPath,
		Created: d.x.Meta().CreatedAt.Time, LastUsed: d.x.Now().Time})
	if err := d.begin(ctx); err != nil {
		return startpoint.Start{}, err
	}
	if err := d.chooseProgram(ctx, program, loadErr); err != nil {
		return startpoint.Start{}, err
	}
	if d.request.Until != "" {
		until, err := history.CodonToCome(d.x.State(), string(d.request.Until))
		if err != nil {
			return startpoint.Start{}, err
		}
		d.bounds = bounds.Of(d.x.State(), until, d.request)
	}
	d.prepare()
	if err := d.confine(); err != nil {
		return startpoint.Start{}, err
	}
	return d.start(ctx)
}

// prepare reads the settings that hold.
func (d *driver) prepare() {
	d.settings = d.layers.Merge(d.program.Hank.Overrides.Settings())
	present := *d.program // what was frozen had the settings of another day
	present.Settings = d.settings
	d.program = &present
	opening.AddSecrets(d.secrets, d.program)
	d.ignoreRigs = d.settings.IgnoreRigFailures != nil && *d.settings.IgnoreRigFailures
}
