package runtime

import (
	"context"
	"errors"
	"strings"

	"hank/internal/shell"
	"hank/plan"
	"hank/plan/config"
	"hank/recovery/layout"
	"hank/runtime/agents"
	"hank/runtime/request"
	"hank/runtime/sentinel"
	"hank/state"
)

// preflight looks whether everything that the rest of the plan needs is here,
// before anything is started. s is the state from which it is started.
func (d *driver) preflight(ctx context.Context, s *state.State) error {
	rest := agents.ToRun(s)
	if rest == nil || d.replay != nil || d.noop { // nil: only the run's end is to come
		return nil
	}
	if d.agents == nil {
		d.agents = agents.Found{}
	}
	fresh, err := d.agents.Look(ctx, d.program.Hank, rest, d.request.ProcessEnviron(), func(line string) { d.say("%s", line) })
	if err != nil {
		return err
	}
	if err := sentinel.Ready(d.program, rest, d.request.SentinelEnviron()); err != nil {
		return err
	}
	command := "hank " + string(d.request.Mode)
	if d.request.Codon != "" {
		command += " " + shell.Quote(string(d.request.Codon))
	}
	return permission(d.request, d.settings, d.ui, command+" --allow-bypass").Ask(fresh)
}

// preflightNew is preflight for a hank that has no execution yet: none is made
// that could not run here. What it finds is not looked for again.
func preflightNew(ctx context.Context, p *plan.Program, r Request, ui UI) (agents.Found, error) {
	found := agents.Found{}
	if r.Replays() || r.Replay == request.Noop {
		return found, nil
	}
	fresh, err := found.Look(ctx, p.Hank, p.Initial(), r.ProcessEnviron(), ui.Remark)
	if err = errors.Join(err, sentinel.Ready(p, p.Initial(), r.SentinelEnviron())); err != nil {
		return found, err
	}
	return found, permission(r, p.Settings, ui, "").Ask(fresh)
}

// permission is how the user is asked what agents may do. command is the one that allows it.
func permission(r Request, in config.Settings, ui UI, command string) agents.Permission {
	return agents.Permission{Settings: in, Flag: r.Layers.Flags.AllowBypass != nil, Command: command, Choose: ui.Choose, Say: ui.Remark}
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

// confineNew is confine for an execution that is not made yet.
func confineNew(p *plan.Program, root string, r Request) error {
	l := layout.Layout{Root: root, Workspace: layout.DefaultWorkspace(root)}
	if r.Workspace != "" {
		l.Workspace = request.Absolute(r.Workspace)
	}
	return agents.Confine(p, p.Settings.Sandbox, l, r.ProcessEnviron(), r.Support()).Refusal()
}
