package agents

import (
	"fmt"
	"strings"
	"time"

	"hank/internal/consent"
	"hank/plan/config"
	"hank/recovery/finding"
)

// Permission is how the user is asked what agents may do.
type Permission struct {
	Settings config.Settings
	Flag     bool   // the command line allows it, and not the settings of this directory alone
	Command  string // that allows it; empty: it is the one that was given, with the option
	Choose   func(question string, answers ...string) int
	Say      func(line string)
}

// Ask says in which mode agents work, and sees that the user has once allowed it where
// nothing confines them: on the terminal, by an option, or in hankweave.json.
func (p Permission) Ask(names []string) error {
	var unasked, modes []string
	for _, name := range names {
		mode := Harnesses[name].Permission()
		switch {
		case mode == "":
			continue
		case p.Settings.Sandbox == config.WorkspaceSandbox:
			p.Say(fmt.Sprintf("%s works in its mode %s: it asks nobody; the sandbox confines what it writes", name, mode))
			continue
		}
		p.Say(fmt.Sprintf("%s works in its mode %s: it asks nobody, may run every command, and may write wherever you may", name, mode))
		if !consent.Given(name) {
			unasked, modes = append(unasked, name), append(modes, fmt.Sprintf("%s (%s)", name, mode))
		}
	}
	allowed := p.Settings.AllowBypass != nil && *p.Settings.AllowBypass
	if len(unasked) == 0 || allowed && !p.Flag { // the settings say it for where they are
		return nil
	}
	what := "you have not allowed yet that agents work without asking and without a sandbox: " + strings.Join(modes, ", ")
	if !allowed && p.Choose(what, "allow it, for all your hanks", "leave it") != 0 {
		return &finding.DecisionError{What: what, Command: p.Command, Options: []string{
			"--allow-bypass allows it, for all your hanks", "--sandbox workspace lets them write only in the workspace",
			`"allowBypass": true in hankweave.json allows it where that file is`}}
	}
	for _, name := range unasked {
		if err := consent.Give(name, time.Now()); err != nil {
			p.Say(fmt.Sprintf("warning: your permission for %s cannot be remembered: %v", name, err))
		}
	}
	return nil
}
