// Package opening opens, creates and imports executions for the commands.
//
// Whichever command is the first after a crash closes the run that was left, and its record
// is final then. So every opening has what that takes: the processes of the attempt are ended,
// what its transcript shows that the agent has used is recorded, and no secret of the
// environment or of the hank is written. Nobody else in the program calls the openings of package recovery;
// a test checks that. What an opening repairs is recovery's.
package opening

import (
	"context"
	"os"

	"hank/checkpoint/remote"
	"hank/internal/secret"
	"hank/plan"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/runtime/agents"
	"hank/runtime/history/moveevent"
	"hank/runtime/keeper"
)

// Open is recovery.Open. Where it has finished a move back that a crash had interrupted, the
// journal says that it is complete.
func Open(ctx context.Context, root string, o execution.Options) (*execution.Execution, error) {
	x, err := recovery.Open(ctx, root, complete(o))
	if err == nil && x.Finished {
		moveevent.NoteFinished(x)
	}
	return x, err
}

// Create is recovery.Create.
func Create(ctx context.Context, root string, o recovery.CreateOptions) (*execution.Execution, error) {
	o.Options = complete(o.Options)
	return recovery.Create(ctx, root, o)
}

// Import is recovery.Import.
func Import(ctx context.Context, root string, from remote.Remote, o execution.Options) (*execution.Execution, *remote.Transfer, error) {
	return recovery.Import(ctx, root, from, complete(o))
}

// complete sets what no command may leave out. A run, which learns of more secrets while it
// works, has a mask of its own.
func complete(o execution.Options) execution.Options {
	o.Reap, o.Unrecorded = keeper.ReapNames, agents.Unrecorded
	if o.Mask == nil {
		secrets := &secret.Values{}
		secrets.Add(os.Environ())
		o.Mask, o.Learn = secrets.Text, Learn(secrets)
	}
	return o
}

// Learn adds the secrets of a program to others.
func Learn(secrets *secret.Values) func(load func() (*plan.Program, error)) {
	return func(load func() (*plan.Program, error)) {
		if p, err := load(); err == nil { // what is lost is said where it is needed
			AddSecrets(secrets, p)
		}
	}
}

// AddSecrets adds the secrets that a program gives its codons in env.
func AddSecrets(secrets *secret.Values, p *plan.Program) {
	agents.EachCodon(p, func(c *plan.Codon) { secrets.Add(agents.WithEnv(nil, c.Env)) })
}
