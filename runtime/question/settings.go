package question

import (
	"errors"

	"hank/plan/config"
	"hank/recovery"
	"hank/recovery/layout"
	"hank/runtime/agents"
	"hank/runtime/exitcode"
	"hank/runtime/hankfile"
	"hank/runtime/machine"
	"hank/runtime/request"
)

// WrongSettings is why a command that continues an execution refuses the settings that hold here,
// which are written as settings are: what they ask for cannot be had; nil: it can.
func WrongSettings(v *recovery.View, in config.Layers, command string) error {
	root := v.Layout.Root
	if wrong := machine.Output(in, root); len(wrong) > 0 {
		return &exitcode.InvalidError{Diagnostics: wrong}
	}
	if required := in.Merge(nil).RequirePrice; required == nil || !*required || v.Meta.Replay != "" || !layout.Exists(root) {
		return nil
	}
	live, _, err := hankfile.LoadFor(root, request.Request{}, in)
	var invalid *exitcode.InvalidError
	if errors.As(err, &invalid) && invalid.Only("price-required") {
		return err
	}
	p := Program(v, in)
	if live != nil && p != nil && hankfile.Same(v.State, p, live) {
		p = live
		p.Settings = in.Merge(live.Hank.Overrides.Settings())
	}
	whole, err := recovery.Read(root)
	if p == nil || err != nil {
		return nil // which is said elsewhere
	}
	there, _, err := taken(whole.State, p, nil, request.Request{Mode: modeOf(command)})
	if err != nil {
		return nil
	}
	rest, err := agents.ToRun(there, p)
	if wrong := machine.Unpriced(p, rest, p.Settings, there.Limits.MaxDollars > 0); err == nil && len(wrong) > 0 {
		return &exitcode.InvalidError{Diagnostics: wrong}
	}
	return nil
}
