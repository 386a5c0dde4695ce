package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"hank/cmd/hank/call"
	"hank/internal/term"
	"hank/plan"
	"hank/plan/config"
	"hank/runtime/agents"
	"hank/runtime/breaker"
	"hank/runtime/exitcode"
	"hank/runtime/hankfile"
	"hank/runtime/report/output"
)

// tellAgents says of each agent whether it is here, and what it would use. It fails if one
// is missing that the hank here needs, or, without a hank, if none can be used.
func tellAgents(c *cli.Context) error {
	layers, err := settings(c)
	if err != nil {
		return err
	}
	survey := agents.Survey(c.Context, programHere(c, layers), agents.Overlay(os.Environ()))
	err = lackOf(survey)
	var open []breaker.View
	for _, b := range breaker.User().Open() {
		open = append(open, breaker.ViewOf(b))
	}
	if c.Bool("json") {
		form := output.AgentsOf(survey, open, call.ProblemForThis(c, err))
		return jsonEnding(form, form.Error)
	}
	for _, s := range survey {
		if err := printAgent(s); err != nil {
			return err
		}
	}
	for _, b := range open {
		if err := say("%-9s %s\n", "provider", b.Text(time.Now())); err != nil {
			return err
		}
	}
	return err
}

// programHere is the hank of the execution that is named or here, or that of this
// directory; nil: there is none, or it is invalid.
func programHere(c *cli.Context, layers config.Layers) *plan.Program {
	program, _, err := hankfile.Load(hankHere(c), layers)
	if err != nil {
		return nil
	}
	return program
}

// lackOf is why a run could not begin; nil: it could.
func lackOf(survey []agents.Surveyed) error {
	var problems []string
	usable, needed := false, false
	for _, s := range survey {
		usable, needed = usable || s.Usable(), needed || s.Needed
		if s.Needed && !s.Usable() {
			problems = append(problems, s.Problem)
		}
	}
	switch {
	case len(problems) > 0:
		return &exitcode.AgentError{Why: strings.Join(problems, "; ")}
	case !needed && !usable:
		return &exitcode.AgentError{Why: "no agent can be used here"}
	}
	return nil
}

func printAgent(s agents.Surveyed) error {
	name, state := term.Sprintf("%-9s", s.Agent), term.Green(os.Stdout, "ready")
	switch {
	case s.Found && !s.Usable() && s.Needed:
		state = term.Red(os.Stdout, "not ready, and the hank needs it")
	case !s.Usable() && s.Needed:
		state = term.Red(os.Stdout, "missing, and the hank needs it")
	case !s.Found:
		state = term.Sprintf("not here")
	case !s.Usable():
		state = term.Yellow(os.Stdout, "not ready")
	case s.Needed:
		state = term.Green(os.Stdout, "ready, and the hank needs it")
	}
	if err := say("%s %s\n", name, state); err != nil {
		return err
	}
	rows := [][2]string{{"program", s.Path}, {"version", s.Version}, {"uses", s.Credentials}}
	if s.Usable() {
		mode := s.Permission + ", which you have allowed"
		if !s.Allowed {
			mode = s.Permission + ": without a sandbox, hank run asks you once"
		}
		rows = append(rows, [2]string{"mode", mode})
	}
	rows = append(rows, [2]string{"problem", s.Problem}, [2]string{"note", s.Note})
	for _, r := range rows {
		if r[1] == "" {
			continue
		}
		if err := say("  %-9s %s\n", r[0], fmt.Sprint(r[1])); err != nil {
			return err
		}
	}
	return nil
}
