package runtime

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"hank/internal/shell"
	"hank/plan"
	"hank/plan/config"
	"hank/recovery/layout"
	"hank/runtime/agents"
	"hank/runtime/exitcode"
	"hank/runtime/fallback"
	"hank/runtime/hankfile"
	"hank/runtime/machine"
	"hank/runtime/request"
	"hank/runtime/sentinel"
	"hank/runtime/startpoint"
	"hank/state"
)

// preflight looks whether everything that the rest of the plan needs is here. s is the state
// from which it is started.
func (d *driver) preflight(ctx context.Context, s *state.State, st startpoint.Start) error {
	rest, err := agents.ToRun(s, d.program)
	if rest == nil || d.replay != nil || d.noop { // nil: only the run's end is to come
		return err
	}
	if d.agents == nil {
		d.agents = agents.Found{}
	}
	ui := d.ui
	ui.Say = func(line string) { d.say("%s", line) }
	r := d.request
	if r.Hank = d.hankPath; d.answers.Frozen {
		r.Hank = ""
	}
	if err := Preflight(ctx, d.program, rest, d.agents, r, ui, d.x.Layout.Root, r.Limit(s.Limits).MaxDollars > 0); err != nil {
		return err
	}
	next := fallback.Choose(rest[0].Codon, nil, d.agents.Usable(rest[0].Codon, d.request.ProcessEnviron()))
	if ask := startpoint.Elsewhere(s, st, d.x.Layout, next); ask != nil {
		return ask
	}
	return nil
}

// Preflight looks whether everything that entries of a plan need is here, whether sh can
// parse their scripts and a process have their variables, and whether the prices are known that are
// required, before anything is made or started. Agents that are known are not looked for again, and those that it finds are
// added. root is where the execution is, if there is one: a command without its hank continues it, and
// r names its hank unless p is the stored copy of another. limited: the execution has a limit in dollars.
func Preflight(ctx context.Context, p *plan.Program, rest []plan.Entry, known agents.Found, r Request, ui UI, root string, limited bool) error {
	if r.Replays() || r.Replay == request.Noop {
		return nil
	}
	wrong := machine.Unpriced(p, rest, r.Layers.Merge(p.Hank.Overrides.Settings()), limited)
	if wrong = append(wrong, machine.Refused(ctx, p, rest, r.ProcessEnviron())...); len(wrong) > 0 {
		file, err := hankfile.File(cmp.Or(r.Hank, "."))
		if err != nil || root != "" && r.Hank == "" { // the stored copy
			return &exitcode.InvalidError{Diagnostics: wrong}
		}
		return hankfile.Invalid(file, wrong)
	}
	if root != "" {
		if err := r.CheckOutput(root, rest); err != nil {
			return err
		}
	}
	fresh, err := known.Look(ctx, p.Hank, rest, r.ProcessEnviron(), ui.Remark)
	if err = errors.Join(err, sentinel.Ready(p, rest, r.SentinelEnviron())); err != nil {
		return err
	}
	ask := agents.Permission{Settings: p.Settings, Flag: r.Layers.Flags.AllowBypass != nil, Try: r.DryRun, Choose: ui.Choose, Say: ui.Remark}
	if root != "" {
		if ask.Command = "hank " + string(r.Mode); r.Codon != "" {
			ask.Command += " " + shell.Quote(string(r.Codon))
		}
		ask.Command += " --allow-bypass"
	}
	return ask.Ask(fresh)
}

// confine sees that what is asked for is in force before anything is started,
// and says what it comes to.
func (d *driver) confine() error {
	c := agents.Confine(d.program, d.settings.Sandbox, d.x.Layout, d.request.ProcessEnviron(), d.request.Support())
	if err := c.Refusal(); err != nil || c.Sandbox != config.WorkspaceSandbox {
		return err
	}
	d.confinement = c
	d.say("sandbox: active (Landlock ABI %d); agents, rigs and checks write only in %s", c.ABI, strings.Join(c.Writable, ", "))
	d.note("sandbox.applied", c)
	return nil
}

// checkNew refuses an execution that is not made yet where its sandbox, or the copies of its first
// codon, cannot work.
func checkNew(p *plan.Program, root string, r Request) error {
	l := layout.Layout{Root: root, Workspace: layout.DefaultWorkspace(root)}
	if r.Workspace != "" {
		l.Workspace = request.Absolute(r.Workspace)
	}
	if err := agents.Confine(p, p.Settings.Sandbox, l, r.ProcessEnviron(), r.Support()).Refusal(); err != nil || r.Replays() || r.Replay == request.Noop {
		return err
	}
	return machine.CopiesBegin(p, l.Workspace)
}
