package plan

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"hank/plan/config"
	"hank/plan/diagnostic"
	"hank/plan/frontmatter"
	"hank/plan/variables"
)

var vars = Vars{Workspace: "/run/agentRoot"}

func entryOf(p *Program, id CodonID) Entry { return Entry{Codon: p.Codon(id), CodonID: id} }

func TestPromptsAreAssembledInOrder(t *testing.T) {
	t.Parallel()
	p, ds := Load(os.DirFS("testdata/full"), "hank.json")
	if p == nil {
		t.Fatal(diagnostic.Text(ds))
	}
	system, user, meta, err := p.Prompt(entryOf(p, "survey"), vars)
	if err != nil {
		t.Fatal(err)
	}
	if want := "You are careful.\n\nHouse rules: be exact.\n\nBe brief."; system != want {
		t.Errorf("system prompt %q, want %q", system, want)
	}
	if want := "Look at /run/agentRoot/read_only_data_source.\nWrite to /run/agentRoot.\n\nHouse rules: be exact.\n"; user != want {
		t.Errorf("user prompt %q, want %q", user, want)
	}
	if want := (frontmatter.Meta{Name: "survey", Description: "Look: around", Version: "2", Tags: []string{"a", "b"}}); !reflect.DeepEqual(meta, want) {
		t.Errorf("front matter %+v", meta)
	}
	more, err := p.Extension(entryOf(p, "exhaust"), vars)
	if err != nil || more != "More" {
		t.Errorf("extension %q, %v", more, err)
	}
}

// A script must arrive as its author wrote it, but for the placeholders.
func TestScriptsArriveUnchanged(t *testing.T) {
	t.Parallel()
	p, _ := Load(os.DirFS("testdata/full"), "hank.json")
	system, user, meta, err := p.Prompt(entryOf(p, "count"), Vars{Workspace: "/w", Data: "/data"})
	if err != nil || system != "" || !reflect.DeepEqual(meta, frontmatter.Meta{}) {
		t.Fatalf("%q %+v %v", system, meta, err)
	}
	want := strings.NewReplacer("<%CODON_ID%>", "count", "<%DATA_DIR%>", "/data").Replace(string(readFile(t, "testdata/full/prompts/count.sh")))
	if user != want {
		t.Errorf("got %q, want %q", user, want)
	}
	p = mustLoad(t, hankOf(shellCodon("a", `"exhaustWithPrompt": "echo '<!-- <%CODON_ID%> -->' >a.html"`)))
	more, err := p.Extension(entryOf(p, "a"), Vars{Workspace: "/w"})
	if err != nil || more != "echo '<!-- a -->' >a.html" {
		t.Errorf("the script that is repeated: %q, %v", more, err)
	}
}

// A byte order mark that an editor has written is no part of a prompt, in each of its files.
func TestAByteOrderMarkIsNoPartOfAPrompt(t *testing.T) {
	t.Parallel()
	p := mustLoad(t, hankOf(
		strings.Replace(shellCodon("a"), `"promptText": "true"`, `"promptFile": ["a.sh", "b.sh"]`, 1),
		agentCodon("b", "fresh", `"promptFile": "b.md", "appendSystemPromptFile": "c.md"`)),
		map[string]string{"a.sh": "\ufeffecho a\n", "b.sh": "\ufeffecho b\n", "b.md": "\ufeff---\nname: x\n---\nWrite.\n", "c.md": "\ufeffBe brief."})
	if _, script, _, err := p.Prompt(entryOf(p, "a"), vars); err != nil || script != "echo a\n\necho b\n" {
		t.Errorf("script %q, %v", script, err)
	}
	if system, prompt, meta, err := p.Prompt(entryOf(p, "b"), vars); err != nil || system != "Be brief." || prompt != "Write.\n" || meta.Name != "x" {
		t.Errorf("%q, %q, %+v, %v", system, prompt, meta, err)
	}
}

func TestLoopPromptsKnowTheirIteration(t *testing.T) {
	t.Parallel()
	p, _ := Load(os.DirFS("testdata/full"), "hank.json")
	for _, e := range p.Derive(known(map[CodonID]Outcome{"write#0": {Status: Completed}})) {
		if e.CodonID == "write#1" {
			if _, user, _, err := p.Prompt(e, vars); err != nil || user != "Iteration 1 of write#1" {
				t.Errorf("got %q, %v", user, err)
			}
			return
		}
	}
	t.Fatal("there is no write#1")
}

func TestPromptTextProcessing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"a<!-- x -->b", "ab"},
		{"a\n<!-- x\ny -->\nb", "a\nb"},
		{"a\r\n<!-- x -->\r\nb", "a\r\nb"},
		{"<!-- a --><!-- b -->\n\nc", "\nc"},
		{"a <!-- never ends", "a <!-- never ends"},
		{"<%PROJECT_DIR%>|<%EXECUTION_DIR%>|<%AGENT_ROOT%>|<%DATA_DIR%>", "/w<!--x-->|/w<!--x-->|/w<!--x-->|/w<!--x-->/read_only_data_source"},
		{"<% unknown %> <%= AGENT_ROOT %>", "<% unknown %> <%= AGENT_ROOT %>"},
	} {
		p := mustLoad(t, hankOf(`{"id": "a", "name": "A", "model": "haiku", "continuationMode": "fresh", "promptFile": "p.md"}`), map[string]string{"p.md": c.text})
		_, user, _, err := p.Prompt(entryOf(p, "a"), Vars{Workspace: "/w<!--x-->"})
		if err != nil || user != c.want {
			t.Errorf("%q: got %q (%v), want %q", c.text, user, err, c.want)
		}
	}
}

func TestOfTwoPromptsTheFileWins(t *testing.T) {
	t.Parallel()
	p := mustLoad(t, hankOf(shellCodon("a", `"promptFile": "p.sh"`)), map[string]string{"p.sh": "of the file"})
	if _, user, _, err := p.Prompt(entryOf(p, "a"), vars); err != nil || user != "of the file" {
		t.Errorf("got %q, %v", user, err)
	}
}

func TestPromptsOfAnotherHankAreRefused(t *testing.T) {
	t.Parallel()
	p := mustLoad(t, hankOf(shellCodon("a")))
	if _, _, _, err := p.Prompt(Entry{CodonID: "x", Codon: &Codon{ID: "x", PromptFile: Refs{"gone.md"}}}, vars); err == nil || !strings.Contains(err.Error(), "gone.md") {
		t.Errorf("got %v", err)
	}
	if _, _, _, err := p.Prompt(Entry{CodonID: "x"}, vars); err == nil {
		t.Error("an entry without codon has no prompt")
	}
}

func TestFrontmatterForms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text    string
		meta    frontmatter.Meta
		rest    string
		problem bool
	}{
		{text: "no front matter", rest: "no front matter"},
		{text: "--- \nname: x\n---\n", rest: "--- \nname: x\n---\n"},
		{text: "---\n---\nbody", rest: "body"},
		{text: "---\r\nname: x\r\n---\r\nbody", meta: frontmatter.Meta{Name: "x"}, rest: "body"},
		{text: "---\nname: 'it''s'\nauthor: \"a\\tb\"\n---\n", meta: frontmatter.Meta{Name: "it's", Author: "a\tb"}},
		{text: "---\ntags:\n  - a\n  - 'b c'\nother:\n  - z\n---\nx", meta: frontmatter.Meta{Tags: []string{"a", "b c"}}, rest: "x"},
		{text: "---\ntags: one\n# comment\n\nunknown: {a: 1}\n---\nx", meta: frontmatter.Meta{Tags: []string{"one"}}, rest: "x"},
		{text: "---\ndescription: >\n  two\n  lines\n---\nx", meta: frontmatter.Meta{Description: "two lines"}, rest: "x"},
		{text: "---\nnonsense\nname: x\n---\ny", meta: frontmatter.Meta{Name: "x"}, rest: "y", problem: true},
		{text: "---\nname: x\n", rest: "---\nname: x\n", problem: true},
		{text: "---\nname: x\n---", meta: frontmatter.Meta{Name: "x"}},
	} {
		meta, rest, problem := frontmatter.Split(c.text)
		if !reflect.DeepEqual(meta, c.meta) || rest != c.rest || (problem != "") != c.problem {
			t.Errorf("%q: got %+v, %q, %q", c.text, meta, rest, problem)
		}
	}
}

func TestWhatLooksLikeAPlaceholderMustBeOne(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"<%DATA_DIR%> <%AGENT_ROOT%> <%PROJECT_DIR%> <%EXECUTION_DIR%> <%ITERATION%> <%CODON_ID%>": "",
		"in <%DATADIR%>":       "3 <%DATADIR%> DATA_DIR",
		"<%DATA_DIRS%>":        "0 <%DATA_DIRS%> DATA_DIR",
		"<% DATA_DIR %>":       "0 <% DATA_DIR %> DATA_DIR",
		"<%data_dir%>":         "0 <%data_dir%> DATA_DIR",
		"<%WHATEVER_IT_MAY%>":  "0 <%WHATEVER_IT_MAY%>",
		"<% end %><%= x %>":    "", // ERB, EJS, Eta: what the prompt may be about
		"<%end%> <%a b%> <%%>": "",
		"<!-- <%DATADIR%> -->": "",
	} {
		var got []string
		variables.NamesOf(nil).Unknown(text, false, func(offset int, message, hint string) {
			written, _, _ := strings.Cut(message, " is not a placeholder")
			near, _, _ := strings.Cut(hint, "?")
			near = strings.TrimSuffix(strings.TrimPrefix(near, "did you mean <%"), "%>")
			if strings.HasPrefix(near, "the placeholders are") {
				near = ""
			}
			got = append(got, strings.TrimSpace(fmt.Sprint(offset, " ", written, " ", near)))
		})
		if s := strings.Join(got, "; "); s != want {
			t.Errorf("%q: got %q, want %q", text, s, want)
		}
	}
	unknown := 0
	variables.NamesOf(nil).Unknown("<!-- <%DATADIR%> -->", true, func(int, string, string) { unknown++ })
	if unknown != 1 {
		t.Error("a script has no comments of HTML")
	}
}

func TestAnUnknownPlaceholderIsAnErrorWhereverItStands(t *testing.T) {
	t.Parallel()
	const bad = "line\nread <%DATADIR%>"
	agent := func(fields string) string {
		return `{"id": "a", "name": "A", "model": "haiku", "continuationMode": "fresh", ` + fields + `}`
	}
	for name, hank := range map[string]string{
		"script":      `{"hank": [{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptFile": "bad.md"}]}`,
		"prompt":      hankOf(agent(`"promptFile": "bad.md"`)),
		"system":      hankOf(agent(`"promptText": "x", "appendSystemPromptFile": "bad.md"`)),
		"global":      `{"globalSystemPromptFile": "bad.md", "hank": [` + shellCodon("a") + `]}`,
		"text":        hankOf(agent(`"promptText": "<%DATADIR%>"`)),
		"extension":   hankOf(agent(`"promptText": "x", "exhaustWithPrompt": "<%DATADIR%>"`)),
		"global text": `{"globalSystemPromptText": "<%DATADIR%>", "hank": [` + shellCodon("a") + `]}`,
	} {
		p, ds := LoadWith(folder(map[string]string{"hank.json": hank, "bad.md": bad}), "hank.json", config.Layers{})
		if rules := rulesOf(errorsOf(ds)); p != nil || len(rules) != 1 || rules[0] != "unknown-placeholder" {
			t.Errorf("%s: %v", name, ds)
		} else if d := errorsOf(ds)[0]; strings.HasSuffix(d.File, ".md") && (d.Line != 2 || d.Column != 6) {
			t.Errorf("%s: %v", name, d)
		}
		if p, ds := LoadWith(folder(map[string]string{"hank.json": hank, "bad.md": bad}), "hank.json", config.Layers{AnyIDs: true}); p == nil {
			t.Errorf("%s, as Hankweave ran it: %v", name, ds)
		}
	}
}

func TestPromptsSayWhereTheirCodonStands(t *testing.T) {
	t.Parallel()
	const text = `"promptText": "<%ITERATION%>/<%ITERATION_LIMIT%> after <%LAST_OUTCOME%>, $<%BUDGET_LEFT%>, <%TIME_LEFT%>s, to <%OUTPUT_DIR%>, <%DECISION_FILE%>, <%PROGRESS_FILE%>"`
	voter := strings.Replace(shellCodon("a"), `"promptText": "true"`, text, 1)
	p := mustLoad(t, hankOf(loopOf("l", `{"type": "plateau", "limit": 7, "vote": "agent"}`, voter), strings.Replace(shellCodon("z"), `"promptText": "true"`, `"promptText": "<%ITERATION%>/<%ITERATION_LIMIT%> <%LAST_OUTCOME%> $<%BUDGET_LEFT%> <%OUTPUT_DIR%>"`, 1)))
	for _, c := range []struct {
		at   int
		v    Vars
		want string
	}{
		{0, Vars{Workspace: "/w", LastOutcome: "failed: it was late", DollarsLeft: "0.25", SecondsLeft: "60", Output: "/out", Decision: "/tmp/d.json"},
			"0/7 after failed: it was late, $0.25, 60s, to /out, /tmp/d.json, /w/.hank-progress-l.md"},
		{1, Vars{Workspace: "/w"}, "0/1 none $unlimited /w"},
	} {
		if _, got, _, err := p.Prompt(p.Initial()[c.at], c.v); err != nil || got != c.want {
			t.Errorf("entry %d: %q, want %q (%v)", c.at, got, c.want, err)
		}
	}
	if e := p.Initial()[0]; !p.Votes(e) || e.LoopContext.ProgressFile != ".hank-progress-l.md" {
		t.Errorf("%+v", e.LoopContext)
	}
	q := mustLoad(t, hankOf(loopOf("l", limit(2), shellCodon("a"))))
	if e := q.Initial()[0]; q.Votes(e) || e.LoopContext.ProgressFile != "" {
		t.Errorf("a loop that asks for no progress file has one: %+v", e.LoopContext)
	}
}

// What a plan says of prompts is the length of what agents are told, and a file that many
// codons name is looked at once.
func TestPromptsAreMeasuredOnce(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{
		"p.md": {Data: []byte("---\nname: p\n---\nDo <!-- not --> <%CODON_ID%> and <%LONG%>.\n<!-- <%LONG%>")}, "q.md": {Data: []byte("<!-- x\n--> and <%LONG%>")},
		"hank.json": {Data: []byte(`{"variables": {"LONG": "` + strings.Repeat("l", 1000) + `"}, "globalSystemPromptFile": "q.md", "hank": [
			{"id": "a", "name": "a", "model": "haiku", "continuationMode": "fresh", "promptFile": ["p.md", "q.md"]},
			{"id": "longer", "name": "b", "model": "haiku", "continuationMode": "fresh", "promptFile": ["p.md", "q.md"], "appendSystemPromptText": "<%CODON_ID%>", "exhaustWithPrompt": "<!-- --><%LONG%>"},
			{"id": "s", "name": "s", "model": "shell", "continuationMode": "fresh", "promptFile": ["p.md", "q.md"], "exhaustWithPrompt": "<!-- --><%LONG%>"},
			{"id": "text", "name": "t", "model": "haiku", "continuationMode": "fresh", "promptText": "p.md"}]}`)},
	}
	p, ds := Load(files, "hank.json")
	if p == nil {
		t.Fatal(diagnostic.Text(ds))
	}
	sizes := p.Sizes()
	for _, e := range p.Initial() {
		system, user, _, err := p.Prompt(e, Vars{})
		more, also := p.Extension(e, Vars{})
		if err != nil || also != nil {
			t.Fatal(err, also)
		}
		s, u, m, err := sizes(e)
		if err != nil || s != len(system) || u != len(user) || m != len(more) {
			t.Errorf("%s: %d, %d and %d bytes, want %d, %d and %d (%v)", e.CodonID, s, u, m, len(system), len(user), len(more), err)
		}
	}
	entry := p.Initial()[1]
	system, user, _, _ := sizes(entry)
	p.texts["p.md"], p.texts["q.md"] = "other", "texts"
	if s, u, _, _ := sizes(entry); s != system || u != user {
		t.Error("the files were looked at again")
	}

	read, shared := 0, variables.Mentions{}
	text := func(string) string { read++; return "$HANK_PROGRESS_FILE" }
	for range 3 {
		for _, part := range textsOfCodon(p.Hank, p.Codon("longer")) {
			if got := part.mentioned(shared, text); got.AnyProgress != (part.file != "") || got.Progress {
				t.Errorf("%+v asks for %+v", part, got)
			}
		}
	}
	if read != 2 {
		t.Errorf("two files were read %d times", read)
	}
}
