package plan

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestDifferencesAreSaidPerCodon(t *testing.T) {
	t.Parallel()
	agent := `{"id": "b", "name": "B", "model": "haiku", "continuationMode": "fresh", "promptFile": "p.md"}`
	loop := loopOf("l", limit(2), shellCodon("c"), shellCodon("d"))
	sentinel := shellCodon("a", `"sentinels": [{"sentinelConfig": "s/s.json"}]`, copyOf("t", "t"))
	base := hankOf(sentinel, agent, loop)
	files := map[string]string{"p.md": "p", "t/x": "x", "s/s.json": "{" + strings.Replace(sentinelHead, `"userPromptText": "x"`, `"userPromptFile": "u.md"`, 1) + onError + "}", "s/u.md": "u"}
	with := func(name, text string) map[string]string {
		all := map[string]string{}
		for n, s := range files {
			all[n] = s
		}
		all[name] = text
		return all
	}
	for _, c := range []struct {
		name, hank string
		files      map[string]string
		want       string
	}{
		{"nothing", base, files, ""},
		{"only the spelling", strings.ReplaceAll(base, ": ", " :\n"), files, ""},
		{"a field", strings.Replace(base, `"name": "B"`, `"name": "BB"`, 1), files, "b: changed: name"},
		{"a prompt file", base, with("p.md", "q"), "b: changed: p.md"},
		{"a copied file", base, with("t/x", "y"), "a: changed: t"},
		{"a file more to copy", base, with("t/y", ""), "a: changed: t"},
		{"a sentinel's prompt", base, with("s/u.md", "v"), "a: changed: s/u.md"},
		{"a loop's limit", strings.Replace(base, `"limit": 2`, `"limit": 3`, 1), files, "l: changed: terminateOn"},
		{"one more", hankOf(sentinel, agent, loop, shellCodon("z")), files, "z: added"},
		{"one less", hankOf(sentinel, loop), files, "b: removed"},
		{"another order", hankOf(agent, sentinel, loop), files, "b: moved; a: moved"},
		{"another order in a loop", hankOf(sentinel, agent, loopOf("l", limit(2), shellCodon("d"), shellCodon("c"))), files, "d: moved; c: moved"},
		{"out of the loop", hankOf(sentinel, agent, loopOf("l", limit(2), shellCodon("c")), shellCodon("d")), files, "d: moved"},
		{"one before all", hankOf(shellCodon("z"), sentinel, agent, loop), files, "z: added"},
		{"the global prompt", strings.Replace(base, `{"hank"`, `{"globalSystemPromptText": "x", "hank"`, 1), files, "the hank itself: changed: globalSystemPromptText"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, change := range Compare(mustLoad(t, base, files), mustLoad(t, c.hank, c.files)) {
				got = append(got, fmt.Sprint(change))
			}
			if s := strings.Join(got, "; "); s != c.want {
				t.Errorf("got %q, want %q", s, c.want)
			}
		})
	}
}

func TestAFrozenProgramDoesNotDiffer(t *testing.T) {
	t.Parallel()
	p, _ := Load(os.DirFS("testdata/full"), "hank.json")
	q, err := Thaw(openIn(frozenFiles(t, p)))
	if err != nil {
		t.Fatal(err)
	}
	if changes := Compare(q, p); len(changes) > 0 {
		t.Errorf("got %v", changes)
	}
}
