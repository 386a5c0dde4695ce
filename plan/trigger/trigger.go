// Package trigger judges the trigger of a sentinel: whether the events that it waits for
// exist and are shown to sentinels, and whether its conditions are on fields that they have.
//
// It looks at the JSON of a trigger, and knows no hank.
package trigger

import (
	"fmt"
	"slices"
	"strings"

	"hank/internal/eventfields"
	"hank/internal/typo"
	"hank/plan/jsonshape"
)

// anyEvent stands for every type of events.
const anyEvent = "*"

// Report takes what is wrong at a JSON pointer.
type Report func(pointer, rule, hint, message string)

// checker judges one trigger.
type checker struct{ report Report }

// Check reports what a sentinel would wait for in vain: events that do not exist or
// that no sentinel is told of, and conditions on fields that they do not have.
func Check(pointer string, n *jsonshape.Node, report Report) {
	if n == nil || n.Kind != '{' {
		return
	}
	l := checker{report}
	of := l.eventTypes(pointer+"/on", n.Member("on"))
	l.conditions(pointer+"/conditions", n.Member("conditions"), of)
	var kept []string // by the filter of a sequence; none: it is absent or wrong
	if filter := n.Member("interestFilter"); filter != nil {
		kept = l.eventTypes(pointer+"/interestFilter/on", filter.Member("on"))
	}
	pattern := n.Member("pattern")
	if pattern == nil || pattern.Kind != '[' {
		return
	}
	for i := range pattern.Kids {
		step := &pattern.Kids[i]
		if step.Kind != '{' || step.Bad {
			continue
		}
		at := fmt.Sprintf("%s/pattern/%d", pointer, i)
		var of []string
		if t := step.Member("type"); t != nil && t.Kind == '"' {
			l.eventType(at+"/type", t.Text)
			of = []string{t.Text}
			if len(kept) > 0 && t.Text != anyEvent && eventfields.Of(t.Text) != nil && !slices.Contains(kept, t.Text) && !slices.Contains(kept, anyEvent) {
				l.report(at+"/type", "sentinel-unseen", "add it to interestFilter.on", fmt.Sprintf("the sequence is never found: its interestFilter leaves out %q", t.Text))
			}
		}
		l.conditions(at+"/conditions", step.Member("conditions"), of)
	}
}

// eventTypes reports what is wrong with a list of types, and returns it.
func (l checker) eventTypes(pointer string, n *jsonshape.Node) (types []string) {
	if n == nil || n.Kind != '[' {
		return nil
	}
	for i, kid := range n.Kids {
		if kid.Kind == '"' && !kid.Bad {
			l.eventType(fmt.Sprintf("%s/%d", pointer, i), kid.Text)
			types = append(types, kid.Text)
		}
	}
	return types
}

func (l checker) eventType(pointer, event string) {
	if event == anyEvent {
		return
	}
	known := eventfields.Of(event)
	if known == nil {
		var names []string
		for _, e := range eventfields.All() {
			names = append(names, e.Type)
		}
		hint := "the events are those of the compatible system, such as tool.result or codon.completed"
		if near := typo.Nearest(event, names); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		l.report(pointer, "sentinel-event", hint, fmt.Sprintf("there is no event %q", event))
		return
	}
	if known.Category != eventfields.Server && known.Category != eventfields.Agent {
		l.report(pointer, "sentinel-unseen", "remove it", fmt.Sprintf("no sentinel is told of %q: sentinels see events of agents and of the server", event))
		return
	}
	if slices.Contains(elsewhere, event) || strings.HasPrefix(event, "rollback.") {
		l.report(pointer, "sentinel-unseen", "remove it", fmt.Sprintf("no sentinel is told of %q: it does not occur while a codon is running", event))
	}
}

// elsewhere are the events that hank writes between codons, or does not write. Those of
// rollbacks are, too.
var elsewhere = []string{"state.snapshot", "filetree.updated", "loop.iteration.completed", "server.idle", "checkpoint.list", "archive.completed", "archive.partial", "budget.summary"}

// conditions looks at the paths and expressions of conditions on events of some types.
func (l checker) conditions(pointer string, n *jsonshape.Node, of []string) {
	if n == nil || n.Kind != '[' {
		return
	}
	for i := range n.Kids {
		c := &n.Kids[i]
		if c.Kind != '{' || c.Bad {
			continue
		}
		at := fmt.Sprintf("%s/%d", pointer, i)
		if op, value := c.Member("operator"), c.Member("value"); op != nil && value != nil && op.Text == "matches" {
			if _, err := Expression(value.Text); err != nil {
				l.report(at+"/value", "sentinel-regexp", "expressions are RE2: no look-around, no back-references", fmt.Sprintf("%v", err))
			}
		}
		if path := c.Member("path"); path != nil && path.Kind == '"' && path.Text != "" {
			l.conditionPath(at+"/path", path.Text, of)
		}
	}
}

// conditionPath looks for the path of a condition in the events that it is about.
func (l checker) conditionPath(pointer, path string, of []string) {
	var without []string
	var fields []string
	for _, event := range of {
		known := eventfields.Of(event)
		if known == nil { // any event, or one that is reported
			return
		}
		if !hasPath(*known, path) {
			without = append(without, event)
			for _, f := range known.Fields {
				fields = append(fields, f.Name)
			}
		}
	}
	switch {
	case len(without) == 0:
	case len(without) < len(of):
		l.report(pointer, "sentinel-partly", "give the events triggers of their own", fmt.Sprintf("%s has no field %q: the condition never holds for it", strings.Join(without, ", "), path))
	default:
		slices.Sort(fields)
		fields = slices.Compact(fields)
		hint := "the fields are " + strings.Join(fields, ", ")
		if near := typo.Nearest(path, fields); near != "" {
			hint = fmt.Sprintf("did you mean %q? %s", near, hint)
		}
		l.report(pointer, "sentinel-path", hint, fmt.Sprintf("%s has no field %q", strings.Join(without, ", "), path))
	}
}

// hasPath reports whether the data of an event can have what a dotted path leads to. What
// is inside of a field whose parts are not known, may be there.
func hasPath(event eventfields.Event, path string) bool {
	steps := strings.Split(path, ".")
	if event.Type == "file.updated" && steps[0] == "content" { // made for sentinels, not in the event
		return true
	}
	fields := event.Fields
	for i, step := range steps {
		at := slices.IndexFunc(fields, func(f eventfields.Field) bool { return f.Name == step })
		if at < 0 {
			return false
		}
		f := fields[at]
		if f.List || f.Fields == nil { // an index, a length, or nobody knows
			return f.Fields == nil || i == len(steps)-1 || inItems(f.Fields, steps[i+1:])
		}
		fields = f.Fields
	}
	return true
}

// inItems reports whether a path leads into the items of a list: 0.path, or its length.
func inItems(fields []eventfields.Field, steps []string) bool {
	if steps[0] == "length" {
		return len(steps) == 1
	}
	if strings.Trim(steps[0], "0123456789") != "" {
		return false
	}
	return len(steps) == 1 || hasPath(eventfields.Event{Fields: fields}, strings.Join(steps[1:], "."))
}
