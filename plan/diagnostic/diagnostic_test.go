package diagnostic

import (
	"strings"
	"testing"

	"hank/plan/jsonshape"
)

func TestAMessageNamesItsField(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ pointer, message, want string }{
		{"/hank/0/retryConfig/maxAttempts", "must be at most 10, not 11", "retryConfig.maxAttempts: must be at most 10, not 11"},
		{"/hank/2/codons/1/checkpointedFiles/3", "is no pattern", "checkpointedFiles[3]: is no pattern"},
		{"/hank/2/codons", "must not be empty", "codons: must not be empty"},
		{"/hank/2", "must be an object", "must be an object"},
		{"", "the file is empty", "the file is empty"},
		{"/hank/0/id", `duplicate id "a"`, `duplicate id "a"`},
		{"/hank/0/id", `"a" is invalid`, `id: "a" is invalid`},
		{"/hank/0/env/A~1B", `must be a string`, `env.A/B: must be a string`},
		{"/overrides/budget/shares/a", "must be a number, not a string", "overrides.budget.shares.a: must be a number, not a string"},
		{"/variables/X", `"X" is no variable`, `"X" is no variable`},
		{"/port", "must be a whole number", "port: must be a whole number"},
		{"/variables/x\n::warning::y", "it is wrong", `variables."x\n::warning::y": it is wrong`},
		{"/hank/0/env/", "cannot be a variable", "env.: cannot be a variable"},
		{strings.Repeat("/a", 50_000) + "/b", "must be a string", strings.Repeat("a.", 30) + "…" + strings.Repeat(".a", 29) + ".b: must be a string"},
	} {
		if got := naming(c.pointer, c.message); got != c.want {
			t.Errorf("%s: got %q, want %q", c.pointer, got, c.want)
		}
	}
}

// What is shown of a line has its place in it, is short, and has nothing that a terminal
// would act upon.
func TestAnExcerptIsTheLineAroundThePlace(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 500)
	for _, c := range []struct {
		text          string
		at            int
		before, after string
	}{
		{"{\n\t\"a\": 1,\n}", 8, " \"a\": ", "1,"},
		{"a\x1b[31mb\r\n", 6, "a [31m", "b"},
		{long + "x" + long, 1000, "…" + long[:120], "x" + long[:118] + "…"},
		{strings.Repeat("😀", 80) + "x", 320, "…" + strings.Repeat("😀", 60), "x"},
		{"{", 1, "{", ""},
		{"", 0, "", ""},
	} {
		var out Reporter
		out.At(&jsonshape.Document{File: "f", Data: []byte(c.text)}, c.at, "", "syntax", "m", "")
		before, after, found := out.List[0].Excerpt()
		if c.text == "" {
			found = true // there is no line, and none is shown
		}
		if before != c.before || after != c.after || !found {
			t.Errorf("%q at %d: got %q %q", c.text, c.at, before, after)
		}
	}
	if _, _, found := (Diagnostic{Line: 3}).Excerpt(); found {
		t.Error("a line of a file that was not read")
	}
}
