package eventlog

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hank/internal/vfs"
	"hank/recovery"
	"hank/recovery/hankweave"
	"hank/state"
	"hank/state/journal"
)

// Query selects events of a journal. What is empty selects all.
type Query struct {
	Limit      int // 0: no limit
	Before     uint64
	Since      time.Time
	Types      []string // of events, or of transitions, or names, see CheckTypes
	Codon, Run string
	// Text leaves out the events that say what a transition says, and takes their types
	// for its name.
	Text bool
}

// Sink gets the events that a query selects, in order, and what is wrong with
// the journal.
type Sink struct {
	Event  func(Event) error
	Damage func(why string)
}

// Event is an event of the journal.
type Event struct {
	Schema    int            `json:"schema"`
	Seq       uint64         `json:"seq"`
	ID        string         `json:"id"`
	Timestamp state.Time     `json:"timestamp"`
	Type      string         `json:"type"`
	Data      jsontext.Value `json:"data"`
}

// followEvery is how often a journal that is followed is looked at.
const followEvery = 200 * time.Millisecond

// scope is what filters look at in an event's data.
type scope struct {
	TransitionType string `json:"transitionType"`
	RunID          string `json:"runId"`
	CodonID        string `json:"codonId"`
	Transition     struct {
		Data struct {
			Record struct {
				Status   state.CodonStatus `json:"status"`
				Settling *struct{}         `json:"settling"`
			} `json:"record"`
			Reason state.EndReason `json:"reason"`
			Waits  bool            `json:"waits"`
		} `json:"data"`
	} `json:"transition"`
}

func scopeOf(data jsontext.Value) scope {
	var s scope
	_ = json.Unmarshal(data, &s) // data of another shape has no scope
	return s
}

// Read reads the events of an execution that a query selects.
func Read(v *recovery.View, q Query, to Sink) error {
	r := eventReader{Query: q, Sink: to, foreign: v.ForeignJournal}
	return r.readAll(v)
}

// Follow is Read, and then waits for more until the context ends. It reads the journal and asks
// no run, so that a run does nothing for those who follow it.
func Follow(ctx context.Context, v *recovery.View, q Query, to Sink) error {
	r := eventReader{Query: q, Sink: to, foreign: v.ForeignJournal}
	if err := r.readAll(v); err != nil || v.ForeignJournal {
		return err
	}
	r.Limit = 0
	for {
		err := journal.Follow(ctx, vfs.OS, v.Layout.Events(), r.last+1, followEvery, r.take)
		next, ok := r.after(err)
		if !ok {
			return err
		}
		r.last = next - 1
	}
}

// eventReader passes on the events that a query selects.
type eventReader struct {
	Query
	Sink

	kept []journal.Event // the last ones, as far as there is a limit
	last uint64

	foreign bool // the journal is Hankweave's, which has no transitions of codons
}

func (r *eventReader) readAll(v *recovery.View) error {
	read := func() error { return r.readThrough(v.Layout.Events(), v.State.Seq) }
	if v.ForeignJournal {
		read = func() error { return r.readForeign(v) }
	}
	if err := read(); err != nil {
		return err
	}
	if behind := v.Report.Behind; behind != "" && r.last > 0 {
		r.Damage(behind + "; see: `hank doctor`")
	}
	for _, e := range r.kept {
		if err := r.pass(e); err != nil {
			return err
		}
	}
	return nil
}

// readThrough reads the whole journal, past damage, which it reports. Where there is
// none there is nothing to read; known is the last event that the state knows.
func (r *eventReader) readThrough(dir string, known uint64) error {
	for from := uint64(1); ; {
		err := journal.Read(vfs.OS, dir, from, r.take)
		next, ok := r.after(err)
		switch {
		case errors.Is(err, os.ErrNotExist) && r.last == 0:
			if known > 0 {
				r.Damage("the journal " + dir + " is missing; see: `hank doctor`")
			}
			return nil
		case err == nil && r.last == 0 && known > 0:
			r.Damage("the journal " + dir + " has no event any more; see: `hank doctor`")
			return nil
		case !ok || next <= from && from > 1:
			return err
		}
		from = next
	}
}

// readForeign reads the journal of an execution that hank has not continued yet.
func (r *eventReader) readForeign(v *recovery.View) error {
	return v.ReadForeignEvents(func(line uint64, e hankweave.ForeignEvent) error {
		return r.take(journal.Event{Seq: line, ID: e.ID, Timestamp: e.Timestamp.Time, Type: e.Type, Data: e.Data})
	})
}

// after is where the journal continues after damage, which it reports.
func (r *eventReader) after(err error) (next uint64, ok bool) {
	var gap *journal.GapError
	if !errors.As(err, &gap) || gap.Next == 0 {
		return 0, false
	}
	r.Damage(gap.Error())
	return gap.Next, true
}

func (r *eventReader) take(e journal.Event) error {
	r.last = max(r.last, e.Seq)
	switch {
	case !r.wants(e):
		return nil
	case r.Limit <= 0:
		return r.pass(e)
	}
	if r.kept = append(r.kept, e); len(r.kept) > r.Limit {
		r.kept = r.kept[1:]
	}
	return nil
}

func (r *eventReader) pass(e journal.Event) error {
	return r.Event(Of(e))
}

func (r *eventReader) wants(e journal.Event) bool {
	if r.Before > 0 && e.Seq >= r.Before || e.Timestamp.Before(r.Since) || r.Text && !r.foreign && slices.Contains(repeating, e.Type) {
		return false
	}
	if r.Codon == "" && r.Run == "" && len(r.Types) == 0 {
		return true
	}
	about := scopeOf(e.Data)
	return (r.Codon == "" || r.Codon == about.CodonID) && (r.Run == "" || r.Run == about.RunID) && (len(r.Types) == 0 || r.wantsType(e.Type, about))
}

func (r *eventReader) wantsType(of string, about scope) bool {
	if about.TransitionType == "" {
		return slices.Contains(r.Types, of)
	}
	name := about.name()
	return slices.Contains(r.Types, of) || slices.Contains(r.Types, about.TransitionType) ||
		slices.Contains(r.Types, name) && (r.Text || r.foreign || !slices.Contains(repeating, name))
}

// Of is an event of the journal as it is printed.
func Of(e journal.Event) Event { return Event{1, e.Seq, e.ID, state.At(e.Timestamp), e.Type, e.Data} }
