package execution

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"hank/internal/term"
	"hank/recovery/finding"
	"hank/recovery/layout"
)

// DefaultCap is how many bytes an execution may come to (layout.Weight) where nobody has said otherwise.
const DefaultCap = 50e9

// maxReserve is what is left free on a disk for the journal and whatever else must still be
// written when there is no room for checkpoints; on a small disk it is a fiftieth of it.
const maxReserve = 1e9

// Cap is how many bytes checkpoints and what agents keep may come to; 0 is any number.
func Cap(m layout.Meta) int64 {
	if m.CheckpointCap == nil {
		return DefaultCap
	}
	return *m.CheckpointCap
}

// cap is how many bytes the checkpoints may come to while this opening lasts.
func (x *Execution) cap() int64 {
	m := x.Metadata
	m.CheckpointCap = cmp.Or(x.Opts.CheckpointCap, m.CheckpointCap)
	return Cap(m)
}

// KeepCap makes the cap of this opening the one of the execution. The opening does
// not do so itself: the command may be refused, or end with a question.
func (x *Execution) KeepCap() error {
	if x.Opts.CheckpointCap == nil {
		return nil
	}
	return x.SetMeta(func(m *layout.Meta) { m.CheckpointCap = x.Opts.CheckpointCap })
}

// setCap makes a cap the one of the execution; nil is none of its own.
func (x *Execution) setCap(bytes *int64) error {
	if x.Metadata.CheckpointCap == bytes {
		return nil
	}
	return x.SetMeta(func(m *layout.Meta) { m.CheckpointCap = bytes })
}

// CheckRoom returns a *DecisionError if there is no room for another checkpoint.
func (x *Execution) CheckRoom() error {
	if left, full := x.room(); left <= 0 {
		return full
	}
	return nil
}

// room is how many bytes the next checkpoint may take, and what is to be said if
// it needs more.
func (x *Execution) room() (left int64, full *finding.DecisionError) {
	left = math.MaxInt64
	if most := x.cap(); most > 0 {
		have := layout.Weight{Bytes: x.Store.PackBytes(), Cap: most}
		have.Agents = x.agents.Bytes(x.Layout, have.Left())
		left, full = have.Left(), &finding.DecisionError{
			What:   fmt.Sprintf("%s, and the next checkpoint does not fit into the limit of %s", have.Text(), term.Bytes(most)),
			NoRoom: true,
			Options: []string{
				raiseCap,
				deleteOld,
			},
		}
	}
	free, total, err := x.Opts.Free(x.Layout.Hankweave())
	if err != nil || total <= 0 {
		return left, full // who cannot tell runs into the end of the disk
	}
	reserve := min(total/50, maxReserve)
	if spare := free - reserve; spare < left {
		left, full = spare, &finding.DecisionError{
			What:   fmt.Sprintf("the disk of %s has %s free, and the next checkpoint does not fit: hank keeps %s in reserve for its journal", x.Layout.Root, term.Bytes(free), term.Bytes(reserve)),
			NoRoom: true,
			Options: []string{
				"free disk space and run the same command again",
				deleteOld,
			},
		}
	}
	return left, full
}

// What can be done where there is no room.
const (
	raiseCap  = "`hank run --checkpoint-cap SIZE` continues with another limit (0: none)"
	deleteOld = "`hank gc --older-than 0s` lists what can be deleted, --apply deletes it"
)

// forMove says what no room means for a move of the workspace.
func forMove(kind string, err error) error {
	var full *finding.DecisionError
	if err = ForAnyCommand(err); !errors.As(err, &full) || !full.NoRoom {
		return err
	}
	said := *full
	said.What = fmt.Sprintf("nothing was touched: what the workspace holds goes into a checkpoint before %s, and there is no room for what is new in it: %s", finding.WithArticle(kind), full.What)
	return &said
}

// ForAnyCommand names what to do where another command than hank run has found
// that there is no room.
func ForAnyCommand(err error) error {
	var full *finding.DecisionError
	if !errors.As(err, &full) || !full.NoRoom {
		return err
	}
	said := *full
	said.Options = slices.Clone(full.Options)
	if i := slices.Index(said.Options, raiseCap); i >= 0 {
		said.Options[i] = "the same command with --checkpoint-cap SIZE raises the limit (0: none)"
	}
	return &said
}
