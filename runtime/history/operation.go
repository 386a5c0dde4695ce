package history

import (
	"context"
	"errors"
	"time"

	"hank/internal/failpoint"
	"hank/plan/config"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/recovery/layout"
	"hank/runtime/exitcode"
	"hank/runtime/history/moveevent"
	"hank/runtime/opening"
	"hank/runtime/operation"
	"hank/state"
)

// repeated is a move that was made for the same operation; nil: it is to be made. The
// standing says how far it is.
func (o *RollbackOptions) repeated(s *state.State) (*RolledBack, operation.Standing, error) {
	standing, known, err := operation.Look(s, o.Operation)
	if err != nil || standing != operation.Answered && standing != operation.Moved {
		return nil, standing, err
	}
	return &RolledBack{Repeats: known, Safety: known.Safety}, standing, nil
}

// before looks whether the operation is over, without a lock. An interrupted move of
// its own is finished by the opening, also where it is an undo, which would undo it.
func (o *RollbackOptions) before(root string) (done *RolledBack, finish bool, err error) {
	if o.Operation == nil || !layout.Exists(root) {
		return nil, false, nil
	}
	v, err := recovery.Read(root)
	if err != nil {
		return nil, false, nil // the opening says what is wrong
	}
	done, standing, err := o.repeated(v.State)
	return done, standing == operation.Moving, err
}

// Repeated is the move of an operation that is over, as a reader finds it; nil: it is to
// be made. It takes no lock.
func Repeated(o RollbackOptions) (*RolledBack, error) {
	root, err := Locate(o.Execution)
	if err != nil {
		return nil, err
	}
	done, _, err := o.before(root)
	return done, err
}

// asOperation is the operation as the intent of its move has it: with what will have to
// be answered if nobody comes to record more.
func (o *RollbackOptions) asOperation(preview *Preview) (*state.Operation, error) {
	if o.Operation == nil {
		return nil, nil
	}
	t, err := operation.Answer(*o.Operation, exitcode.Done, o.Answer(&RolledBack{Preview: *preview}))
	t.Operation.Answered = false
	return &t.Operation, err
}

// KeepAnswer records what the operation of a move was answered, so that it is answered
// the same again. known: another command of the same operation has recorded its own. Of a
// repeated command the move may have been finished by another opening, which died before it
// said in an event that it is complete.
func KeepAnswer(ctx context.Context, o RollbackOptions, repeats bool, answer any) (known *state.Operation, err error) {
	root, err := Locate(o.Execution)
	if err != nil || o.Operation == nil {
		return nil, err
	}
	failpoint.Hit("operation.answered")
	t, err := operation.Answer(*o.Operation, exitcode.Done, answer)
	if err != nil {
		return nil, err
	}
	x, err := opening.Open(ctx, root, execution.Options{Command: "hank " + o.kind(), BreakLock: o.BreakLock})
	if err != nil {
		return nil, err
	}
	if known, _ = x.State().Operation(o.Operation.ID); known != nil {
		if known.Answered {
			return known, x.Close()
		}
		t.Operation.Safety, t.Operation.Time = known.Safety, known.Time
	}
	if repeats && len(o.Paths) == 0 {
		moveevent.NoteFinished(x)
	}
	return nil, errors.Join(x.Record(t), x.Close())
}

// Identify gives what is asked for an operation ID; an empty one gives it none.
func Identify(o *RollbackOptions, id string, now time.Time) (err error) {
	o.Operation, err = operation.Of(id, o.kind(), struct {
		To     string      `json:",omitzero"`
		Paths  []string    `json:",omitempty"`
		Delete bool        `json:",omitzero"`
		Cap    config.Size `json:",omitzero"`
	}{o.To, o.Paths, o.Delete, o.CheckpointCap}, now)
	return err
}
