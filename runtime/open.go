package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"hank/checkpoint"
	"hank/internal/secret"
	"hank/internal/vfs"
	"hank/plan"
	"hank/plan/config"
	"hank/plan/diagnostic"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/layout"
	"hank/runtime/agents"
	"hank/runtime/events"
	"hank/runtime/exitcode"
	"hank/runtime/hankfile"
	"hank/runtime/opening"
	"hank/runtime/recording"
	"hank/runtime/request"
	"hank/state"
	"hank/state/journal"
)

// Tolerable reports whether an execution can continue without the author's hank:
// it has a frozen one. A limit in dollars of the command itself that is none without a price is no
// fault of the hank; nor is it one that the settings require prices, unless its copy is to be used.
func Tolerable(err error, layers config.Layers, a Answers) bool {
	var invalid *exitcode.InvalidError
	required := layers.Merge(nil).RequirePrice
	own := layers.Limited || required != nil && *required && !a.Frozen
	return errors.As(err, &invalid) && !(own && invalid.Only("price-required")) || errors.Is(err, os.ErrNotExist)
}

func openOrCreate(ctx context.Context, root string, from hankfile.Origin, replay *recording.Recording, secrets *secret.Values, bus *events.Bus, r Request, a Answers, ui UI) (*execution.Execution, error) {
	opened := false
	defer func() { opened = true }()
	ro := execution.Options{
		Command: "hank " + string(r.Mode), BreakLock: a.BreakLock, Fresh: a.Fresh, Workspace: request.Absolute(r.Workspace),
		CheckpointCap: r.Layers.Merge(nil).CheckpointCap.Limit(),
		Limit:         r.Limit,
		Mask:          secrets.Text,
		Learn: func(load func() (*plan.Program, error)) {
			if !opened { // what the run works on it reads itself
				opening.Learn(secrets)(load)
			}
		},
		Unfinished: unfinishedFor(a),
		Late:       decideLate(r.Mode, a, ui),
		Synced:     bus.Synced,
		Appended: func(e journal.Event, s *state.State) {
			bus.Appended(e)
			if ui.Appended != nil {
				ui.Appended(e, s)
			}
		},
		Warn: ui.Remark, Work: ui.Work,
	}
	if layout.Exists(root) {
		x, err := opening.Open(ctx, root, ro)
		if err != nil {
			return nil, err
		}
		if err := cmp.Or(sameInputs(x, from, r), newOutput(x, r, ui)); err != nil {
			return nil, errors.Join(err, x.Close())
		}
		return x, nil
	}
	if r.Mode != ModeRun {
		return nil, &layout.NotFoundError{From: root}
	}
	workspace, output, replayed := "", "", replay.Root()
	if r.Replay == request.Noop {
		replayed = request.Noop
	}
	var err error
	if r.Workspace != "" {
		if workspace, err = filepath.Abs(r.Workspace); err != nil {
			return nil, err
		}
	}
	dir, setting := r.OutputDir()
	if dir != "" {
		if output, err = filepath.Abs(dir); err != nil {
			return nil, err
		}
	}
	x, err := opening.Create(ctx, root, recovery.CreateOptions{
		Options: ro, Workspace: workspace, Data: from.Data, HankPath: from.Path, Output: output, OutputIsSetting: setting, Replay: replayed, Sandbox: string(r.Layers.Flags.Sandbox), Version: r.Version,
	})
	if err == nil && x.Report.Source == "new" { // the directory may be a mistyped one
		ui.Remark("a new execution begins in " + root)
		for _, d := range from.Found {
			if d.Severity == diagnostic.Warning {
				ui.Remark(d.String())
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
		what = recovery.Remains(root, r.Workspace != "" && request.Absolute(r.Workspace) != layout.DefaultWorkspace(root)) // agentRoot is not kept apart, whoever names it
	}
	if what == "" {
		return nil
	}
	question := "there is no execution in " + root + ", but " + what
	if ui.Choose(question, "start with what is there as the initial checkpoint; every codon runs", "leave it") == 0 {
		return nil
	}
	return &finding.DecisionError{What: question, Command: "hank run --fresh", Options: []string{
		"--fresh starts with what is there as the initial checkpoint; every codon runs",
		"if there was an execution, put its " + layout.Dir + " back from a backup: `hank run` then continues it",
		"-e DIR starts in another directory"}}
}

// sameInputs refuses to continue with other data or in another workspace than
// the execution was begun with.
func sameInputs(x *execution.Execution, from hankfile.Origin, r Request) error {
	if have := x.Meta().ReadOnlySourceDataPath; from.Data != "" && have != from.Data && !vfs.SameFile(have, from.Data) {
		return &exitcode.UsageError{Why: fmt.Sprintf("this execution reads %s, not %s; other data needs an execution of its own: -e DIR, or, to start over here: `hank reset`", cmp.Or(have, "no data"), from.Data)}
	}
	if r.Workspace != "" {
		if abs, err := filepath.Abs(r.Workspace); err != nil || abs != x.Layout.Workspace {
			return &exitcode.UsageError{Why: fmt.Sprintf("this execution uses the workspace %s; another workspace needs an execution of its own: -e DIR", x.Layout.Workspace)}
		}
	}
	return nil
}

// newOutput has the output files copied elsewhere from now on, if that is wanted.
func newOutput(x *execution.Execution, r Request, ui UI) error {
	before := x.Meta().Output
	changed, err := x.SetOutput(r.OutputDir())
	if changed && before == "" {
		ui.Remark("output files are copied to " + x.Meta().Output + " from now on; those of completed codons are not")
	} else if changed {
		ui.Remark("output files are copied to " + x.Meta().Output + " from now on; what was copied to " + before + " stays there")
	}
	return err
}

// decideLate is what the user has decided, or decides on a terminal, about a codon
// whose workspace was changed between its end and its checkpoint.
func decideLate(mode Mode, a Answers, ui UI) func(question string) execution.Late {
	return func(question string) execution.Late {
		switch {
		case a.KeepsTree(mode):
			return execution.LateKeep
		case a.Restore:
			return execution.LateRedo
		}
		switch ui.Choose(question, "accept the workspace as it is as the codon's work", "save it in a checkpoint, and run the codon again on the workspace as it was before it") {
		case 0:
			return execution.LateKeep
		case 1:
			return execution.LateRedo
		}
		return execution.LateAsk
	}
}

// askBeforeCreation asks what must be known before anything is made: whether the
// workspace that is there has files for secrets. What it has looked at is returned, as
// long as nobody had to be waited for.
func askBeforeCreation(ctx context.Context, root string, r Request, a Answers, ui UI) (Answers, *checkpoint.Size, error) {
	if a.IncludeSecrets || a.ExcludeSecrets {
		return a, nil, nil
	}
	l := layout.Layout{Root: root, Workspace: request.Absolute(r.Workspace)}
	if r.Workspace == "" {
		l.Workspace = layout.DefaultWorkspace(root)
	}
	if fi, err := os.Stat(l.Workspace); err != nil || !fi.IsDir() {
		return a, nil, nil // there is none, or creation says what is wrong with it
	}
	size, err := execution.FirstEstimate(ctx, l)
	if err != nil {
		return a, nil, fmt.Errorf("looking for files with secrets in the workspace: %w", err)
	}
	if len(size.Private) == 0 {
		return a, &size, nil
	}
	a, err = askAboutPrivate(size.Private, a, ui)
	return a, nil, err
}

// askAboutPrivate decides whether the first checkpoint takes files for secrets:
// what is in a checkpoint stays in it.
func askAboutPrivate(files []string, a Answers, ui UI) (Answers, error) {
	if len(files) == 0 || a.IncludeSecrets || a.ExcludeSecrets {
		return a, nil
	}
	shown := strings.Join(files[:min(3, len(files))], ", ")
	if more := len(files) - 3; more > 0 {
		shown += fmt.Sprintf(" and %d more", more)
	}
	what := "the workspace has files whose names suggest secrets, and the first checkpoint would include them: " + shown
	switch ui.Choose(what, "leave them out of every checkpoint", "include them in the checkpoints") {
	case 0:
		a.ExcludeSecrets = true
		return a, nil
	case 1:
		a.IncludeSecrets = true
		return a, nil
	}
	return a, &finding.DecisionError{What: what, Options: []string{
		"--exclude-secrets leaves them out of every checkpoint", "--include-secrets includes them", "ignore them in .gitignore",
	}}
}

// CheckNew is what keeps a command from beginning an execution: what it would ask, or why
// it is refused; nil: nothing. It changes nothing on disk. Agents that it finds are added to
// known, and it says what a run says before it begins.
func CheckNew(ctx context.Context, p *plan.Program, root string, r Request, a Answers, known agents.Found, say func(line string)) error {
	if err := cmp.Or(checkNew(p, root, r), askAboutRemains(root, r, a, UI{})); err != nil {
		return err
	}
	if err := Preflight(ctx, p, p.Initial(), known, r, UI{Say: say}, "", r.Layers.Limited); err != nil {
		return err
	}
	_, _, err := askBeforeCreation(ctx, root, r, a, UI{})
	return err
}
