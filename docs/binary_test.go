package docs

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"hank/internal/built"
	"hank/internal/short"
)

var (
	buildOnce   sync.Once
	buildFolder string // to be removed
	binFolder   string // of the program, built once for all tests
	buildErr    error
)

func TestMain(m *testing.M) {
	code := m.Run()
	if buildFolder != "" {
		os.RemoveAll(buildFolder)
	}
	os.Exit(code)
}

// bin returns the directory with the program.
func bin(t *testing.T) string {
	t.Helper()
	buildOnce.Do(func() {
		if buildFolder, buildErr = os.MkdirTemp("", "hank-docs-"); buildErr != nil {
			return
		}
		var program string
		program, buildErr = built.Hank(buildFolder)
		binFolder = filepath.Dir(program)
	})
	if buildErr != nil {
		t.Fatal(buildErr)
	}
	return binFolder
}

// command prepares a command line of a page, for a directory of its own and a
// user without executions.
func command(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+bin(t)+string(os.PathListSeparator)+os.Getenv("PATH"), "HANK_STATE_DIR="+filepath.Join(dir, ".registry"),
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com")
	return cmd
}

// The reference of the command line is what the program says itself.
func TestHelpOfEveryVerbIsCurrent(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	help := func(args ...string) string {
		out, err := command(t, t.TempDir(), append([]string{filepath.Join(bin(t), "hank")}, args...)...).Output()
		if err != nil {
			t.Fatalf("hank %s: %v", strings.Join(args, " "), err)
		}
		return strings.TrimRight(regexp.MustCompile(`[ \t]+\n`).ReplaceAllString(string(out), "\n"), "\n")
	}
	overview := help("help")
	_, list, found := strings.Cut(overview, "COMMANDS:\n")
	if !found {
		t.Fatalf("hank help lists no commands:\n%s", overview)
	}
	list, _, _ = strings.Cut(list, "\n\n")
	var out strings.Builder
	for _, m := range regexp.MustCompile(`(?m)^   (\w+)`).FindAllStringSubmatch(list, -1) {
		if m[1] != "help" {
			out.WriteString("\n### " + m[1] + "\n\n```\n" + help(m[1], "--help") + "\n```\n")
		}
	}
	generated(t, "command-line.md", out.String()+"\n")
}

func shell(t *testing.T, dir, line string) (out []byte, code int) {
	t.Helper()
	cmd := command(t, dir, "bash", "-c", line+"\nexit $?")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", line, err)
	}
	return out, cmd.ProcessState.ExitCode()
}

// What hank writes is what the published schemas say: states and journals of
// hanks that end well, fail, repeat, archive and set up.
func TestWhatHankWritesFitsThePublishedSchemas(t *testing.T) {
	t.Parallel()
	state, line := published(t, "state.schema.json"), published(t, "events.schema.json")
	for _, hank := range []string{"minimal", "two-steps", "loop", "failing", "ignoring", "archive", "rigs", "rig-failing", "budget-loop", "context-loop"} {
		t.Run(hank, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			from, err := filepath.Abs(filepath.Join(root, "fixtures", "hanks", hank))
			if err != nil {
				t.Fatal(err)
			}
			if out, err := command(t, dir, filepath.Join(bin(t), "hank"), "run", from).CombinedOutput(); err != nil && !strings.Contains(hank, "failing") {
				t.Fatalf("%v\n%s", err, out)
			}
			fits(t, state, []byte(read(t, filepath.Join(dir, ".hankweave", "state.json"))))
			events := read(t, filepath.Join(dir, ".hankweave", "events", "events.jsonl"))
			for l := range strings.Lines(events) {
				fits(t, line, []byte(l))
			}
		})
	}
}

func published(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(read(t, filepath.Join("schema", name))))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func fits(t *testing.T, s *jsonschema.Schema, text []byte) {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err == nil {
		err = s.Validate(v)
	}
	if err != nil {
		t.Errorf("%v\n%.500s", err, text)
	}
}
