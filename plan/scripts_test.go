package plan

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"hank/plan/diagnostic"
)

// Each line of a script that is joined from files is one of a file; the blank lines that
// join them belong to the file before.
func TestALineOfAScriptIsNamedInItsFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		texts [3]string
		want  string // of each line
	}{
		"with ends":      {[3]string{"1\n2\n", "3\n", "4"}, "a:1 a:2 a:3 b:1 b:2 c:1"},
		"without ends":   {[3]string{"1\n2", "3", "4\n"}, "a:1 a:2 a:3 b:1 b:2 c:1"},
		"with an empty":  {[3]string{"1\n", "", "4\n5\n"}, "a:1 a:2 c:1 c:2"},
		"an empty first": {[3]string{"", "3", "4"}, "b:1 b:2 c:1"},
	} {
		files := fstest.MapFS{"hank.json": {Data: []byte(`{"hank": [{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptFile": ["./a", "b", "c"]}]}`)}}
		for i, text := range c.texts {
			files[string(rune('a'+i))] = &fstest.MapFile{Data: []byte(text)}
		}
		p, found := Load(files, "hank.json")
		if p == nil {
			t.Fatal(diagnostic.Text(found))
		}
		s, got := p.Scripts()[0], ""
		for line := range strings.Count(strings.TrimSuffix(s.Text, "\n"), "\n") + 1 {
			file, at := s.Place(line + 1)
			got += fmt.Sprintf(" %s:%d", file, at)
		}
		if got != " "+c.want {
			t.Errorf("%s: got%s, want %s of %q", name, got, c.want, s.Text)
		}
	}
	if file, at := (Script{ScriptText: &ScriptText{Text: "1\n2"}}).Place(2); file != "" || at != 2 {
		t.Errorf("of hank.json: %s:%d", file, at)
	}
}

// Codons with the same files share one text, and what is joined and parsed is joined and parsed
// once: a script of 900 kB for 10,000 codons took 9 GB.
func TestCodonsWithTheSameFilesShareOneText(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{"hank.json": {Data: []byte(`{"hank": [
		{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptFile": ["s", "t"]},
		{"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptFile": ["s", "t"]},
		{"id": "c", "name": "C", "model": "shell", "continuationMode": "fresh", "promptFile": ["t", "s"]}]}`)},
		"s": {Data: []byte("echo <%CODON_ID%>\n")}, "t": {Data: []byte("true\n")}}
	p, found := Load(files, "hank.json")
	if p == nil {
		t.Fatal(diagnostic.Text(found))
	}
	s := p.Scripts()
	if len(s) != 3 || s[0].ScriptText != s[1].ScriptText || s[0].Text == s[2].Text || !strings.HasPrefix(s[0].Text, "echo x\n") || s[1].Owner != "b" || s[1].Pointer != "/hank/1/promptFile" {
		t.Errorf("%+v", s)
	}
}
