// Package noop is the harness that does nothing: every codon ends at once and well,
// whatever its model, with nothing printed, changed or paid. It shows how a program goes
// through its plan where its agents are not there.
//
// The process is that of a script that is empty, so that a codon that does nothing goes
// through keeper, transcript and checkpoint like any other. Where a codon or its loop waits
// for a full context, which nothing would fill, Full says that it is.
//
// Its name is in the record of each attempt: such a codon counts as one that did not run.
package noop

import (
	"context"

	"hank/runtime/harness"
	"hank/runtime/harness/shell"
	"hank/state"
)

// Harness does nothing.
type Harness struct {
	Full bool // the context window counts as full
}

var _ harness.Harness = Harness{}

// Name implements harness.Harness.
func (Harness) Name() string { return state.HarnessNoop }

// Command implements harness.Harness. The prompt is not used.
func (h Harness) Command(req harness.Request) (harness.Command, error) {
	req.Prompt = ":"
	if h.Full {
		req.Prompt = "echo '::hank context-exceeded noop'"
	}
	return shell.Harness{}.Command(req)
}

// Reader implements harness.Harness.
func (Harness) Reader(req harness.Request) harness.Reader { return shell.Harness{}.Reader(req) }

// Check implements harness.Harness.
func (Harness) Check(ctx context.Context, env []string) harness.Check {
	return shell.Harness{}.Check(ctx, env)
}

// LoginFiles implements harness.Harness. Nothing is written.
func (Harness) LoginFiles([]string) []string { return nil }

// Permission implements harness.Harness. It does nothing.
func (Harness) Permission() string { return "" }
