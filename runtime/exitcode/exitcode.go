package exitcode

import (
	"fmt"
	"slices"
	"strings"

	"hank/plan/diagnostic"
)

// Code is the exit code of the command line. The codes are published and
// never change.
type Code int

// The exit codes, design.md section 10.
const (
	Done        Code = 0   // the hank is completed
	Failed      Code = 1   // a codon failed
	Usage       Code = 2   // the command line is wrong
	Invalid     Code = 3   // the hank or its configuration is invalid
	Decision    Code = 4   // needs the user's decision
	Held        Code = 5   // another runtime holds the execution or workspace
	Budget      Code = 6   // a budget stopped it
	Waiting     Code = 7   // waiting at a gate or held
	Stopped     Code = 8   // stopped on request with work left
	Agent       Code = 9   // an agent is missing or not logged in
	Internal    Code = 70  // a bug
	IO          Code = 74  // disk full or I/O error, work kept
	Hangup      Code = 129 // by a signal, with work left
	Interrupted Code = 130
	Quit        Code = 131
	Terminated  Code = 143
)

// UsageError is a wrong command line.
type UsageError struct{ Why string }

func (e *UsageError) Error() string { return e.Why }

// InvalidError is a hank that cannot be run.
type InvalidError struct{ Diagnostics []diagnostic.Diagnostic }

func (e *InvalidError) Error() string {
	for _, d := range e.Diagnostics {
		if d.Severity == diagnostic.Error {
			return fmt.Sprintf("invalid hank or settings: %s; see: hank validate", strings.NewReplacer("\n    ", " ", "\n", " ").Replace(d.String()))
		}
	}
	return "invalid hank; see: hank validate"
}

// Only reports whether a rule is all that makes it invalid.
func (e *InvalidError) Only(rule string) bool {
	others := func(d diagnostic.Diagnostic) bool { return d.Severity == diagnostic.Error && d.Rule != rule }
	return diagnostic.HasErrors(e.Diagnostics) && !slices.ContainsFunc(e.Diagnostics, others)
}

// AgentError is an agent that is missing or not logged in, or a requirement of
// the hank that this machine lacks.
type AgentError struct{ Why string }

func (e *AgentError) Error() string { return e.Why }
