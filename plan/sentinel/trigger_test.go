package sentinel

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"
)

func triggerOf(t testing.TB, text string) *Trigger {
	t.Helper()
	var tr Trigger
	if err := json.Unmarshal([]byte(text), &tr); err != nil {
		t.Fatal(err)
	}
	tr.compile()
	return &tr
}

func TestConditionsCompareFields(t *testing.T) {
	t.Parallel()
	const data = `{"isError": true, "n": 3, "text": "permission denied", "list": ["a", 2], "deep": {"x": [{"y": "z"}]}, "none": null}`
	for condition, want := range map[string]bool{
		`"equals", "path": "isError", "value": true`:              true,
		`"equals", "path": "n", "value": 3`:                       true,
		`"equals", "path": "n", "value": "3"`:                     false,
		`"equals", "path": "deep.x.0.y", "value": "z"`:            true,
		`"equals", "path": "list.length", "value": 2`:             true,
		`"equals", "path": "gone", "value": null`:                 false,
		`"equals", "path": "none", "value": null`:                 true,
		`"notEquals", "path": "gone", "value": 1`:                 true,
		`"notEquals", "path": "n", "value": 3`:                    false,
		`"in", "path": "n", "value": [1, 3]`:                      true,
		`"notIn", "path": "n", "value": [1, 3]`:                   false,
		`"notIn", "path": "gone", "value": [1]`:                   true,
		`"contains", "path": "text", "value": "denied"`:           true,
		`"contains", "path": "list", "value": "a"`:                true,
		`"contains", "path": "n", "value": "3"`:                   false,
		`"matches", "path": "text", "value": "^permission\\s"`:    true,
		`"matches", "path": "text", "value": "permission\\u0020"`: true,
		`"matches", "path": "text", "value": "("`:                 false,
		`"matches", "path": "n", "value": "3"`:                    false,
		`"greaterThan", "path": "n", "value": 2.5`:                true,
		`"lessThan", "path": "n", "value": 3`:                     false,
		`"lessThan", "path": "text", "value": 3`:                  false,
	} {
		tr := triggerOf(t, `{"type": "event", "on": ["e"], "conditions": [{"operator": `+condition+`}]}`)
		if got := tr.Watch().See(event("e", data)) != nil; got != want {
			t.Errorf("%s: %v", condition, got)
		}
	}
}

// see shows a trigger events that are given by letters, and returns the matches.
func see(tr *Trigger, letters string) (matches []string) {
	w := tr.Watch()
	for i, l := range letters {
		e := event(string(l), fmt.Sprintf(`{"at": %d}`, i))
		var of []string
		for _, m := range w.See(e) {
			of = append(of, m.Type)
		}
		if of != nil {
			matches = append(matches, fmt.Sprintf("%s@%d", strings.Join(of, ""), i))
		}
	}
	return matches
}

func TestSequencesAreFound(t *testing.T) {
	t.Parallel()
	const of = `"type": "sequence", "interestFilter": {"on": ["a", "b", "c"]}, "pattern": [{"type": "a"}, {"type": "b"}]`
	for _, c := range []struct{ options, events, want string }{
		{"", "ab", "[ab@1]"},
		{"", "axb", "[ab@2]"}, // x is of no interest
		{"", "acb", "[]"},
		{"", "abab", "[ab@1 ab@3]"},
		{"", "aab", "[ab@2]"},
		{"", "ba", "[]"},
		{`, "options": {"consecutive": false}`, "acb", "[ab@2]"},
		{`, "options": {"consecutive": false}`, "acbb", "[ab@2]"}, // the first a is used
		{`, "options": {"consecutive": false}`, "aabb", "[ab@2]"},
		{`, "options": {"consecutive": false}`, "bbcacb", "[ab@5]"},
	} {
		if got := fmt.Sprint(see(triggerOf(t, "{"+of+c.options+"}"), c.events)); got != c.want {
			t.Errorf("%s of %s: %s, want %s", c.events, c.options, got, c.want)
		}
	}
	same := triggerOf(t, `{"type": "sequence", "interestFilter": {"on": ["*"]}, "pattern": [{"type": "a"}, {"type": "a"}]}`)
	if got := fmt.Sprint(see(same, "aaaa")); got != "[aa@1 aa@3]" {
		t.Error(got) // no event is in two matches
	}
}

// What is remembered for a sequence is bounded in bytes, too, by what it takes in memory.
func TestTheBytesOfAHistoryAreBounded(t *testing.T) {
	t.Parallel()
	numbers := NewEvent("", time.Time{}, "a", []byte("["+strings.Repeat("1,", 999)+"1]"))
	if numbers.Size < 16*1000 {
		t.Errorf("a list of 1,000 numbers counts as %d bytes", numbers.Size)
	}
	w := triggerOf(t, `{"type": "sequence", "interestFilter": {"on": ["*"]}, "pattern": [{"type": "a"}, {"type": "b"}], "options": {"consecutive": false}}`).Watch()
	for range 100 {
		w.See(Event{Type: "a", Size: 1 << 20})
	}
	if len(w.history) != 32 || w.bytes != 32<<20 {
		t.Errorf("%d events of %d bytes are remembered", len(w.history), w.bytes)
	}
	if w.See(Event{Type: "a", Size: 1 << 30}); len(w.history) != 1 {
		t.Errorf("%d events are remembered beside a large one", len(w.history))
	}
	if m := w.See(Event{Type: "b", Size: 1}); m != nil || len(w.history) != 1 {
		t.Errorf("%v: the oldest stays", m)
	}
}

// What is remembered for a sequence is bounded, and a match has the events of its pattern in
// order.
func TestASequenceIsBoundedAndInOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.StringOfN(rapid.RuneFrom([]rune("abc")), 0, 2500, -1).Draw(t, "events")
		pattern := rapid.StringOfN(rapid.RuneFrom([]rune("abc")), 1, 4, -1).Draw(t, "pattern")
		tr := &Trigger{Type: "sequence"}
		tr.InterestFilter.On = []string{"*"}
		consecutive := rapid.Bool().Draw(t, "consecutive")
		tr.Options.Consecutive = &consecutive
		for _, l := range pattern {
			tr.Pattern = append(tr.Pattern, Step{Type: string(l)})
		}
		w, last := tr.Watch(), -1
		for i, l := range letters {
			m := w.See(Event{Type: string(l), Size: i})
			if len(w.history) > mostHistory {
				t.Fatal("the history grows")
			}
			if m == nil {
				continue
			}
			for j, e := range m {
				if e.Type != string(pattern[j]) || e.Size <= last {
					t.Fatalf("match %v after %d", m, last)
				}
				last = e.Size
			}
		}
	})
}

func FuzzTrigger(f *testing.F) {
	f.Add(`{"type": "event", "on": ["*"], "conditions": [{"operator": "matches", "path": "a.0.length", "value": "x"}]}`, `{"a": ["x"]}`)
	f.Add(`{"type": "sequence", "interestFilter": {"on": ["e"]}, "pattern": [{"type": "e"}], "options": {"consecutive": false}}`, `null`)
	f.Fuzz(func(t *testing.T, trigger, data string) {
		var tr Trigger
		if json.Unmarshal([]byte(trigger), &tr) != nil {
			return
		}
		tr.compile()
		w := tr.Watch()
		for range 3 {
			w.See(event("e", data))
		}
	})
}
