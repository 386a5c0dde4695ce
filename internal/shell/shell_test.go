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

func TestAPathIsNoOption(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"-a": "./-a", "- b": "'./- b'", "a-b": "a-b", "/-a": "/-a", "": "''"} {
		if got := Path(path); got != want {
			t.Errorf("Path(%q) = %s, want %s", path, got, want)
		}
	}
}
