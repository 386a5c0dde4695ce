package docs

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hank/internal/short"
)

// What action.yml runs, with hank on the PATH: each hank is checked, and a problem of one
// fails the job.
func TestTheActionChecksHanks(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	script, err := filepath.Abs("../scripts/action")
	if err != nil {
		t.Fatal(err)
	}
	const setUp = `mkdir good bad ugly
printf '{\n  "hank": [\n    { "id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "true" }\n  ]\n}\n' >good/hank.json
tr -d '\n' <good/hank.json >ugly/hank.json
sed 's/fresh/new/' good/hank.json >bad/hank.json
`
	for _, c := range []struct {
		environ string
		code    int
		says    string
	}{
		{"HANK_PATHS='good\nugly\n' HANK_FORMAT=false", 0, ""},
		{"HANK_PATHS='good\nugly\n' HANK_FORMAT=true", 1, "ugly/hank.json:1: would be laid out otherwise"},
		{"HANK_PATHS='bad\ngood' HANK_STRICT=true", 3, "::error file=bad/hank.json,line=3,col="},
	} {
		out, code := shell(t, t.TempDir(), setUp+strings.ReplaceAll(c.environ, `\n`, "\n")+" sh "+script)
		if code != c.code || !strings.Contains(string(out), c.says) {
			t.Errorf("%s: exit %d, want %d\n%s", c.environ, code, c.code, out)
		}
	}
}

// The files at the top of the repository name commands and inputs that there are.
func TestHooksAndActionSayWhatTheirPageSays(t *testing.T) {
	t.Parallel()
	page, hooks, action := read(t, "editors.md"), read(t, "../.pre-commit-hooks.yaml"), read(t, "../action.yml")
	ids := regexp.MustCompile(`(?m)^- id: (\S+)\n(?:  .*\n)*?  entry: hank (\S+)$`).FindAllStringSubmatch(hooks, -1)
	if len(ids) != 2 {
		t.Fatalf("hooks: %v", ids)
	}
	for _, m := range ids {
		if m[1] != "hank-"+m[2] || !strings.Contains(page, "- id: "+m[1]+"\n") || !strings.Contains(read(t, "command-line.md"), "hank "+m[2]+" ") {
			t.Errorf("hook %v is not what the pages say", m)
		}
	}
	inputs := regexp.MustCompile(`(?m)^  ([a-z]+):\n    description:`).FindAllStringSubmatch(action, -1)
	if len(inputs) != 3 {
		t.Fatalf("inputs: %v", inputs)
	}
	for _, m := range inputs {
		if !strings.Contains(page, "| `"+m[1]+"` |") || !strings.Contains(action, "${{ inputs."+m[1]+" }}") {
			t.Errorf("input %s is not used, or not in the page", m[1])
		}
	}
}
