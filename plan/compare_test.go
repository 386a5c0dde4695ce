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

func TestOnlyWhatACodonIsGivenToDoIsItsOwn(t *testing.T) {
	t.Parallel()
	join := shellCodon("join", copyOf("t", "t"), `"sentinels": [{"sentinelConfig": "s.json"}]`)
	agent := `{"id": "b", "name": "B", "model": "haiku", "continuationMode": "fresh", "promptFile": ["p.md", "shared.md"], "appendSystemPromptFile": "sys.md"}`
	other := `{"id": "c", "name": "C", "model": "haiku", "continuationMode": "fresh", "promptFile": "shared.md"}`
	base := hankOf(join, agent, other)
	files := map[string]string{"p.md": "p", "shared.md": "s", "sys.md": "s", "t/x": "x", "s.json": "{" + sentinelHead + onError + "}"}
	for _, c := range []struct {
		name, from, to string // in hank.json, or in the file from
		id             CodonID
		rigDone        bool
		want           string
	}{
		{"its prompt file", "p.md", "q", "b", false, "p.md"},
		{"its system prompt file", "sys.md", "q", "b", false, "sys.md"},
		{"its script", `"promptText": "true"`, `"promptText": "false"`, "join", false, "promptText"},
		{"a file that its rig copies", "t/x", "y", "join", false, "t"},
		{"the same, with the rig done", "t/x", "y", "join", true, ""},
		{"its rig", `"to": "t"`, `"to": "u"`, "join", false, "rigSetup"},
		{"the prompt of another codon", "p.md", "q", "join", false, ""},
		{"a file that another codon has too", "shared.md", "q", "b", false, ""},
		{"its name", `"name": "B"`, `"name": "BB"`, "b", false, ""},
		{"its model", `"model": "haiku", "continuationMode": "fresh", "promptFile": [`, `"model": "sonnet", "continuationMode": "fresh", "promptFile": [`, "b", false, ""},
		{"one codon less", ", " + other, "", "b", false, ""},
		{"the global prompt", `{"hank"`, `{"globalSystemPromptText": "x", "hank"`, "b", false, ""},
		{"nothing", "", "", "b", false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			hank, all := base, map[string]string{}
			for name, text := range files {
				all[name] = text
			}
			if _, isFile := files[c.from]; isFile {
				all[c.from] = c.to
			} else if hank = strings.Replace(base, c.from, c.to, 1); hank == base && c.from != "" {
				t.Fatalf("no %q in %s", c.from, base)
			}
			got := OwnChanges(mustLoad(t, base, files), mustLoad(t, hank, all), c.id, c.rigDone)
			if s := strings.Join(got, ", "); s != c.want {
				t.Errorf("got %q, want %q", s, c.want)
			}
		})
	}
}
