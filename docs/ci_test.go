package docs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hank/internal/short"
)

var shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

// The recipe of ci.md, as it is written there: of a hank that completes, of one that
// fails in its second codon or its first, and of one that cannot run.
func TestTheRecipeForCIWorks(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	recipe := shellBlock.FindStringSubmatch(read(t, "ci.md"))
	if recipe == nil {
		t.Fatal("ci.md has no script")
	}
	const hank = `{"meta": {"name": "nightly", "version": "1"}, "hank": [
  {"id": "gather", "name": "Gather", "model": "shell", "continuationMode": "fresh", "promptText": "echo 1 >report.txt; test ! -e ../../fail.gather", "outputFiles": [{"copy": ["report.txt"]}]},
  {"id": "check", "name": "Check", "model": "shell", "continuationMode": "fresh", "promptText": "echo half >half.txt; test ! -e ../../fail.check"}
]}`
	for _, c := range []struct {
		fails   string
		hank    string
		code    int
		files   string // of the workspace afterwards
		kept    string
		verdict string
		next    int // the code when the cause is gone and the job runs again
	}{
		{"", hank, 0, "half.txt report.txt", "checkpoints cost.json events.jsonl output result.json status.json", "completed", 0},
		{"fail.check", hank, 1, "report.txt", "checkpoints cost.json events.jsonl output result.json status.json", "rolled back", 0},
		{"fail.gather", hank, 1, "", "checkpoints cost.json events.jsonl result.json status.json", "rolled back", 0},
		{"", strings.Replace(hank, `"fresh"`, `"new"`, 1), 3, "", "", "", 3},
	} {
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
		write("ci.sh", recipe[1])
		write("my-hank/hank.json", c.hank)
		if c.fails != "" {
			write(c.fails, "")
		}
		out, code := shell(t, dir, "sh ci.sh my-hank")
		if code != c.code {
			t.Fatalf("%s: exit %d, want %d\n%s", c.fails, code, c.code, out)
		}
		if got := names(t, filepath.Join(dir, "hank-job", "agentRoot")); got != c.files {
			t.Errorf("%s: the workspace has %q, want %q", c.fails, got, c.files)
		}
		if got := names(t, filepath.Join(dir, "artifacts")); got != c.kept {
			t.Errorf("%s: kept are %q, want %q", c.fails, got, c.kept)
		}
		if c.kept != "" {
			var status struct {
				Verdict string `json:"verdict"`
			}
			text, err := os.ReadFile(filepath.Join(dir, "artifacts", "status.json"))
			if err != nil || json.Unmarshal(text, &status) != nil || status.Verdict != c.verdict {
				t.Errorf("%s: the status is %q, want %q: %s", c.fails, status.Verdict, c.verdict, text)
			}
			if out, code := shell(t, dir, "hank checkpoints import artifacts/checkpoints -e again && hank status -e again --json"); code != 0 {
				t.Errorf("%s: the checkpoints cannot be looked into: %s", c.fails, out)
			}
		}
		if c.fails != "" {
			if err := os.Remove(filepath.Join(dir, c.fails)); err != nil {
				t.Fatal(err)
			}
		}
		if out, code := shell(t, dir, "rm -rf artifacts; sh ci.sh my-hank"); code != c.next {
			t.Errorf("%s: the next job ends with %d, want %d\n%s", c.fails, code, c.next, out)
		}
	}
}

// names lists a directory; empty if there is none.
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

// The script that drives a hank through a failure, a rollback, a retry, a gate and a
// branch, as scripts of users can: with exit codes and --json alone.
func TestTheScriptThatDrivesAHankWorks(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	fixture, err := filepath.Abs("../fixtures/continue")
	if err != nil {
		t.Fatal(err)
	}
	if out, code := shell(t, t.TempDir(), "sh "+fixture+"/drive.sh "+fixture); code != 0 {
		t.Fatalf("exit %d\n%s", code, out)
	}
}
