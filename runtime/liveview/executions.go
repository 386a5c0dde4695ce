package liveview

import (
	"cmp"
	"slices"
	"time"

	"hank/internal/registry"
	"hank/internal/vfs"
	"hank/recovery"
	"hank/recovery/layout"
	"hank/runtime/report"
	"hank/state/journal"
)

// List is the executions of the user. It reads again only those whose files have changed.
type List struct {
	settings report.Settings
	known    map[string]entry // by directory
}

// entry is an execution as it was last read.
type entry struct {
	mark   mark
	status *report.Status // nil: it cannot be read
}

// mark tells whether an execution has changed since it was read.
type mark struct {
	journal, state vfs.Identity
	holder         string
}

// Executions are those of a list, the ones that need a person first.
type Executions struct {
	Rows []Execution
	At   time.Time // when the files were read
	// Unread counts those that are in the list of this machine and cannot be read.
	Unread int
}

// Execution is an execution of a list.
type Execution struct {
	*report.Status
	Need *Need
}

// NewList is a list that has read nothing.
func NewList(in report.Settings) *List { return &List{settings: in, known: map[string]entry{}} }

// Read reads the executions that have changed.
func (l *List) Read() (*Executions, error) {
	entries, err := registry.List()
	if err != nil {
		return nil, err
	}
	out, seen := &Executions{At: time.Now().UTC()}, map[string]entry{}
	for _, e := range entries {
		was, known := l.known[e.Root]
		if now := markOf(layout.Layout{Root: e.Root}); !known || was.mark != now || isMoving(was.status) {
			was = entry{now, l.read(e)}
		}
		if seen[e.Root] = was; was.status == nil {
			out.Unread++
			continue
		}
		s := *was.status
		s.LastUsed = e.LastUsed
		row := Execution{&s, NeedOf(&s)}
		if layout.SetAside(vfs.OS, e.Root) { // who has done so has decided
			row.Need = nil
		}
		out.Rows = append(out.Rows, row)
	}
	l.known = seen
	sortRows(out.Rows)
	return out, nil
}

// read reads an execution; nil: it cannot be read, or is another one.
func (l *List) read(e registry.Entry) *report.Status {
	v, err := recovery.ReadKnown(e.Root)
	if err != nil || v.State.Lineage != e.Lineage {
		return nil
	}
	s := report.StatusOf(v, v.Weigh(), l.settings, report.OptionFor(e.Root))
	return &s
}

// isMoving reports whether a status may change though no file that a mark looks at does: with
// what an agent writes, and with the clock.
func isMoving(s *report.Status) bool {
	return s != nil && (!isOver(s.Verdict) || s.Gate != nil && s.Gate.Expires != nil || s.Waiting != nil)
}

func markOf(l layout.Layout) (m mark) {
	m.journal, _ = vfs.Identify(vfs.OS, journal.Current(l.Events()))
	m.state, _ = vfs.Identify(vfs.OS, l.State())
	m.holder, _ = holderOf(l)
	return m
}

// sortRows puts those first that need a person, the more urgent ones before, then those in
// progress, then the others; of each kind the last used first.
func sortRows(rows []Execution) {
	slices.SortStableFunc(rows, func(a, b Execution) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), b.LastUsed.Compare(a.LastUsed), cmp.Compare(a.Status.Execution, b.Status.Execution))
	})
}

func rank(e Execution) int {
	switch {
	case e.Need != nil:
		return int(e.Need.Reason)
	case e.Live:
		return int(Silent) + 1
	}
	return int(Silent) + 2
}
