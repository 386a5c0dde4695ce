//go:build unix

package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hank/plan"
	"hank/runtime/internal/testkit"
	"hank/runtime/keeper"
)

func newOutputs(t testing.TB, groups ...plan.Output) *Outputs {
	t.Helper()
	o := &Outputs{
		Workspace: t.TempDir(), Dir: filepath.Join(t.TempDir(), "results"), Codon: &plan.Codon{OutputFiles: groups}, CodonID: "c", Environ: os.Environ(),
		Attempt: fmt.Sprintf("outputs-test-%d-%d", os.Getpid(), attempts.Add(1)), Note: func(string, any) {},
		Now: func() time.Time { return time.Unix(1767225600, 0) },
	}
	t.Cleanup(func() { _, _ = keeper.Reap(o.Attempt) })
	return o
}

func output(patterns ...string) plan.Output { return plan.Output{Copy: patterns} }

func checked(run string, patterns ...string) plan.Output {
	return plan.Output{Copy: patterns, BeforeCopy: []plan.Rig{{Type: "command", Command: &plan.Command{Run: run}}}}
}

func (o *Outputs) in(name string) string { return filepath.Join(o.Workspace, name) }

func (o *Outputs) out(name string) string { return filepath.Join(o.Dir, name) }

func mustCopy(t testing.TB, o *Outputs) copied {
	t.Helper()
	done, err := o.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func TestResultsAreCopiedWithTheirPaths(t *testing.T) {
	t.Parallel()
	o := newOutputs(t, output("report.md", "data"), checked("mv report.md final.md", "*.md", "none/*"))
	testkit.Write(t, o.in("report.md"), "report")
	testkit.Write(t, o.in("data/deep/x.csv"), "1,2")
	testkit.Write(t, o.in("data/run.sh"), "#!/bin/sh")
	testkit.Must(t, os.Chmod(o.in("data/run.sh"), 0o755))
	done := mustCopy(t, o)
	want := "./\ndata/\ndata/deep/\ndata/deep/x.csv false \"1,2\"\ndata/run.sh true \"#!/bin/sh\"\nfinal.md false \"report\"\nreport.md false \"report\"\n"
	if got := tree(t, o.Dir); got != want {
		t.Errorf("results:\n%s", got)
	}
	if len(done.Files) != 4 || done.Files[3] != (copiedFile{"final.md", "final.md", false}) || !slices.Equal(done.Unmatched, []string{"none/*"}) {
		t.Errorf("%+v", done)
	}
}

// The compatible system leaves checks out where no output directory is set.
func TestChecksRunWithoutAnOutputFolder(t *testing.T) {
	t.Parallel()
	o := newOutputs(t, checked("touch ran", "*"), checked("echo it is wrong >&2; exit 5", "*"), checked("touch reached", "*"))
	o.Dir = ""
	_, err := o.Run(t.Context())
	var f *Failure
	if !errors.As(err, &f) || f.ExitCode != 5 || f.Type != failedCommand || !strings.Contains(err.Error(), "check 1 of output group 2") || !strings.Contains(err.Error(), "it is wrong") {
		t.Fatalf("%v", err)
	}
	if !testkit.Exists(o.in("ran")) || testkit.Exists(o.in("reached")) {
		t.Error("the checks did not run in order, or went on behind a failure")
	}
}

func TestACheckThatFailsKeepsItsGroupBack(t *testing.T) {
	t.Parallel()
	o := newOutputs(t, output("a"), checked("exit 1", "b"), output("c"))
	for _, name := range []string{"a", "b", "c"} {
		testkit.Write(t, o.in(name), name)
	}
	if _, err := o.Run(t.Context()); err == nil {
		t.Error("no error")
	}
	if got := tree(t, o.Dir); got != "./\na false \"a\"\n" {
		t.Errorf("results: %s", got)
	}
	o.Codon.OutputFiles[1].BeforeCopy[0].AllowFailure = true
	mustCopy(t, o)
	if !testkit.Exists(o.out("b")) || !testkit.Exists(o.out("c")) {
		t.Errorf("results: %s", tree(t, o.Dir))
	}
}

func TestAConflictTakesAnotherNameAndReplacesNothing(t *testing.T) {
	t.Parallel()
	o := newOutputs(t, output("**"))
	for _, name := range []string{"sub/report.tar.gz", "README", ".profile"} {
		testkit.Write(t, o.in(name), "new "+name)
		testkit.Write(t, o.out(name), "old")
	}
	testkit.Write(t, o.out("README_1_1767225600"), "taken")
	testkit.Symlink(t, "nowhere", o.out("README_2_1767225600")) // a dangling link is something too
	done := mustCopy(t, o)
	for name, want := range map[string]string{
		"sub/report.tar.gz": "old", "README": "old", ".profile": "old", "README_1_1767225600": "taken",
		"sub/report.tar_1_1767225600.gz": "new sub/report.tar.gz", "README_3_1767225600": "new README", ".profile_1_1767225600": "new .profile",
	} {
		if got := testkit.Read(t, o.out(name)); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if testkit.Exists(o.out("nowhere")) || len(done.Files) != 3 {
		t.Errorf("%+v\n%s", done, tree(t, o.Dir))
	}

	// The codon runs again, at another time: no second copy of the same.
	before := tree(t, o.Dir)
	o.Now = func() time.Time { return time.Unix(1767229999, 0) }
	for _, f := range mustCopy(t, o).Files {
		if !f.Kept {
			t.Errorf("copied again: %+v", f)
		}
	}
	if now := tree(t, o.Dir); now != before {
		t.Errorf("results were\n%s, are\n%s", before, now)
	}
}

func TestConflictNamesAreRecognised(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a.md", "x/a.md", "a", ".a", "x/.a", "a_1_2.md", "a.tar.gz"} {
		for n := 1; n < 3; n++ {
			if other := conflictName(name, n, 17); !isConflictOf(name, other) {
				t.Errorf("%s is not recognised as a conflict of %s", other, name)
			}
		}
		for _, other := range []string{name, "b_1_2.md", "a_x_2.md", "a__2.md", "a_1_.md", "a_1.md"} {
			if isConflictOf(name, other) {
				t.Errorf("%s is taken for a conflict of %s", other, name)
			}
		}
	}
}

func TestTheSameContentIsNotCopiedAgain(t *testing.T) {
	t.Parallel()
	for _, overwrite := range []bool{false, true} {
		o := newOutputs(t, output("*"))
		o.Overwrite = overwrite
		big := strings.Repeat("0123456789abcdef", 1<<14) // more than one buffer
		testkit.Write(t, o.in("same"), big)
		testkit.Write(t, o.out("same"), big)
		testkit.Must(t, os.Chtimes(o.out("same"), time.Unix(1, 0), time.Unix(1, 0)))
		testkit.Write(t, o.in("last"), big+"x")
		testkit.Write(t, o.out("last"), big+"y")
		done := mustCopy(t, o)
		if info, _ := os.Stat(o.out("same")); info.ModTime().Unix() != 1 {
			t.Error("the file was written again")
		}
		as := "last"
		if !overwrite {
			as = "last_1_1767225600"
		}
		if !slices.Equal(done.Files, []copiedFile{{"last", as, false}, {"same", "same", true}}) || testkit.Read(t, o.out(as)) != big+"x" {
			t.Errorf("overwrite %v: %+v", overwrite, done)
		}
		if entries, _ := os.ReadDir(o.Dir); len(entries) != len(done.Files)+map[bool]int{false: 1}[overwrite] {
			t.Errorf("left: %s", entries)
		}
	}
}

func TestOverwritingDoesNotTouchOtherNamesOfTheOldFile(t *testing.T) {
	t.Parallel()
	o := newOutputs(t, output("*"))
	o.Overwrite = true
	testkit.Write(t, o.in("a"), "new")
	testkit.Write(t, o.in("b"), "new")
	precious := filepath.Join(t.TempDir(), "precious")
	testkit.Write(t, precious, "precious")
	testkit.Must(t, os.MkdirAll(o.Dir, 0o755))
	testkit.Must(t, os.Link(precious, o.out("a")))
	testkit.Symlink(t, precious, o.out("b"))
	mustCopy(t, o)
	if testkit.Read(t, precious) != "precious" || testkit.Read(t, o.out("a")) != "new" || testkit.Read(t, o.out("b")) != "new" {
		t.Errorf("%s", tree(t, o.Dir))
	}
}

func TestOutputsNeverLeaveTheirFolders(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	testkit.Write(t, filepath.Join(outside, "secret"), "secret")
	o := newOutputs(t, output("link", "dir/*", "**/secret", ".git/**", "fifo", "real/*"))
	testkit.Symlink(t, filepath.Join(outside, "secret"), o.in("link"))
	testkit.Symlink(t, outside, o.in("dir"))
	testkit.Must(t, exec.Command("mkfifo", o.in("fifo")).Run())
	testkit.Write(t, o.in(".git/secret"), "git")
	done := mustCopy(t, o)
	if len(done.Files) > 0 || testkit.Exists(o.out("link")) || testkit.Exists(o.out("dir")) || !slices.Equal(done.Skipped, []string{"dir", "fifo", "link"}) {
		t.Errorf("%+v", done)
	}

	// A link out of the output directory is not written through either.
	testkit.Write(t, o.in("real/x"), "x")
	testkit.Must(t, os.MkdirAll(o.Dir, 0o755))
	testkit.Symlink(t, outside, o.out("real"))
	_, err := o.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "real/x") {
		t.Errorf("the error does not name the file: %v", err)
	}
	if testkit.Exists(filepath.Join(outside, "x")) {
		t.Error("it was written outside")
	}
}

func TestAFailedCopyNamesTheFileAndLeavesNoParts(t *testing.T) {
	t.Parallel()
	o := newOutputs(t, output("sub/*", "z"))
	testkit.Write(t, o.in("sub/a"), "a")
	testkit.Write(t, o.in("z"), "z")
	testkit.Write(t, o.out("sub"), "a file in the way")
	if _, err := o.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "sub/a") || !strings.Contains(err.Error(), o.Dir) {
		t.Errorf("%v", err)
	}
	o = newOutputs(t, output("z"))
	o.Overwrite = true
	testkit.Write(t, o.in("z"), "z")
	testkit.Write(t, o.out("z/in the way"), "")
	if _, err := o.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "z: ") {
		t.Errorf("%v", err)
	}
	if got := tree(t, o.Dir); got != "./\nz/\nz/in the way false \"\"\n" {
		t.Errorf("left: %s", got)
	}
}

func TestResultsInTheWorkspaceAreNotResultsOfThemselves(t *testing.T) {
	t.Parallel()
	o := newOutputs(t, output("**/*.md"))
	o.Dir = o.in("results")
	testkit.Write(t, o.in("a.md"), "a")
	for range 3 {
		mustCopy(t, o)
	}
	if got := tree(t, o.Workspace); got != "./\na.md false \"a\"\nresults/\nresults/a.md false \"a\"\n" {
		t.Errorf("%s", got)
	}
}

func TestCopyingStopsOnRequest(t *testing.T) {
	t.Parallel()
	o := newOutputs(t, output("a"))
	testkit.Write(t, o.in("a"), "a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := o.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	o.Codon.OutputFiles = []plan.Output{checked("touch ran", "a")}
	if _, err := o.Run(ctx); !errors.Is(err, context.Canceled) || testkit.Exists(o.in("ran")) {
		t.Errorf("%v", err)
	}
}

func TestAFileThatGrowsWhileItIsCopiedIsAnError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testkit.Write(t, filepath.Join(dir, "log"), "one")
	root, err := os.OpenRoot(dir)
	testkit.Must(t, err)
	defer root.Close()
	f, info, err := openRegular(root, "log")
	testkit.Must(t, err)
	defer f.Close()
	if err := unchanged(f, info, 3); err != nil {
		t.Errorf("a quiet file: %v", err)
	}
	testkit.Write(t, filepath.Join(dir, "log"), "one and two")
	if unchanged(f, info, 3) == nil || unchanged(f, info, 11) == nil {
		t.Error("it was not noticed")
	}
}
