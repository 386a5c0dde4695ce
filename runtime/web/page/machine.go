package page

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"hank/internal/advice"
	"hank/internal/shell"
	"hank/internal/term"
	"hank/runtime/liveview"
	"hank/runtime/report/output"
)

// machine is what a page about all executions shows.
type machine struct {
	Title  string
	Tab    string
	At     time.Time
	Rows   []row
	Needs  int // how many need a person
	Unread int
	More   int // how many are left out
}

// row is an execution in a list.
type row struct {
	liveview.Execution
	ID   string
	Used string // when it was last heard of in a run, or else used
	todo
}

// todo is what a person can do for an execution that needs one.
type todo struct {
	Next, Before string // the command that continues, and what must be done first
	EndsWait     string // the command that ends its wait for a provider; empty: it does not wait in a run
	Decisions    []output.Decision
}

func todoOf(e liveview.Execution) (t todo) {
	t.Decisions = output.StatusOf(e.Status).Decisions
	if e.Need != nil {
		t.Next = e.Need.Command
	}
	if first, is := strings.CutPrefix(t.Next, e.Status.Command); is && e.Status.Command != "" {
		t.Next, t.Before = e.Status.Command, first
	}
	if e.Live && e.Waiting != nil {
		t.EndsWait = advice.Render("`hank run --now`", " -e "+shell.Quote(e.Status.Execution))
	}
	return t
}

// mostListed is how many executions a list has: those that need a person, and the newest.
const mostListed = 200

// ofMachine makes the pages about all executions.
func (p *Pages) ofMachine(out *bytes.Buffer, at Place) ([]byte, error) {
	list, err := p.open.executions()
	if err != nil {
		return nil, err
	}
	m := machine{At: list.At, Unread: list.Unread}
	for _, e := range list.Rows {
		if e.Need != nil {
			m.Needs++
		}
		r := row{Execution: e, ID: nameOf(e.Status.Execution), Used: "used " + term.Age(e.LastUsed, m.At), todo: todoOf(e)}
		if e.LastEvent != nil && (e.Live || e.LastEvent.After(e.LastUsed)) {
			r.Used = "last event " + term.Age(*e.LastEvent, m.At)
		}
		m.Rows = append(m.Rows, r)
	}
	name := "executions"
	switch at.Path {
	case "/":
		m.Title = "Executions"
	case "/needs":
		name, m.Tab, m.Title = "needs", "needs", "What needs you"
		m.Rows = slices.DeleteFunc(m.Rows, func(r row) bool { return r.Need == nil })
	default:
		return nil, fmt.Errorf("%w: %s", ErrNoPlace, at.Path)
	}
	if m.More = len(m.Rows) - mostListed; m.More > 0 {
		m.Rows = m.Rows[:mostListed]
	}
	err = p.printer.print(out, name, m)
	return out.Bytes(), err
}
