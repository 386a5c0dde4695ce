package shell

import "testing"

func TestWordsAreQuotedWhereAShellWouldReadMoreInThem(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"./x-1/a_b":  "./x-1/a_b",
		"a dir":      "'a dir'",
		"":           "''",
		"it's $HOME": `'it'\''s $HOME'`,
		"~/x":        "'~/x'",
		"a\nb":       "'a\nb'",
		"é":          "'é'",
	} {
		if got := Quote(word); got != want {
			t.Errorf("Quote(%q) = %s, want %s", word, got, want)
		}
	}
}
