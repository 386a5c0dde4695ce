package history

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hank/checkpoint"
	"hank/checkpoint/diff"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/runtime/exitcode"
	"hank/state"
)

// Choice is a target near to where the execution is.
type Choice struct {
	Target
	Name string // what names it from there: @~2
	Time state.Time
	// What going there would do, if it was asked for. Absent: it has not what is to be
	// restored; Refused: why it cannot be gone to.
	Add, Change, Delete int
	CostLeft            state.USD
	Absent              bool
	Refused             error
	Uncompared          bool // it would take too long to find out
}

// Choices lists where the user may want to go back to: where the execution is, and the
// steps back from there, the nearest first, but at most so many, and the initial checkpoint.
// It tells what going there would change, if compare is set, and changes nothing itself.
func Choices(ctx context.Context, o RollbackOptions, most int, compare bool) (list []Choice, err error) {
	if !compare {
		err = o.lookingUp(func(s *state.State, store *checkpoint.Store) error {
			list, err = choicesOf(s, store, most)
			return err
		})
		return list, err
	}
	err = o.reading(ctx, func(_ *recovery.View, src execution.Sources) error {
		if list, err = choicesOf(src.State, src.Store, most); err != nil {
			return err
		}
		o.since = time.Now() // one look at the workspace does for all of them
		for i := range list {
			o.weigh(ctx, src, &list[i], list[0].SHA)
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		return nil
	})
	return list, err
}

// The user waits: what takes longer, or differs in more files, is not compared.
const (
	longestWait = 2 * time.Second
	mostChanges = 10_000
)

// weigh finds out what going to a choice would do.
func (o *RollbackOptions) weigh(ctx context.Context, src execution.Sources, c *Choice, here state.SHA) {
	if c.Uncompared = time.Since(o.since) > longestWait || differMuch(src.Store, here, c.SHA); c.Uncompared {
		return
	}
	p, err := o.preview(ctx, src, c.Target, o.move(src, c.Target))
	var usage *exitcode.UsageError
	switch {
	case errors.As(err, &usage): // a path that it has not
		c.Absent = true
	case err != nil:
		c.Refused = err
	default:
		c.Add, c.Change, c.Delete, c.CostLeft = len(p.Add)+len(p.MakeDirs), len(p.Change), len(p.Delete)+len(p.RemoveDirs), p.CostLeft
	}
}

func differMuch(store *checkpoint.Store, a, b state.SHA) bool {
	from, err := TreeOf(store, a)
	to, toErr := TreeOf(store, b)
	if err != nil || toErr != nil {
		return false // the preview reports it
	}
	changes, err := diff.Diff(store, from, to)
	return err == nil && len(changes) > mostChanges
}

// Changes is what going to a choice would change, in few columns.
func (c *Choice) Changes() string {
	switch {
	case c.Absent:
		return "not there"
	case c.Uncompared:
		return "not compared"
	case c.Refused != nil:
		return "not possible"
	case c.Add+c.Change+c.Delete == 0:
		return "no changes"
	}
	return fmt.Sprintf("+%d ~%d -%d", c.Add, c.Change, c.Delete)
}

func choicesOf(s *state.State, store Resolver, most int) ([]Choice, error) {
	here, err := present(s, store)
	if err != nil {
		return nil, noneYet()
	}
	var list []Choice
	all := append([]Target{here}, earlierOf(s, store, here)...)
	for i, t := range all {
		if i >= most && i < len(all)-1 {
			continue
		}
		c := Choice{Target: t, Name: fmt.Sprintf("%s~%d", atPresent, i)}
		if i == 0 {
			c.Name = atPresent
		}
		if info, err := store.CommitInfo(checkpoint.SHA(t.SHA)); err == nil {
			c.Time = Describe(info).Time
		} else if i > 0 { // lost, or removed
			continue
		}
		list = append(list, c)
	}
	return list, nil
}
