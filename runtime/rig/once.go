package rig

import (
	"context"

	"hank/plan"
	"hank/runtime/keeper"
)

// Once is one command that is neither of a rig nor a check of outputs, and runs as they do.
type Once struct {
	Workspace string // absolute; where it runs
	Command   plan.Command
	CodonID   plan.CodonID
	Environ   []string
	Attempt   string
	Writable  []string // nil is anything
	Start     starter  // nil is the keeper
	Note      func(eventType string, data any)
	Killed    func(keeper.Exit)
}

// Run returns nil if the command ended with code 0. All that it started is dead then, but
// for what an AliveError names.
func (o Once) Run(ctx context.Context) *Failure {
	c := commander{
		environ: o.Environ, workspace: o.Workspace, attempt: o.Attempt, writable: o.Writable, start: o.Start, killed: o.Killed, every: sampleEvery,
		emit: func(index int, s sample) { o.Note("rig.output", rigOutput{o.CodonID, s.Stream, s.Line, index}) },
	}
	return c.run(ctx, 0, o.Command, o.Workspace)
}

// Final reports that hank, the machine, or a request has ended the command, and not the
// command itself.
func (f *Failure) Final() bool { return f.final() }
