package output

import (
	"errors"

	"hank/internal/advice"
	"hank/internal/secret"
	"hank/plan/diagnostic"
	"hank/recovery/finding"
	"hank/runtime/exitcode"
	"hank/runtime/verdict"
)

// Failure is what a command prints that ends with an exit code other than 0 and has
// nothing else to print.
type Failure struct {
	Schema int      `json:"schema"`
	Error  *Problem `json:"error"`
}

// FailureLine is a Failure that ends a stream of hank run --progress json.
type FailureLine struct {
	Schema int      `json:"schema"`
	Type   string   `json:"type"` // error
	Error  *Problem `json:"error"`
}

// Problem is why a command ends with an exit code other than 0.
type Problem struct {
	Kind        Kind                    `json:"kind"`        // one word for each exit code
	Code        string                  `json:"code"`        // a finer word; more may come
	ExitCode    exitcode.Code           `json:"exitCode"`    // of the command
	Message     string                  `json:"message"`     // what standard error says
	NextCommand *string                 `json:"nextCommand"` // the command that settles it
	Options     []string                `json:"options"`     // what the user can choose from, where a decision is needed
	Diagnostics []diagnostic.Diagnostic `json:"diagnostics"` // of a hank or of settings that are invalid
}

// Kind says in a word what an exit code means.
type Kind string

// The kinds, by their exit codes.
var kinds = map[exitcode.Code]Kind{
	exitcode.Failed: "failed", exitcode.Usage: "usage", exitcode.Invalid: "invalid", exitcode.Decision: "decision", exitcode.Held: "locked",
	exitcode.Budget: "budget", exitcode.Waiting: "waiting", exitcode.Stopped: "stopped", exitcode.Agent: "agent",
	exitcode.Internal: "bug", exitcode.IO: "io",
	exitcode.Hangup: "signal", exitcode.Interrupted: "signal", exitcode.Quit: "signal", exitcode.Terminated: "signal",
}

// ProblemOf is an error as it is printed; nil for none. The commands have the option,
// " -e DIR", with which they find the execution.
func ProblemOf(err error, option string) *Problem {
	if err == nil {
		return nil
	}
	code, word := verdict.Class(err)
	p := atExit(code, word, verdict.Sentence(err))
	p.explain(err, option)
	return p
}

// explain adds what an error has beside its sentence.
func (p *Problem) explain(err error, option string) {
	var decision *finding.DecisionError
	if errors.As(err, &decision) {
		if decision.Command != "" && len(decision.Choices()) == 0 {
			p.NextCommand = null(advice.Command(decision.Command, option))
		}
		for _, choice := range decision.Options {
			p.Options = append(p.Options, secret.Text(advice.Render(choice, option)))
		}
	}
	var invalid *exitcode.InvalidError
	if errors.As(err, &invalid) {
		for _, d := range invalid.Diagnostics {
			d.Message = secret.Text(d.Message)
			p.Diagnostics = append(p.Diagnostics, d)
		}
	}
}

// atExit is the reason for an exit code where no error is; nil for that of success. An
// empty word is that of the kind.
func atExit(code exitcode.Code, word, message string) *Problem {
	if code == exitcode.Done {
		return nil
	}
	kind, known := kinds[code]
	if !known {
		kind = "signal" // of a kind that hank does not take
	}
	if word == "" {
		word = string(kind)
	}
	return &Problem{Kind: kind, Code: word, ExitCode: code, Message: message}
}
