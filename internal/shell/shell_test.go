package shell

import (
	"os/exec"
	"strings"
	"testing"
)

func TestWordsAreQuotedWhereAShellWouldReadMoreInThem(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"./x-1/a_b":  "./x-1/a_b",
		"a dir":      "'a dir'",
		"":           "''",
		"it's $HOME": `'it'\''s $HOME'`,
		"~/x":        "'~/x'",
		"a\nb":       `"$(printf 'a\nb')"`,
		"a\n":        "'a\n'",
		"é":          "'é'",
		"a\tb":       "'a\tb'",
		"a\x1b[1mé":  `"$(printf 'a\033\1331mé')"`,
		"a\u202eb":   `"$(printf 'a\342\200\256b')"`,
		"a\xffb":     `"$(printf 'a\377b')"`,
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

// A shell reads the word that was quoted.
func TestAShellReadsTheWordThatWasQuoted(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"", "a b", "it's $HOME", "a\nb `c` $HOME", "-n\n%s\\n", "\"a!\"\r\n'b'", "a\n", "\n\né\xff\tx", "a\\\n1", "\x1b]0;x\a%\x7f", "\u0085é\u202e\xff\ufffd"} {
		quoted := Quote(word)
		out, err := exec.Command("sh", "-c", "printf %s "+quoted+" && printf .").Output()
		if err != nil || string(out) != word+"." {
			t.Errorf("%q is quoted as %s, which sh reads as %q, %v", word, quoted, out, err)
		}
		if strings.ContainsFunc(quoted, unseen) && !strings.HasSuffix(word, "\n") {
			t.Errorf("%q is quoted as %q, which a terminal does not show", word, quoted)
		}
	}
}
