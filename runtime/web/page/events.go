package page

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"hank/internal/advice"
	"hank/runtime/report/eventlog"
)

// eventsPage is a range of the journal.
type eventsPage struct {
	*execution
	Events []event
	Find   string
	Older  uint64 // the range before it ends before this; 0: there is none
	Newest bool   // the newest events are shown
	Looked int    // events that were searched, where that are not all
	Damage []string
}

// event is an event in words.
type event struct {
	eventlog.Event
	Name, Sentence string
}

// How many events a page has, and how many are searched for it at once.
const (
	perJournal   = 200
	mostSearched = 20_000
)

func (e *execution) events(q url.Values) (string, any, error) {
	page := eventsPage{execution: e, Find: q.Get("q")}
	before, _ := strconv.ParseUint(q.Get("before"), 10, 64)
	page.Newest = before == 0
	find := strings.ToLower(page.Find)
	take := func(v eventlog.Event) bool {
		return find == "" || strings.Contains(strings.ToLower(e.p.printer.mask(v.Name()+" "+v.Sentence(e.option))), find)
	}
	found, uneven, err := eventlog.ReadBack(e.view, e.p.open.file, eventlog.Back{Before: before, Take: take, Most: perJournal, Looks: mostSearched})
	if err != nil {
		return "", nil, err
	}
	if uneven {
		if found, err = page.readAll(before, take); err != nil {
			return "", nil, err
		}
	}
	if page.Older = found.Older; page.Older > 0 && find != "" && len(found.Events) < perJournal {
		page.Looked = found.Looked
	}
	for _, v := range found.Events {
		text := v.Sentence(e.option)
		if v.Name() == "tool.result" {
			text = strings.Replace(text, "⎿", "└", 1) // browsers have no letter for the sign of terminals
		}
		page.Events = append(page.Events, event{v, v.Name(), text})
	}
	return "events", page, nil
}

// readAll reads the whole journal, past damage, which it keeps.
func (p *eventsPage) readAll(before uint64, take func(eventlog.Event) bool) (found eventlog.Found, err error) {
	err = eventlog.Read(p.view, eventlog.Query{Before: before, Text: true}, eventlog.Sink{
		Event: func(v eventlog.Event) error {
			if !take(v) {
				return nil
			}
			if found.Events = append(found.Events, v); len(found.Events) > 2*perJournal {
				found.Events = append(found.Events[:0], found.Events[perJournal:]...)
			}
			return nil
		},
		Damage: func(why string) { p.Damage = append(p.Damage, advice.Render(why, p.option)) },
	})
	found.Events = found.Events[max(0, len(found.Events)-perJournal):]
	if len(found.Events) == perJournal {
		found.Older = found.Events[0].Seq
	}
	slices.Reverse(found.Events)
	return found, err
}

// Before is the address of older events.
func (p eventsPage) Before() string {
	return p.to("events", "before", strconv.FormatUint(p.Older, 10), "q", p.Find)
}
