package docs

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"hank/plan"
	"hank/plan/config"
	"hank/plan/diagnostic"
)

// ruleExample is what breaks a rule, and what does not. A text that does not begin with {
// is the fields of a codon. … stands for required fields that the example is not about.
// Files are others of the directory; a name with a second text after a NUL is of the right
// example. Settings are a hankweave.json. One with words cannot be shown by files alone, and
// the test that it names produces the rule.
type ruleExample struct {
	wrong, right string
	files        map[string]string
	settings     bool
	words, test  string
}

// rest are the fields that … stands for, where they are not there.
var rest = []struct{ name, text string }{
	{"name", `"name": "NAME"`}, {"model", `"model": "sonnet"`}, {"continuationMode", `"continuationMode": "fresh"`}, {"promptText", `"promptText": "Do it."`},
}

// expand replaces each … by what is missing in the object around it.
func expand(text string) string {
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "\ufeff") {
		text = `{"hank": [{"id": "a", …, ` + text + `}]}`
	}
	for {
		at := strings.Index(text, "…")
		if at < 0 {
			return text
		}
		from, to, depth := at, at, 0
		for ; from >= 0 && (text[from] != '{' || depth != 0); from-- {
			depth += strings.Count(text[from:from+1], "}") - strings.Count(text[from:from+1], "{")
		}
		for depth = 0; to < len(text) && (text[to] != '}' || depth != 0); to++ {
			depth += strings.Count(text[to:to+1], "{") - strings.Count(text[to:to+1], "}")
		}
		object := ownFields(text[max(0, from)+1 : to])
		var parts []string
		for _, r := range rest {
			loop := strings.Contains(object, `"type": "loop"`)
			if loop && r.name != "name" || !loop && strings.Contains(object, `"`+r.name+`":`) || r.name == "promptText" && strings.Contains(object, `"promptFile"`) {
				continue
			}
			parts = append(parts, strings.Replace(r.text, "NAME", fmt.Sprintf("N%d", at), 1))
		}
		filled := strings.Join(parts, ", ")
		if filled == "" {
			filled = `"description": ""`
		}
		text = text[:at] + filled + text[at+len("…"):]
	}
}

// ownFields is the text of an object's fields without the objects in them.
func ownFields(text string) string {
	var own strings.Builder
	depth := 0
	for _, r := range text {
		switch {
		case r == '{':
			depth++
		case r == '}':
			depth--
		case depth == 0:
			own.WriteRune(r)
		}
	}
	return own.String()
}

// judge is the rules that an example breaks. In a loop the info loop-abort does not count.
func (e ruleExample) judge(text, id string, second bool) []string {
	var found []diagnostic.Diagnostic
	if e.settings {
		_, found = config.Parse([]byte(text))
	} else {
		dir := fstest.MapFS{"hank.json": {Data: []byte(expand(text)), Mode: 0o644}}
		for name, text := range e.files {
			if wrong, right, two := strings.Cut(text, "\x00"); two {
				if text = wrong; second {
					text = right
				}
			}
			dir[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
		}
		_, found = plan.Load(dir, "hank.json")
	}
	var rules []string
	for _, d := range found {
		if d.Rule != "loop-abort" || id == "loop-abort" {
			rules = append(rules, d.Rule)
		}
	}
	slices.Sort(rules)
	return slices.Compact(rules)
}

// The page of the rules is made from the table of rules and from examples, and what is
// wrong there breaks exactly that rule, and what is right none.
func TestThePageOfRulesIsTrue(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	known := map[string]bool{}
	for _, r := range diagnostic.Rules() {
		known[r.ID] = true
		kind := string(r.Severity)
		if r.Machine {
			kind += "; about the machine"
		}
		if r.Begins {
			kind += ", and a run begins all the same"
		}
		fmt.Fprintf(&out, "\n## %s\n\n%s: %s.\n", r.ID, kind, r.Says)
		e, there := ruleExamples[r.ID]
		switch {
		case !there:
			t.Errorf("%s has no example", r.ID)
			continue
		case e.words != "":
			fmt.Fprintf(&out, "\n%s Test: `%s`.\n", e.words, e.test)
			if !isThere(t, e.test) {
				t.Errorf("%s: %s is no test: name package.Test, or script/NAME for a script of cmd/hank", r.ID, e.test)
			}
			continue
		}
		if got := e.judge(e.wrong, r.ID, false); !slices.Equal(got, []string{r.ID}) {
			t.Errorf("%s: the wrong example breaks %v: %s", r.ID, got, expand(e.wrong))
		}
		if got := e.judge(e.right, r.ID, true); len(got) > 0 {
			t.Errorf("%s: the right example breaks %v: %s", r.ID, got, expand(e.right))
		}
		for name, text := range e.files { // one that is what is wrong
			if wrong, right, two := strings.Cut(text, "\x00"); two {
				e.wrong, e.right = e.wrong+"\n// "+name+":\n"+strings.TrimSpace(wrong), e.right+"\n// "+name+":\n"+strings.TrimSpace(right)
			}
		}
		if names := slices.Sorted(maps.Keys(e.files)); len(names) > 0 {
			fmt.Fprintf(&out, "\nThe directory has `%s`.\n", strings.Join(names, "`, `"))
		}
		fmt.Fprintf(&out, "\nWrong:\n\n```jsonc\n%s\n```\n\nRight:\n\n```jsonc\n%s\n```\n", e.wrong, e.right)
	}
	for id := range ruleExamples {
		if !known[id] {
			t.Errorf("there is no rule %s", id)
		}
	}
	generated(t, "rules.md", out.String()+"\n")
}
