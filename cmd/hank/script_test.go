package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"

	"hank/internal/race"
	"hank/internal/sandbox"
	"hank/plan/kind"
)

// The test binary is hank: its commands, its keeper, its replays, its costs.
func TestMain(m *testing.M) {
	// The race detector lets every process sleep for a second at its end.
	os.Setenv("GORACE", strings.TrimSpace(os.Getenv("GORACE")+" atexit_sleep_ms=0"))
	testscript.Main(m, map[string]func(){"hank": func() { os.Exit(recorded()) }})
}

// raced are the scripts that run with the race detector; scripts/test runs all without it.
var raced = []string{"gates_wait", "log", "notify", "steering", "streamed"}

// TestScripts runs the scripts that are the specification of the command line.
// Besides what testscript knows they may say:
//
//	model …               set the provider of anthropic models: see standIn
//	code N COMMAND…       run it and want this exit code
//	capture VAR REGEXP    set VAR to the first group of a match in the last output
//	remember NAME PATH…   keep a digest of all names, modes and bytes below
//	same NAME PATH…       want the same digest again
//	await FILE            wait until it is there
//	count N REGEXP        want so many matches in the last output
//	plain                 want nothing in the last output that steers a terminal
//	hankweave DIR …       lay out an execution that Hankweave began
func TestScripts(t *testing.T) {
	t.Parallel()
	fixtures, err := filepath.Abs("../../fixtures")
	if err != nil {
		t.Fatal(err)
	}
	// Scripts run hank as another user, too, who may not go through a directory of the test.
	printed, err := os.MkdirTemp("", "hank-printed-")
	if err == nil {
		err = os.Chmod(printed, 0o777)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(printed) })
	t.Cleanup(func() {
		checkPrinted(t, printed, race.Step == 1 && !testing.Short() && flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.skip").Value.String() == "")
	})
	dir, files := "testdata/script", []string(nil)
	if race.Step > 1 { // a command takes five times as long with it; these have the most going on at once
		for _, name := range raced {
			files = append(files, filepath.Join(dir, name+".txtar"))
		}
		dir = ""
	}
	testscript.Run(t, testscript.Params{
		Dir: dir, Files: files,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HANKS", filepath.Join(fixtures, "hanks"))
			e.Setenv("QUICKSTART", filepath.Join(fixtures, "quickstart"))
			e.Setenv("RECORDED", filepath.Join(fixtures, "claude"))
			e.Setenv("HANK_STATE_DIR", filepath.Join(e.WorkDir, ".registry"))
			consents := filepath.Join(e.WorkDir, ".registry", "consents") // they have a script of their own
			if err := os.MkdirAll(consents, 0o700); err != nil {
				return err
			}
			for agent := range kind.All() {
				if err := os.WriteFile(filepath.Join(consents, agent.Name+".json"), nil, 0o600); err != nil {
					return err
				}
			}
			e.Setenv("GORACE", os.Getenv("GORACE"))
			e.Setenv(recordsDir, printed)
			e.Setenv("BAD", "\x1b]0;title\a\x1b[2J\u009b2JOWNED") // what no terminal may be given
			e.Setenv("USER", "tester")
			e.Setenv("GIT_CONFIG_NOSYSTEM", "1")
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name == "root" {
				return os.Getuid() == 0, nil
			}
			if name == "landlock" {
				return sandbox.Kernel().InForce(), nil
			}
			return false, fmt.Errorf("unknown condition %s", name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": code, "capture": capture, "remember": remember, "same": same, "await": await, "count": counted, "plain": plain, "hankweave": layHankweave, "model": standIn,
		},
	})
}

func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N command…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if strings.HasPrefix(ts.ReadFile("stderr"), "panic: ") || strings.Contains(ts.ReadFile("stderr"), "\ngoroutine ") {
		ts.Fatalf("it has panicked, which is exit code 2, too")
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: capture VAR REGEXP")
	}
	m := regexp.MustCompile("(?m)" + args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if len(m) < 2 {
		ts.Fatalf("no match for %s", args[1])
	}
	ts.Setenv(args[0], m[1])
}

func counted(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: count N REGEXP")
	}
	found := regexp.MustCompile("(?m)"+args[1]).FindAllString(ts.ReadFile("stdout"), -1)
	if strconv.Itoa(len(found)) != args[0] {
		ts.Fatalf("%d matches of %s, want %s: %q", len(found), args[1], args[0], found)
	}
}

func plain(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: plain")
	}
	for _, name := range []string{"stdout", "stderr"} {
		for i, r := range ts.ReadFile(name) {
			if r != '\n' && r != '\t' && unicode.IsControl(r) || r == utf8.RuneError {
				ts.Fatalf("%s has %q at %d", name, r, i)
			}
		}
	}
}

func remember(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: remember NAME PATH…")
	}
	ts.Setenv("DIGEST_"+args[0], digestOf(ts, args[1:]))
}

func same(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: same NAME PATH…")
	}
	old := ts.Getenv("DIGEST_" + args[0])
	if old == "" {
		ts.Fatalf("nothing is remembered as %s", args[0])
	}
	if (digestOf(ts, args[1:]) == old) == neg {
		ts.Fatalf("%v: want the same as %s: %v", args[1:], args[0], !neg)
	}
}

func digestOf(ts *testscript.TestScript, paths []string) string {
	sum := sha256.New()
	for _, p := range paths {
		p = ts.MkAbs(p)
		ts.Check(filepath.WalkDir(p, func(name string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := e.Info()
			if err != nil {
				return err
			}
			rel, _ := filepath.Rel(p, name)
			fmt.Fprintf(sum, "%q %s\n", rel, info.Mode())
			var content []byte
			if info.Mode().IsRegular() {
				content, err = os.ReadFile(name)
			} else if info.Mode()&fs.ModeSymlink != 0 {
				var to string
				to, err = os.Readlink(name)
				content = []byte(to)
			}
			fmt.Fprintf(sum, "%d ", len(content))
			sum.Write(content)
			return err
		}))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// await polls: how long a process needs to get somewhere is not in our hands.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: await FILE")
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
	}
	ts.Fatalf("%s does not come", args[0])
}
