package machine

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What no process is started for, sh can parse.
func TestPlainScriptsAreParsedByEverySh(t *testing.T) {
	t.Parallel()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	rapid.Check(t, func(rt *rapid.T) {
		words := rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(append([]string{"\n", " ", ";", "&&", "'", "$x", "(", "a=b"}, reserved...)), rapid.StringOfN(rapid.RuneFrom([]rune("ab09_-./,:@%+~#*")), 0, 5, -1)), 0, 6).Draw(rt, "words")
		if text := strings.Join(words, " "); plain(text) {
			texts = append(texts, text)
		}
	})
	if len(texts) < 3 {
		t.Fatalf("only %d texts are plain", len(texts))
	}
	for _, text := range texts[:min(len(texts), 12)] {
		if why := parse(t.Context(), sh, os.Getenv("PATH"), text); why != "" {
			t.Errorf("%q is plain, and sh says: %s", text, why)
		}
	}
	for _, text := range []string{"if x", "a; b", "a 'b", "{ x", "! x", "a &", "a\tb", "a\r\nb", "a#b"} {
		if plain(text) {
			t.Errorf("%q is not plain", text)
		}
	}
}

func TestWhereAShellFindsAnError(t *testing.T) {
	t.Parallel()
	for complaint, want := range map[string]struct {
		line int
		rest string
	}{
		`/usr/bin/sh: 2: Syntax error: "fi" unexpected`:        {2, `Syntax error: "fi" unexpected`},
		"sh: line 3: syntax error near unexpected token `('":   {3, "syntax error near unexpected token `('"},
		`/bin/bash: line 12: unexpected EOF while looking for`: {12, `unexpected EOF while looking for`},
		`sh: syntax error: unterminated quoted string`:         {1, `syntax error: unterminated quoted string`},
		`something else`: {1, `something else`},
		`/usr/bin/sh: 7: Syntax error: Unterminated quoted string`: {7, `Syntax error: Unterminated quoted string`},
	} {
		if line, rest := place(complaint); line != want.line || rest != want.rest {
			t.Errorf("%s: got %d, %q", complaint, line, rest)
		}
	}
}
