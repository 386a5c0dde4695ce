package sentinel

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hank/plan/trigger"
)

// Event is an event of the journal as a sentinel sees it.
type Event struct {
	ID   string
	Time time.Time
	Type string
	Data any // as JSON has it: nil, bool, float64, string, []any, map[string]any
	Size int // bytes of memory that the data takes, about
}

// NewEvent reads the data of an event; what is no JSON is null.
func NewEvent(id string, at time.Time, eventType string, data []byte) Event {
	e := Event{ID: id, Time: at, Type: eventType}
	_ = json.Unmarshal(data, &e.Data)
	e.Size = max(len(data), weight(e.Data))
	return e
}

// weight is how many bytes of memory a value takes, about: a list of short numbers takes
// twenty times as many as its text.
func weight(v any) int {
	const each = 40 // of a value in a list or an object, with what points to it
	switch v := v.(type) {
	case string:
		return len(v)
	case []any:
		n := each * len(v)
		for _, item := range v {
			n += weight(item)
		}
		return n
	case map[string]any:
		n := each
		for name, item := range v {
			n += each + len(name) + weight(item)
		}
		return n
	}
	return 0
}

// value is the event in a template.
func (e Event) value() map[string]any {
	return map[string]any{"id": e.ID, "timestamp": stamp(e.Time), "type": e.Type, "data": e.Data}
}

// Trigger says what a sentinel waits for.
type Trigger struct {
	Type           string      `json:"type"` // event or sequence
	On             []string    `json:"on"`   // of event: types, or *
	Conditions     []Condition `json:"conditions"`
	InterestFilter struct {
		On []string `json:"on"`
	} `json:"interestFilter"`
	Pattern []Step `json:"pattern"`
	Options struct {
		Consecutive *bool `json:"consecutive"` // nil: true
	} `json:"options"`
}

// Step is one event of a sequence.
type Step struct {
	Type       string      `json:"type"`
	Conditions []Condition `json:"conditions"`
}

// Condition compares a field of an event.
type Condition struct {
	Operator string         `json:"operator"`
	Path     string         `json:"path"` // dotted
	Value    jsontext.Value `json:"value"`

	value   any
	pattern *regexp.Regexp // of matches
}

// compile prepares the conditions. Expressions that have an error were reported; such a
// condition never holds.
func (t *Trigger) compile() {
	compileAll(t.Conditions)
	for i := range t.Pattern {
		compileAll(t.Pattern[i].Conditions)
	}
}

func compileAll(list []Condition) {
	for i := range list {
		c := &list[i]
		_ = json.Unmarshal(c.Value, &c.value)
		if text, ok := c.value.(string); ok && c.Operator == "matches" {
			c.pattern, _ = trigger.Expression(text)
		}
	}
}

// holds reports whether the condition holds for the data of an event. A field that is not
// there equals nothing, so that only notEquals and notIn hold for it.
func (c *Condition) holds(data any) bool {
	at := data
	for _, step := range strings.Split(c.Path, ".") {
		at = lookUp(at, step)
	}
	list, _ := c.value.([]any)
	in := func() bool { return slices.ContainsFunc(list, func(v any) bool { return same(v, at) }) }
	switch c.Operator {
	case "equals":
		return same(at, c.value)
	case "notEquals":
		return !same(at, c.value)
	case "in":
		return in()
	case "notIn":
		return !in()
	case "contains":
		switch at := at.(type) {
		case string:
			part, ok := c.value.(string)
			return ok && strings.Contains(at, part)
		case []any:
			return slices.ContainsFunc(at, func(v any) bool { return same(v, c.value) })
		}
	case "matches":
		text, ok := at.(string)
		return ok && c.pattern != nil && c.pattern.MatchString(text)
	case "greaterThan", "lessThan":
		if order, ok := compare(at, c.value); ok {
			return order > 0 && c.Operator == "greaterThan" || order < 0 && c.Operator == "lessThan"
		}
	}
	return false
}

func allHold(list []Condition, data any) bool {
	for i := range list {
		if !list[i].holds(data) {
			return false
		}
	}
	return true
}

// How far a sequence looks back: events, and bytes of them.
const (
	mostHistory      = 1000
	mostHistoryBytes = 32 << 20
)

// Watcher is a trigger that looks at one event after the other.
type Watcher struct {
	t       *Trigger
	history []Event // of interest, since the last match
	bytes   int     // of history
}

// Watch begins with nothing seen.
func (t *Trigger) Watch() *Watcher { return &Watcher{t: t} }

// See takes the next event, and returns the events of a match that it completes; nil: it
// completes none. An event belongs to one match of a sequence at most.
func (w *Watcher) See(e Event) []Event {
	if w.t.Type != "sequence" {
		if wanted(w.t.On, e.Type) && allHold(w.t.Conditions, e.Data) {
			return []Event{e}
		}
		return nil
	}
	if !wanted(w.t.InterestFilter.On, e.Type) {
		return nil
	}
	w.history, w.bytes = append(w.history, e), w.bytes+e.Size
	for len(w.history) > mostHistory || w.bytes > mostHistoryBytes && len(w.history) > 1 {
		w.bytes -= w.history[0].Size
		w.history[0] = Event{} // its data is not held any longer
		w.history = w.history[1:]
	}
	pattern := w.t.Pattern
	if n := len(pattern); n == 0 || !pattern[n-1].fits(e) {
		return nil
	}
	match := w.consecutive()
	if w.t.Options.Consecutive != nil && !*w.t.Options.Consecutive {
		match = w.greedy()
	}
	if match != nil {
		w.history, w.bytes = nil, 0
	}
	return match
}

func wanted(types []string, eventType string) bool {
	return slices.ContainsFunc(types, func(t string) bool { return t == "*" || t == eventType })
}

func (s *Step) fits(e Event) bool {
	return (s.Type == e.Type || s.Type == "*") && allHold(s.Conditions, e.Data)
}

// consecutive compares the newest events with the pattern.
func (w *Watcher) consecutive() []Event {
	from := len(w.history) - len(w.t.Pattern)
	if from < 0 {
		return nil
	}
	tail := w.history[from:]
	for i := range tail {
		if !w.t.Pattern[i].fits(tail[i]) {
			return nil
		}
	}
	return slices.Clone(tail)
}

// greedy takes the first event that fits each step, others between them.
func (w *Watcher) greedy() (match []Event) {
	for _, e := range w.history {
		if w.t.Pattern[len(match)].fits(e) {
			if match = append(match, e); len(match) == len(w.t.Pattern) {
				return match
			}
		}
	}
	return nil
}
