package agents

import (
	"crypto/sha256"
	"encoding/hex"
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
	Try      bool   // nothing is remembered
	Command  string // that allows it; empty: it is the one that was given, with the option
	Choose   func(question string, answers ...string) int
	Say      func(line string)
}

// Ask says in which mode agents work, and sees that the user has once allowed it where
// nothing confines them: on the terminal, by an option, or in hankweave.json.
func (p Permission) Ask(names []string) error {
	var unasked, modes []string
	for _, name := range names {
		mode := permissionOf(name)
		switch {
		case mode == "":
			continue
		case p.Settings.Sandbox == config.WorkspaceSandbox:
			p.Say(fmt.Sprintf("%s works in its mode %s: it asks nobody; the sandbox confines what it writes", name, mode))
			continue
		}
		p.Say(fmt.Sprintf("%s works in its mode %s: it asks nobody, may run every command, and may write wherever you may", name, mode))
		if !allowed(name) {
			unasked, modes = append(unasked, name), append(modes, fmt.Sprintf("%s (%s)", name, mode))
		}
	}
	set := p.Settings.AllowBypass != nil && *p.Settings.AllowBypass
	if len(unasked) == 0 || set && !p.Flag { // the settings say it for where they are
		return nil
	}
	what := "you have not allowed yet that agents work without asking and without a sandbox: " + strings.Join(modes, ", ")
	if !set && p.Choose(what, "allow it, for all your hanks", "leave it") != 0 {
		return &finding.DecisionError{What: what, Command: p.Command, Options: []string{
			"--allow-bypass allows it, for all your hanks", "--sandbox workspace lets them write only in the workspace",
			`"allowBypass": true in hankweave.json allows it where that file is`}}
	}
	for _, name := range unasked {
		if p.Try {
			break
		}
		if err := consent.Give(consentTo(name), time.Now()); err != nil {
			p.Say(fmt.Sprintf("warning: your permission for %s cannot be remembered: %v", name, err))
		}
	}
	return nil
}

// allowed reports whether the user has once allowed an agent to work without asking.
func allowed(agent string) bool { return consent.Given(consentTo(agent)) }

// consentTo is the name of the consent to an agent. A program can have any path, and a
// consent is a file.
func consentTo(agent string) string {
	name, program, ofUser := strings.Cut(agent, " ")
	if !ofUser {
		return name
	}
	sum := sha256.Sum256([]byte(program))
	return name + "-" + hex.EncodeToString(sum[:8])
}
