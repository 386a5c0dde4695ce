package liveview

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"hank/internal/proc"
	"hank/internal/vfs"
	"hank/recovery"
	"hank/recovery/layout"
	"hank/recovery/lock"
	"hank/runtime/outlook"
	"hank/runtime/report"
	"hank/runtime/verdict"
	"hank/runtime/why"
	"hank/state"
	"hank/state/journal"
)

// Every is how often a viewer that is looked at looks at the files.
const Every = 200 * time.Millisecond

// Rest is how long a viewer waits after a look that took so long: twenty times as long, so that
// its looks take a twentieth of a processor at most, but never more than three seconds. At
// thousands of codons, a look takes longer than the time between two.
func Rest(took time.Duration) time.Duration { return min(20*took, 3*time.Second) }

// holderEvery is how often the process that holds an execution is looked for.
const holderEvery = time.Second

// judgeEvery is how often what a status says of a run in progress is read again where no
// transition has asked for it: what the agent last said.
const judgeEvery = 2 * time.Second

// weighEvery is how often it is looked how much checkpoints and transcripts of a run in progress
// take: at each transcript.
const weighEvery = 10 * time.Second

// Follower keeps the view of an execution up to date.
type Follower struct {
	root, option string
	settings     report.Settings
	view         *View
	tail         *journal.Tail
	mark         mark      // of the files as they were read
	looked       time.Time // for another mark
	judged       time.Time // when the status was last read
	weight       layout.Weight
	weighed      time.Time // when weight was last looked for
	moves        []why.Move
	moved        *journal.Tail // what of the journal is not in moves; nil: all
}

// Open reads an execution. The commands in it have the option, see report.ReadStatus.
func Open(ctx context.Context, root string, in report.Settings, option string) (*Follower, error) {
	f := &Follower{root: root, option: option, settings: in}
	return f, f.read(ctx)
}

// View is the execution as it was last seen.
func (f *Follower) View() *View { return f.view }

// Moves are those that the journal tells of, as far as it can be read. The first call reads all
// of it.
func (f *Follower) Moves() []why.Move {
	if f.moved == nil {
		f.moves, f.moved = nil, journal.NewTail(vfs.OS, f.view.base.Layout.Events(), 1, why.MayMove)
	}
	_ = f.moved.Next(func(e journal.Event) error {
		if m, moved := why.MoveOf(e); moved {
			f.moves = append(f.moves, m)
		}
		return nil
	})
	return f.moves
}

// read reads the execution from the beginning.
func (f *Follower) read(ctx context.Context) error {
	now := time.Now()
	l := layout.Layout{Root: f.root}
	before := markOf(l)
	if _, err := os.Stat(filepath.Dir(l.State())); err != nil {
		return fmt.Errorf("there is no execution in %s any more", f.root)
	}
	v, err := recovery.ReadKnown(f.root)
	if err != nil {
		return err
	}
	f.mark, f.looked, f.moved = before, now, nil
	f.view = of(v, now.UTC(), f.option)
	if last, known := lastEvent(v.Layout.Events()); known && !v.Live { // the state may be what the next opening makes of it
		f.view.Seq = min(f.view.Seq, last)
	}
	if f.tail = v.Journal.Tail(vfs.OS, v.Layout.Events(), f.view.Seq+1); v.ForeignJournal {
		f.tail = nil
	}
	err = f.judge(ctx, v)
	if err != nil {
		f.mark = mark{holder: "?"} // it is read again
	}
	return err
}

// lastEvent is the number of the last event of a journal, as its last line has it; false if
// that cannot be read.
func lastEvent(dir string) (seq uint64, known bool) {
	path := journal.Current(dir)
	fi, err := os.Lstat(path)
	if err != nil || !fi.Mode().IsRegular() { // a FIFO would not be opened before somebody writes to it
		return 0, false
	}
	f, err := os.Open(path)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	for width := int64(8 << 10); ; width *= 8 {
		from := max(0, fi.Size()-width)
		end, err := io.ReadAll(io.NewSectionReader(f, from, fi.Size()-from))
		if err != nil {
			return 0, false
		}
		end = end[:max(0, bytes.LastIndexByte(end, '\n'))] // what follows it is being written
		begin := bytes.LastIndexByte(end, '\n') + 1
		if from > 0 && begin == 0 {
			continue // the line is longer
		}
		_, err = fmt.Sscanf(string(end[begin:min(len(end), begin+40)]), `{"seq":%d,`, &seq)
		return seq, err == nil
	}
}

// Poll looks at the files, and reports whether the view is another one than before.
func (f *Follower) Poll(ctx context.Context) (changed bool, err error) {
	before := f.view
	if now := time.Now(); now.Sub(f.looked) >= holderEvery {
		f.looked = now
		// A holder that ends takes its name away before its lock: who reads between the two
		// finds an execution in progress that nobody holds.
		now := markOf(f.view.base.Layout)
		_, holds := holderOf(f.view.base.Layout)
		switch {
		case now.holder != f.mark.holder, f.view.Live && !holds:
			return true, f.read(ctx)
		case !f.view.Live && now != f.mark: // damaged, deleted or replaced, too
			return true, f.read(ctx)
		}
	}
	judge, again, err := f.fold()
	switch {
	case again:
		return true, f.read(ctx)
	case err != nil:
		return false, err
	}
	f.hear()
	if judge || f.view.isDue(time.Now()) || f.view.Live && time.Since(f.judged) >= judgeEvery && f.view.Heard.After(f.judged) {
		return true, f.judge(ctx, nil)
	}
	return f.view != before, nil
}

// fold takes in the events that have come. judge: one of them changes what a status says;
// again: one of them takes a new reading.
func (f *Follower) fold() (judge, again bool, err error) {
	if f.tail == nil {
		return false, false, nil
	}
	errAgain := errors.New("it takes a new reading")
	err = f.tail.Next(func(e journal.Event) error {
		next, known := f.view.apply(e)
		if !known || e.Type == state.TransitionEvent && !f.view.Live {
			return errAgain
		}
		if e.Type == state.TransitionEvent && !isCost(e) {
			judge = true
		}
		f.view = next
		return nil
	})
	var gap *journal.GapError
	switch {
	case errors.Is(err, errAgain):
		return false, true, nil
	case errors.As(err, &gap):
		return false, true, nil
	}
	return judge, false, err
}

// isDue reports whether a status says something that the clock has ended: nobody has answered at
// a gate in time, or the wait for a provider of an execution at rest is over.
func (v *View) isDue(now time.Time) bool {
	s := v.Status
	return s.Gate != nil && s.Gate.Expires != nil && !now.Before(s.Gate.Expires.Time) || !v.Live && s.Waiting != nil && !now.Before(s.Waiting.Until.Time)
}

// isCost reports whether an event tells of nothing but money.
func isCost(e journal.Event) bool {
	t, err := state.Decode(e.Data)
	_, cost := t.(state.CostsUpdated)
	return err == nil && cost
}

// hear looks when the agent last wrote something.
func (f *Follower) hear() {
	path := f.view.Transcript(f.view.Running())
	if path == "" {
		return
	}
	if fi, err := os.Stat(path); err == nil && fi.ModTime().After(f.view.Heard) {
		next := *f.view
		next.Heard = fi.ModTime().UTC()
		f.view = &next
	}
}

// judge brings the status to the event of the view. read is what the files were found to be just
// now; nil: they are looked at where it takes that.
func (f *Follower) judge(ctx context.Context, read *recovery.View) error {
	f.judged = time.Now()
	next := *f.view
	switch {
	case !next.Live && read != nil:
		base := *read
		next.Status = report.StatusAt(ctx, &base, f.settings, f.option)
	case !next.Live:
		s, err := report.ReadStatus(ctx, f.root, f.settings, f.option)
		if err != nil {
			return err
		}
		next.Status = s
	default:
		base := *next.base
		if f.judged.Sub(f.weighed) >= weighEvery {
			f.weight, f.weighed = base.Weigh(), f.judged
		}
		s := report.StatusOf(&base, f.weight, f.settings, f.option)
		s.Forecast = outlook.Of(&base)
		next.Status = &s
	}
	if at := next.Status.LastEvent; at != nil && at.After(next.Heard) {
		next.Heard = *at
	}
	f.view = &next
	return nil
}

// holderOf is who holds an execution, as its files say: another text after each change, and
// whether there is somebody who may still hold it.
func holderOf(l layout.Layout) (who string, holds bool) {
	h, err := lock.ReadLock(vfs.OS, l.Lock())
	if err != nil {
		return "", false
	}
	alive, _ := h.Process.Check()
	return fmt.Sprintf("%d %s %s", h.PID, h.LockID, alive), alive != proc.Dead
}

// isOver reports whether a verdict is one of an execution that is not in progress.
func isOver(of verdict.Verdict) bool { return of != verdict.Running && of != verdict.Creating }
