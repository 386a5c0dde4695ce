package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hank/internal/modelserver"
	"hank/internal/short"
)

// The example of the page runs as it says, with a stand-in for the provider.
func TestTheSentinelOfThePageObserves(t *testing.T) {
	short.Skip(t)
	t.Parallel()
	text := read(t, "sentinels.md")
	_, text, _ = strings.Cut(text, "```json\n")
	hank, _, _ := strings.Cut(text, "```")
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "h"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "h", "hank.json"), []byte(hank), 0o644); err != nil {
		t.Fatal(err)
	}
	s := modelserver.NewFunc(t, func(modelserver.Request) modelserver.Turn { return modelserver.Turn{Text: "A file is missing."} })
	run := func(args ...string) string {
		cmd := command(t, dir, append([]string{filepath.Join(bin(t), "hank")}, args...)...)
		cmd.Env = append(cmd.Env, s.Environ()...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("hank %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	if out := run("validate", "h"); strings.Contains(out, "[sentinel-") {
		t.Error(out)
	}
	run("run", "h", "-e", "e")
	if got := read(t, filepath.Join(dir, "e", "agentRoot", "notes", "narrator.md")); got != "A file is missing." {
		t.Errorf("%q", got)
	}
	asked := s.Requests()
	if len(asked) != 1 || !strings.HasPrefix(asked[0].Messages[0].Text, "Codon Build:\n[\n") || !strings.Contains(asked[0].Messages[0].Text, "error: no such file") || !strings.HasPrefix(asked[0].System, "You watch") {
		t.Errorf("%+v", asked)
	}
	if out := run("show", "build", "-e", "e"); !strings.Contains(out, "narrator (anthropic/claude-haiku-4-5): 1 call, $") {
		t.Error(out)
	}
}
