//go:build unix

package keeper

import (
	"errors"
	"hank/internal/programtest"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhatCannotStartIsAClearError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string, mode fs.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := write("plain", "#!/bin/sh\n", 0o600)
	orphan := write("orphan", "#!/no/such/interpreter\n", 0o700)
	prose := write("prose", "just some words\n", 0o700)
	gone := filepath.Join(dir, "gone")
	for _, c := range []struct {
		name string
		edit func(*Spec)
		want string
	}{
		{"no command", func(s *Spec) { s.Args = nil }, "the command is empty"},
		{"no attempt", func(s *Spec) { s.Attempt = "" }, "the attempt has no name"},
		{"unknown program", func(s *Spec) { s.Args = []string{"no-such-agent"} }, `the program "no-such-agent": not found on the PATH (PATH=`},
		{"no PATH", func(s *Spec) { s.Env = nil }, "not found on the PATH (PATH=)"},
		{"missing file", func(s *Spec) { s.Args = []string{gone} }, "gone cannot be started: no such file"},
		{"a directory", func(s *Spec) { s.Args = []string{dir} }, "is a directory"},
		{"not executable", func(s *Spec) { s.Args = []string{plain} }, "plain cannot be started: the file is not executable"},
		{"not executable on PATH", func(s *Spec) { s.Args, s.Env = []string{"plain"}, []string{"PATH=" + dir} }, "plain: the file is not executable"},
		{"no interpreter", func(s *Spec) { s.Args = []string{orphan} }, "the interpreter that its first line names, does not exist"},
		{"no program text", func(s *Spec) { s.Args = []string{prose} }, "it is no program for this machine"},
		{"vanished directory", func(s *Spec) { s.Dir = gone }, "the working directory " + gone + " cannot be entered: no such file"},
		{"file as directory", func(s *Spec) { s.Dir = plain }, "is not a directory"},
		{"relative directory", func(s *Spec) { s.Dir = "here" }, `the working directory "here" is not absolute`},
		{"NUL in an argument", func(s *Spec) { s.Args = append(s.Args, "a\x00b") }, "argument 3 contains a NUL byte"},
		{"NUL in the environment", func(s *Spec) { s.Env = append(s.Env, "A=\x00") }, "environment variable A contains a NUL byte"},
		{"no variable", func(s *Spec) { s.Env = append(s.Env, "nonsense") }, `"nonsense" is not KEY=value`},
		{"long argument", func(s *Spec) { s.Args = append(s.Args, strings.Repeat("x", 128<<10)) }, "argument 3 has 131072 bytes, and the system takes 131071 at most; pass long text through standard input"},
	} {
		spec := shell(t, "exit 0")
		c.edit(&spec)
		p, err := Start(spec, Streams{})
		if err == nil {
			p.Kill()
			_, _ = p.Wait()
			t.Errorf("%s: started", c.name)
			continue
		}
		if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "start the command") {
			t.Errorf("%s: %q does not say %q", c.name, err, c.want)
		}
	}
	_, err := Start(Spec{Args: []string{"no-such-agent"}, Dir: dir, Attempt: "x"}, Streams{})
	if !errors.Is(err, errNoProgram) {
		t.Errorf("%v is not errNoProgram", err)
	}
}

func TestLongestArgumentArrives(t *testing.T) {
	t.Parallel()
	spec := shell(t, "")
	spec.Args = []string{"sh", "-c", `printf %s "$1" | wc -c`, "sh", strings.Repeat("x", 128<<10-1)}
	if _, stdout, _ := run(t, spec); strings.TrimSpace(stdout) != "131071" {
		t.Errorf("stdout %q", stdout)
	}
}

func TestProgramInTheWorkspaceIsNotTakenForOneOnThePath(t *testing.T) {
	t.Parallel()
	spec := shell(t, "")
	programtest.Write(t, filepath.Join(spec.Dir, "agent"), "#!/bin/sh\n")
	spec.Args = []string{"agent"}
	spec.Env = []string{"PATH=:.:" + filepath.Base(spec.Dir)}
	if _, err := Start(spec, Streams{}); !errors.Is(err, errNoProgram) {
		t.Errorf("error %v", err)
	}
	spec.Args = []string{"./agent"} // by path it is meant
	if exit, _, _ := run(t, spec); exit.Code != 0 {
		t.Errorf("exit %+v", exit)
	}
}

func TestAFailedStartLeavesNoDescriptorOpen(t *testing.T) {
	spec := shell(t, "exit 0")
	spec.Args = []string{filepath.Join(spec.Dir, "x")}
	programtest.Write(t, spec.Args[0], "#!/no/such/interpreter\n")
	_, _ = Start(spec, Streams{}) // the watchdog, which stays, is started with the first
	before := openFiles(t)
	for range 5 {
		if _, err := Start(spec, Streams{}); err == nil {
			t.Fatal("started")
		}
	}
	good := shell(t, "exit 0")
	good.Stdin = []byte("x")
	for range 5 {
		run(t, good)
	}
	if after := openFiles(t); after > before {
		t.Errorf("%d descriptors open before, %d after", before, after)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
