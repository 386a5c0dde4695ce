package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/urfave/cli/v2"

	"hank/internal/lazyregexp"
	"hank/internal/short"
)

// verbCase is how a command is called on an execution of the fixture loop that has
// come to its end. Verbs that are not here fail the test.
type verbCase struct {
	args  []string // arguments and flags that it needs
	flag  []string // one more flag, with its value: before or after the arguments
	list  bool     // it prints a list of unbounded length
	plain bool     // it prints no facts of its own, so it has no --json
}

var verbCases = map[string]verbCase{
	"init":        {args: []string{"new"}, flag: []string{"--yes"}},
	"validate":    {args: []string{"hank"}, flag: []string{"--format", "json"}},
	"fmt":         {args: []string{"hank"}, flag: []string{"--check"}},
	"schema":      {args: []string{"--write", "."}, flag: []string{"--json"}},
	"models":      {args: []string{"sonnet"}, flag: []string{"--json"}},
	"plan":        {args: []string{"hank"}, flag: []string{"--limit", "3"}, list: true},
	"match":       {args: []string{"draft.txt"}, flag: []string{"--json"}},
	"run":         {args: []string{"hank"}, flag: []string{"-e", "."}},
	"resume":      {flag: []string{"--note", "again"}},
	"retry":       {args: []string{"finish"}, flag: []string{"--note", "again"}},
	"rollback":    {flag: []string{"--to", "write", "--yes"}},
	"stop":        {flag: []string{"--after-codon"}},
	"approve":     {args: []string{"gate"}, flag: []string{"--reply", "yes"}},
	"reject":      {args: []string{"gate"}, flag: []string{"--reply", "no"}},
	"hold":        {args: []string{"a reason"}, flag: []string{"-e", "."}},
	"release":     {flag: []string{"-e", "."}},
	"why":         {args: []string{"write"}, flag: []string{"-e", "."}},
	"skip":        {flag: []string{"-e", "."}},
	"status":      {flag: []string{"-e", "."}},
	"watch":       {args: []string{"."}, flag: []string{"--plain"}, plain: true},
	"web":         {args: []string{"--url"}, flag: []string{"--allow-host", "hank.example:80"}, plain: true},
	"export":      {args: []string{"html", "pages.html"}, flag: []string{"-e", "."}, plain: true},
	"show":        {args: []string{"write"}, flag: []string{"--limit", "1"}, list: true},
	"log":         {args: []string{"write"}, flag: []string{"--limit", "1"}},
	"events":      {flag: []string{"--codon", "write"}, list: true},
	"checkpoints": {flag: []string{"--limit", "2"}, list: true},
	"diff":        {args: []string{"write", "finish"}, flag: []string{"-e", "."}},
	"restore":     {args: []string{"draft.txt"}, flag: []string{"--from", "write", "--plan"}},
	"land":        {flag: []string{"--branch", "landed"}},
	"cost":        {flag: []string{"--by", "run"}, list: true},
	"doctor":      {flag: []string{"-e", "."}},
	"reset":       {args: []string{"--yes"}, flag: []string{"-e", "."}},
	"gc":          {flag: []string{"--older-than", "1d"}},
	"ls":          {flag: []string{"--limit", "1"}, list: true},
	"version":     {},
	"completion":  {args: []string{"bash"}, plain: true},
}

// refused are the commands that have nothing to do where no run is in progress, no gate
// waits, no page is served, or the workspace is in no repository: they say so, with this code.
var refused = map[string]int{"stop": 2, "skip": 2, "approve": 2, "reject": 2, "land": 2, "web": 2}

// Every command can be learned from its help, takes flags on either side of its
// arguments, and prints JSON that can be read, and nothing else, with --json.
func TestEveryVerb(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	template := t.TempDir()
	fixture, err := filepath.Abs("../../fixtures/hanks/loop")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(template, "hank"), os.DirFS(fixture)); err != nil {
		t.Fatal(err)
	}
	registry := t.TempDir()
	hank := func(t *testing.T, dir string, args ...string) (stdout, stderr string, code int) {
		t.Helper()
		var out, errs bytes.Buffer
		cmd := exec.Command("hank", args...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
		cmd.Env = append(os.Environ(), "HANK_STATE_DIR="+registry, "HANK_UNATTENDED=")
		err := cmd.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return out.String(), errs.String(), cmd.ProcessState.ExitCode()
	}
	if _, errs, code := hank(t, template, "run", "hank"); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	// urfave's application shares state between tests: only names are read.
	for _, command := range newApp().Commands {
		if command.Hidden {
			continue
		}
		k, known := verbCases[command.Name]
		t.Run(command.Name, func(t *testing.T) {
			t.Parallel()
			if !known {
				t.Fatal("the verb is in no test")
			}
			checkHelp(t, command, k)
			help, _, code := hank(t, t.TempDir(), command.Name, "--help")
			if code != 0 || !strings.Contains(help, "OPTIONS") {
				t.Errorf("--help: exit code %d: %s", code, help)
			}
			for _, order := range [][]string{slices.Concat(k.args, k.flag), slices.Concat(k.flag, k.args)} {
				dir := copied(t, template)
				args := append([]string{command.Name}, order...)
				if _, errs, code := hank(t, dir, args...); code != refused[command.Name] {
					t.Errorf("%v: exit code %d: %s", args, code, errs)
				}
				if k.plain {
					continue
				}
				out, errs, code := hank(t, copied(t, template), append(args, "--json")...)
				if code != refused[command.Name] {
					t.Errorf("%v --json: exit code %d: %s", args, code, errs)
				}
				if code == 0 {
					checkJSON(t, out)
				}
			}
			out, errs, code := hank(t, copied(t, template), append(slices.Concat([]string{command.Name}, k.args), "--no-such-flag")...)
			if code != 2 || out != "" || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "has no flag --no-such-flag") {
				t.Errorf("an unknown flag: exit code %d, %q, %q", code, out, errs)
			}
		})
	}
}

var (
	example   = lazyregexp.New(`(?m)^Examples?: .*\bhank `)
	upperWord = late(`[A-Z]{2,}`)
)

// checkHelp wants an example, and each argument explained.
func checkHelp(t *testing.T, c *cli.Command, k verbCase) {
	t.Helper()
	if c.Usage == "" || !example.MatchString(c.Description) {
		t.Errorf("the help has no example: %q", c.Description)
	}
	for _, word := range upperWord().FindAllString(c.ArgsUsage, -1) {
		if !strings.Contains(c.Description, word) && !strings.Contains(c.Usage, strings.ToLower(word)) {
			t.Errorf("the help does not say what %s is", word)
		}
	}
	flags := map[string]bool{}
	for _, f := range c.Flags {
		flags[f.Names()[0]] = true
		if d, ok := f.(cli.DocGenerationFlag); !ok || d.GetUsage() == "" {
			t.Errorf("--%s is not explained", f.Names()[0])
		}
	}
	want := map[string]bool{"json": !k.plain, "limit": k.list, "before": k.list}
	for name, wanted := range want {
		if wanted && !flags[name] {
			t.Errorf("there is no --%s", name)
		}
	}
}

// checkJSON wants one JSON value, or one a line, each with a schema.
func checkJSON(t *testing.T, out string) {
	t.Helper()
	values := 0
	for dec := jsontext.NewDecoder(strings.NewReader(out)); ; values++ {
		var v struct {
			Schema int `json:"schema"`
		}
		if err := json.UnmarshalDecode(dec, &v); err != nil {
			if values == 0 || dec.InputOffset() < int64(len(strings.TrimSpace(out))) {
				t.Errorf("not JSON: %v: %q", err, out)
			}
			return
		}
		if v.Schema == 0 {
			t.Errorf("without schema: %q", out)
		}
	}
}

// copied is a copy of an execution.
func copied(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "exe")
	if out, err := exec.Command("cp", "-a", dir, to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return to
}

// late compiles a regular expression when it is first used: the test binary is hank, too, and
// starts thousands of times.
func late(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
