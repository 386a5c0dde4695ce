package docs

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hank/internal/short"
)

// The table of the names that others stand beside now is what the schemas say.
func TestTableOfRenamedMembersIsCurrent(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("schema/output/*.schema.json")
	if err != nil || len(files) < 20 {
		t.Fatal(len(files), err)
	}
	in := map[[2]string][]string{} // by old and new name: the commands
	for _, file := range files {
		var s struct {
			Defs map[string]struct {
				Properties map[string]struct {
					Deprecated bool   `json:"deprecated"`
					Instead    string `json:"x-instead"`
				} `json:"properties"`
			} `json:"$defs"`
		}
		if err := json.Unmarshal([]byte(read(t, file)), &s); err != nil {
			t.Fatal(err)
		}
		command := "`" + strings.TrimSuffix(filepath.Base(file), ".schema.json") + "`"
		for _, def := range s.Defs {
			for name, p := range def.Properties {
				key := [2]string{name, p.Instead}
				if p.Deprecated && !slices.Contains(in[key], command) {
					in[key] = append(in[key], command)
				}
			}
		}
	}
	var out strings.Builder
	out.WriteString("\n" + row("old name", "new name", "printed by") + "|---|---|---|\n")
	for _, key := range slices.SortedFunc(maps.Keys(in), func(a, b [2]string) int { return strings.Compare(a[0]+" "+a[1], b[0]+" "+b[1]) }) {
		out.WriteString(row("`"+key[0]+"`", regexp.MustCompile(`\w*[a-z][A-Z]\w*|^\w+$`).ReplaceAllString(key[1], "`$0`"), strings.Join(in[key], ", ")))
	}
	out.WriteString("\n")
	generated(t, "scripting.md", out.String())
}

// Each question of scripting.md is answered by its line, as it is written there.
func TestTheQuestionsOfScriptingAreAnswered(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	jq := t.TempDir()
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", filepath.Join(jq, "jq"), "github.com/itchyny/gojq/cmd/gojq").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := func(line string) string {
		t.Helper()
		cmd := command(t, dir, "bash", "-c", line)
		cmd.Env = append(cmd.Env, "PATH="+jq+string(os.PathListSeparator)+bin(t)+string(os.PathListSeparator)+os.Getenv("PATH"))
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	write("hank.json", `{"meta": {"name": "questions", "version": "1"}, "hank": [
  {"id": "gather", "name": "Gather", "model": "shell", "continuationMode": "fresh", "promptText": "echo '::hank usage {\"costUSD\":0.5}'; echo 1 >report.txt"},
  {"id": "check", "name": "Check", "model": "shell", "continuationMode": "fresh", "promptText": "touch ../begun; while [ ! -e ../go ]; do sleep 0.05; done; test -e ../good || exit 3",
   "gate": {"id": "fine", "when": "after", "kind": "approve", "summary": "Is it fine?"}}
]}`)
	lines := map[string]string{} // by a word of the question
	for _, m := range regexp.MustCompile("(?m)^([A-Z].*\\?.*)\n\n```sh\n(.*)\n```").FindAllStringSubmatch(read(t, "scripting.md"), -1) {
		lines[m[1]] = m[2]
	}
	asked := map[string]bool{}
	ask := func(question, want string) {
		t.Helper()
		for text, line := range lines {
			if strings.HasPrefix(text, question) {
				asked[text] = true
				if got := run(line); !regexp.MustCompile("^(?s:" + want + ")$").MatchString(got) {
					t.Errorf("%s\n%s\nprints %q, want %s", text, line, got, want)
				}
				return
			}
		}
		t.Fatalf("scripting.md has no question %q", question)
	}
	wait := func(script string) {
		run("for i in $(seq 1200); do if " + script + "; then exit 0; fi; sleep 0.05; done; exit 1")
	}

	run("hank run --detach >detached.txt")
	wait("[ -e begun ]")
	ask("Which codon is running", "check")
	ask("What is next", "none")
	write("go", "")
	wait(`[ "$(hank status --json | jq .live)" = false ]`)
	ask("Which codon is running", "none")
	good := run("hank checkpoints --json | jq -r '.checkpoints[] | select(.codonId == \"gather\" and .checkpointKind == \"completed\") | .checkpointSha'")
	if len(good) != 40 {
		t.Fatalf("the checkpoint of gather is %q", good)
	}
	ask("Which checkpoint is the last good one", good)
	ask("What has this run cost", `shell 0\.5`)
	ask("Why did the codon fail", `check: the script ended with exit status 3 \([0-9a-f]{40}\)`)
	ask("What is next", "hank retry")
	ask("Which codon comes next", "check")
	ask("Which gate asks before", "none")
	ask("What needs a decision", "")
	write("agentRoot/report.txt", "edited\n")
	ask("What needs a decision", `the workspace was changed since the last checkpoint \(modified "report.txt"\); .* \[hank retry --keep-tree \| hank retry --restore\]`)
	write("agentRoot/report.txt", "1\n")
	ask("What needs a decision", "")
	ask("Which executions", "")

	write("good", "")
	run("hank retry; [ $? = 7 ]")
	ask("What is next", "none")
	ask("Which codon comes next", "none")
	ask("Which gate asks before", "fine")
	ask("What needs a decision", `waiting for approval at gate fine: Is it fine\?; choose: look at what is judged, then hank approve fine .* or hank reject fine .*`)
	ask("Did the last command fail", "7 waiting: .*fine.*")
	ask("Which executions", regexp.QuoteMeta(dir))
	ask("What has this run cost", `shell 0`)
	run("hank reject fine; hank run; [ $? = 1 ]")
	ask("Why did the codon fail", "check: rejected at gate fine by [^(]*")
	if len(asked) != len(lines) || len(lines) < 8 {
		t.Errorf("of %d questions %d were asked", len(lines), len(asked))
	}
}
