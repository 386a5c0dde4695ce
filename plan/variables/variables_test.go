package variables

import (
	"maps"
	"strings"
	"testing"
)

// What a prompt says and what the environment says is the same, and nothing is left of
// what an attempt before was told.
func TestPromptAndEnvironmentSayTheSame(t *testing.T) {
	t.Parallel()
	f := Facts{Workspace: "/w", HasData: true, Codon: "a#1", Loop: &Loop{Iteration: 1, Limit: 4, ProgressFile: "p.md"}, DollarsLeft: "0.5", Decision: "/d",
		Attempt: 2, LastFailure: "no\x00 good", Reply: "go on", Declared: map[string]string{"TOPIC": "bees"}}
	environment := map[string]string{"HOME": "/h", "HANK_TIME_LEFT": "3"}
	Apply(f, environment)
	told := NewReplacer(f)
	for _, v := range all(f) {
		for _, name := range v.Placeholders {
			if in := told.Replace("<%" + name + "%>"); in != environment[v.Environment] {
				t.Errorf("%s is %q in prompts and %q in the environment", name, in, environment[v.Environment])
			}
		}
	}
	want := map[string]string{"HOME": "/h", "HANK_WORKSPACE": "/w", "HANK_DATA": "/w/read_only_data_source", "HANK_OUTPUT": "/w", "HANK_CODON": "a#1", "HANK_ITERATION": "1",
		"HANK_ITERATION_LIMIT": "4", "HANK_LAST_OUTCOME": "none", "HANK_BUDGET_LEFT": "0.5", "HANK_TIME_LEFT": "unlimited", "HANK_PROGRESS_FILE": "/w/p.md", "HANK_DECISION": "/d",
		"HANK_ATTEMPT_NUMBER": "2", "HANK_LAST_FAILURE": "no\uFFFD good", "HANK_REPLY": "go on", "HANK_VAR_TOPIC": "bees"}
	if !maps.Equal(environment, want) {
		t.Errorf("%v, want %v", environment, want)
	}
	Apply(Facts{Workspace: "/w", Codon: "b"}, environment)
	for _, name := range []string{"HANK_DATA", "HANK_ITERATION", "HANK_ITERATION_LIMIT", "HANK_PROGRESS_FILE", "HANK_DECISION", "HANK_REPLY"} {
		if value, set := environment[name]; set {
			t.Errorf("%s is still %q", name, value)
		}
	}
}

func TestNoNameIsTakenTwice(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, v := range all(Facts{}) {
		for _, name := range append(v.Placeholders, v.Environment) {
			if seen[name] || name != strings.ToUpper(name) {
				t.Error(name)
			}
			seen[name] = true
		}
		if !strings.HasPrefix(v.Environment, "HANK_") {
			t.Error(v.Environment)
		}
	}
}

// How long texts are with their values counts, and not how they are written; what is certain to
// fit has no size.
func TestTheLengthOfTextsIsThatWithTheValues(t *testing.T) {
	t.Parallel()
	long := Facts{Codon: "write", Declared: map[string]string{"RULES": strings.Repeat("r", 1000)}}
	for _, c := range []struct {
		about string
		texts []string
		limit int
		want  int
	}{
		{"short as it is written, long with its values", []string{"<%RULES%>\n", "On <%CODON_ID%>."}, 1000, 1010},
		{"as long as it may be", []string{"<%RULES%>\n", "On <%CODON_ID%>."}, 1010, 0},
		{"long as it is written, short with its values", []string{strings.Repeat("<%ITERATION%>", 100)}, 1000, 0},
		{"without placeholders", []string{strings.Repeat("x", 1001)}, 1000, 1001},
		{"a name of none", []string{"<%NONE%>" + strings.Repeat("x", 1000)}, 1000, 1008},
	} {
		var measured []Measured
		for _, text := range c.texts {
			measured = append(measured, Measure(text))
		}
		if got := Longer(measured, long, c.limit, false); got != c.want {
			t.Errorf("%s: got %d, want %d", c.about, got, c.want)
		}
	}
	for _, v := range all(Facts{Loop: &Loop{Iteration: 1 << 30, Limit: 1 << 30}}) {
		if len(v.Value) >= longestOwn {
			t.Errorf("%v is longer than longestOwn says", v)
		}
	}
}
