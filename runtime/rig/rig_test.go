//go:build unix

package rig

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/go-json-experiment/json"

	"hank/internal/short"
	"hank/plan"
	"hank/plan/steps"
	"hank/recovery/layout"
	"hank/runtime/internal/testkit"
	"hank/runtime/keeper"
)

// noted is an event that was taken by Note.
type noted struct {
	kind string
	data any
}

// bench is a rig on a workspace of its own, with what it did.
type bench struct {
	Setup
	events []noted
	saved  []string
	killed []keeper.Leftover
}

var attempts atomic.Int64

// hankFiles is a hank whose only codon has a rig, and what the rig can copy.
func hankFiles(t testing.TB, rig string) fstest.MapFS {
	t.Helper()
	return fstest.MapFS{
		"hank.json":          {Data: []byte(`{"hank": [{"id": "c", "name": "C", "model": "shell", "continuationMode": "fresh", "promptText": "true", "rigSetup": ` + rig + `}]}`)},
		"note.md":            {Data: []byte("a note\n"), Mode: 0o644},
		"run.sh":             {Data: []byte("#!/bin/sh\n"), Mode: 0o755},
		"kit/a.txt":          {Data: []byte("new a\n"), Mode: 0o644},
		"kit/bin/tool":       {Data: []byte("#!/bin/sh\necho tool\n"), Mode: 0o755},
		"kit/deep/er/x.json": {Data: []byte("{}"), Mode: 0o644},
		"kit/empty":          {Mode: fs.ModeDir | 0o755},
	}
}

func newBench(t testing.TB, rig string) *bench {
	t.Helper()
	return benchFor(t, hankFiles(t, rig))
}

func benchFor(t testing.TB, files fs.FS) *bench {
	t.Helper()
	p, ds := plan.Load(files, "hank.json")
	if p == nil {
		t.Fatal(ds)
	}
	b := &bench{}
	b.Setup = Setup{
		Workspace: t.TempDir(), Program: p, Codon: p.Codon("c"), CodonID: "c", Environ: os.Environ(),
		Attempt: fmt.Sprintf("rig-test-%d-%d", os.Getpid(), attempts.Add(1)),
		Note:    func(kind string, data any) { b.events = append(b.events, noted{kind, data}) },
		Save:    func(targets []string) error { b.saved = append(b.saved, targets...); return nil },
		Killed:  func(exit keeper.Exit) { b.killed = append(b.killed, exit.Killed...) },
	}
	t.Cleanup(func() { _, _ = keeper.Reap(b.Attempt) })
	return b
}

func (b *bench) path(name string) string { return filepath.Join(b.Workspace, name) }

// of lists the data of the events of a kind.
func of[T any](b *bench) (list []T) {
	for _, e := range b.events {
		if data, ok := e.data.(T); ok {
			list = append(list, data)
		}
	}
	return list
}

// tree describes everything below a directory, without following links.
func tree(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		switch info, _ := e.Info(); {
		case e.IsDir():
			fmt.Fprintf(&b, "%s/\n", rel)
		case e.Type().IsRegular():
			fmt.Fprintf(&b, "%s %v %q\n", rel, info.Mode()&0o100 != 0, testkit.Read(t, name))
		default:
			target, _ := os.Readlink(name)
			fmt.Fprintf(&b, "%s %v -> %s\n", rel, e.Type(), target)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

const copyKit = `{"type": "copy", "copy": {"from": "kit", "to": "lib"}}`

const placedKit = `./
a.txt false "new a\n"
bin/
bin/tool true "#!/bin/sh\necho tool\n"
deep/
deep/er/
deep/er/x.json false "{}"
empty/
`

func TestARigDoesItsOperationsInOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t, `[
		{"type": "command", "command": {"run": "mkdir -p sub && pwd > where"}},
		{"type": "copy", "copy": {"from": "./kit", "to": "sub/lib"}},
		{"type": "command", "command": {"run": "bin/tool > said; pwd > where", "workingDirectory": "lastCopied"}},
		{"type": "copy", "copy": {"from": "run.sh", "to": "sub/go"}},
		{"type": "command", "command": {"run": "test -x go && test ! -x lib/a.txt && pwd", "workingDirectory": "lastCopied"}}]`)
	b.Checkpoint = true
	if f := b.Run(t.Context()); f != nil {
		t.Fatal(f)
	}
	for name, want := range map[string]string{
		"where": b.Workspace + "\n", "sub/lib/where": b.path("sub/lib") + "\n", "sub/lib/said": "tool\n", "sub/go": "#!/bin/sh\n",
	} {
		if got := testkit.Read(t, b.path(name)); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if len(b.saved) > 0 {
		t.Errorf("nothing was replaced, but %q was saved", b.saved)
	}
	done := of[rigSetupCompleted](b)
	if len(done) != 1 || done[0].CodonID != "c" || done[0].RigType != "commands" || done[0].CommandCount != 5 || !done[0].CreatedCheckpoint {
		t.Errorf("completed events: %+v", done)
	}
	if out := of[rigOutput](b); len(out) != 1 || out[0] != (rigOutput{"c", "stdout", b.path("sub"), 4}) {
		t.Errorf("output events: %+v", out)
	}
}

func TestACopyReplacesWholeTargetsAfterTheyWereSaved(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(b *bench){
		"folder": func(b *bench) {
			testkit.Write(t, b.path("lib/old/x"), "old")
			testkit.Write(t, b.path("lib/a.txt"), "old a")
		},
		"file":  func(b *bench) { testkit.Write(t, b.path("lib"), "a file") },
		"link":  func(b *bench) { testkit.Write(t, b.path("real/x"), "real"); testkit.Symlink(t, "real", b.path("lib")) },
		"fifo":  func(b *bench) { testkit.Must(t, exec.Command("mkfifo", b.path("lib")).Run()) },
		"empty": func(b *bench) { testkit.Must(t, os.Mkdir(b.path("lib"), 0o755)) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "["+copyKit+"]")
			prepare(b)
			before := tree(t, b.Workspace)
			save := b.Save
			b.Save = func(targets []string) error {
				for _, hidden := range []string{PlaceNew, PlaceOld} {
					testkit.Must(t, ignoreMissing(os.Rename(b.path(hidden), filepath.Join(t.TempDir(), hidden))))
				}
				if now := tree(t, b.Workspace); now != before {
					t.Errorf("when it is saved the workspace is\n%s, was\n%s", now, before)
				}
				return errors.Join(save(targets), errors.New("enough seen"))
			}
			if f := b.Run(t.Context()); f == nil || !strings.Contains(f.Message, "enough seen") {
				t.Fatalf("a target that could not be saved: %v", f)
			}
			if now := tree(t, b.Workspace); now != before {
				t.Fatalf("a target that could not be saved was changed:\n%s, was\n%s", now, before)
			}
			b.Save, b.saved = save, nil
			if f := b.Run(t.Context()); f != nil {
				t.Fatal(f)
			}
			if got := tree(t, b.path("lib")); got != placedKit {
				t.Errorf("the target is\n%s", got)
			}
			if !slices.Equal(b.saved, []string{"lib"}) {
				t.Errorf("saved %q", b.saved)
			}
			if name == "link" && testkit.Read(t, b.path("real/x")) != "real" {
				t.Error("the copy went through the link that it replaced")
			}
			if left, _ := filepath.Glob(b.path(".hankweave*")); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

func TestAFileCopyLeavesOtherNamesOfItsOldContentAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t, `[{"type": "copy", "copy": {"from": "note.md", "to": "n"}}]`)
	precious := filepath.Join(t.TempDir(), "precious")
	testkit.Write(t, precious, "precious")
	testkit.Must(t, os.Link(precious, b.path("n")))
	open, err := os.Open(b.path("n"))
	testkit.Must(t, err)
	defer open.Close()
	if f := b.Run(t.Context()); f != nil {
		t.Fatal(f)
	}
	if testkit.Read(t, precious) != "precious" || testkit.Read(t, b.path("n")) != "a note\n" {
		t.Errorf("hard link has %q, target %q", testkit.Read(t, precious), testkit.Read(t, b.path("n")))
	}
}

func TestACopyNeverWritesThroughALink(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	testkit.Write(t, filepath.Join(outside, "lib/a.txt"), "outside")
	for name, c := range map[string]struct{ link, to string }{
		"absolute, out":    {outside, "sub/lib"},
		"relative, out":    {"../" + filepath.Base(outside), "sub/lib"},
		"to the inside":    {"inside", "sub/lib"},
		"to a repository":  {".git", "sub/lib"},
		"to the execution": {".hankweave", "sub/lib"},
		"to nowhere":       {"nowhere", "sub/lib"},
		"to itself":        {"sub", "sub/lib"},
		"in the middle":    {outside, "sub/deep/lib"},
		"to the root":      {".", "sub/inside/lib"},
		"over the top":     {"..", "sub/lib"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, `[{"type": "copy", "copy": {"from": "kit", "to": "`+c.to+`"}}]`)
			for _, dir := range []string{"inside", ".git", ".hankweave"} {
				testkit.Must(t, os.Mkdir(b.path(dir), 0o755))
			}
			testkit.Symlink(t, c.link, b.path("sub"))
			before, beforeOut := tree(t, b.Workspace), tree(t, outside)
			f := b.Run(t.Context())
			if f == nil || f.Type != failedOther || !strings.Contains(f.Message, "symbolic link") {
				t.Errorf("the failure is %+v", f)
			}
			if now := tree(t, b.Workspace) + tree(t, outside); now != before+beforeOut {
				t.Errorf("something was changed: %s", now)
			}
		})
	}
}

func TestACopyRefusesProtectedNames(t *testing.T) {
	t.Parallel()
	for _, to := range []string{".git", ".GIT/hooks", "a/.git", ".hankweave", ".HankWeave/state.json", "a/.hankweave-x", "read_only_data_source",
		"Read_Only_Data_Source/x", "rigArchive", "rigarchive/x", ".", "a/..", "../x", "/etc/x", "a\x00b", ""} {
		b := newBench(t, "["+copyKit+"]")
		testkit.Must(t, os.Mkdir(b.path("a"), 0o755))
		c := *b.Codon
		c.RigSetup = []plan.Rig{{Type: "copy", Copy: &plan.Copy{From: "kit", To: to}}}
		b.Codon = &c
		before := tree(t, b.Workspace)
		if f := b.Run(t.Context()); f == nil || f.Type != failedOther {
			t.Errorf("target %q: %+v", to, f)
		}
		if now := tree(t, b.Workspace); now != before {
			t.Errorf("target %q left %s", to, now)
		}
	}
}

// A program that was stored before hank validate refused them may have such names.
func TestACopyNeverBringsNamesThatCheckpointsDoNotHold(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"kit/deep/_hankweave-rig-new/x", "kit/_HankWeave-restore-x"} {
		files := hankFiles(t, "["+copyKit+"]")
		files[name] = &fstest.MapFile{Data: []byte("{}")}
		b := benchFor(t, files)
		source, _ := b.Program.Source("kit")
		for i := range source.Dirs {
			source.Dirs[i] = strings.ReplaceAll(source.Dirs[i], "_", ".")
		}
		for i := range source.Files {
			source.Files[i].Rel = strings.ReplaceAll(source.Files[i].Rel, "_", ".")
		}
		f := b.Run(t.Context())
		if f == nil || !strings.Contains(strings.ToLower(f.Message), ".hankweave") {
			t.Fatalf("%+v", f)
		}
		if got := tree(t, b.Workspace); got != "./\n" {
			t.Errorf("left behind: %s", got)
		}
	}
}

func TestATargetComesBackIfNothingCanTakeItsPlace(t *testing.T) {
	t.Parallel()
	b := newBench(t, "["+copyKit+"]")
	testkit.Write(t, b.path("lib/old"), "old")
	b.Save = func([]string) error { return os.RemoveAll(b.path(PlaceNew)) }
	if f := b.Run(t.Context()); f == nil {
		t.Fatal("no failure")
	}
	if got := tree(t, b.Workspace); got != "./\nlib/\nlib/old false \"old\"\n" {
		t.Errorf("%s", got)
	}
}

func TestACopyIntoAMissingFolderSaysWhatToDo(t *testing.T) {
	t.Parallel()
	b := newBench(t, `[{"type": "copy", "copy": {"from": "note.md", "to": "no/such/folder/n.md"}}]`)
	f := b.Run(t.Context())
	if f == nil || !strings.Contains(f.Message, "mkdir -p no/such/folder") {
		t.Fatalf("%+v", f)
	}
	if failed := of[rigSetupFailed](b); len(failed) != 1 || failed[0].ExitCode != nil || failed[0].FailureType != "other" || failed[0].Ignored {
		t.Errorf("events: %+v", failed)
	}
}

func TestACopyThatHasChangedSinceItWasReadIsRefused(t *testing.T) {
	t.Parallel()
	files := hankFiles(t, "["+copyKit+"]")
	b := benchFor(t, files)
	testkit.Write(t, b.path("lib/a.txt"), "old")
	files["kit/deep/er/x.json"].Data = []byte("[]")
	if f := b.Run(t.Context()); f == nil || !strings.Contains(f.Message, "has changed since the hank was read") {
		t.Fatalf("%+v", f)
	}
	if len(b.saved) > 0 || tree(t, b.Workspace) != "./\nlib/\nlib/a.txt false \"old\"\n" {
		t.Errorf("saved %q, left %s", b.saved, tree(t, b.Workspace))
	}
}

func TestRepositoriesInAReplacedTargetAreKept(t *testing.T) {
	t.Parallel()
	b := newBench(t, "["+copyKit+"]")
	for range 2 { // twice: nothing kept replaces what was kept before
		testkit.Write(t, b.path("lib/.git/HEAD"), "ref")
		testkit.Write(t, b.path("lib/sub/mod/.git"), "gitdir: elsewhere")
		if f := b.Run(t.Context()); f != nil {
			t.Fatal(f)
		}
		if got := tree(t, b.path("lib")); got != placedKit {
			t.Errorf("the target is\n%s", got)
		}
	}
	for _, n := range []string{"1", "2"} {
		at := filepath.Join(b.path(AsideName), b.Attempt+"."+n, "lib")
		for name, want := range map[string]string{".git/HEAD": "ref", "sub/mod/.git": "gitdir: elsewhere"} {
			if got := testkit.Read(t, filepath.Join(at, name)); got != want {
				t.Errorf("kept %s %s: %q", n, name, got)
			}
		}
	}
}

func TestATargetThatHoldsTheExecutionIsNotReplaced(t *testing.T) {
	t.Parallel()
	b := newBench(t, "["+copyKit+"]")
	testkit.Write(t, b.path("lib/run/.hankweave/state.json"), "{}")
	b.Apart = layout.Layout{Root: b.path("lib/run"), Workspace: b.Workspace}.Apart()
	before := tree(t, b.Workspace)
	if f := b.Run(t.Context()); f == nil || !strings.Contains(f.Message, "the execution itself") {
		t.Fatalf("%+v", f)
	}
	if now := tree(t, b.Workspace); now != before {
		t.Errorf("something was changed: %s", now)
	}
}

func TestFoldersThatNobodyMayWriteAreReplaced(t *testing.T) {
	t.Parallel()
	b := newBench(t, "["+copyKit+"]")
	testkit.Write(t, b.path("lib/mod/deep/x.go"), "x")
	for _, name := range []string{"lib/mod/deep", "lib/mod"} {
		testkit.Must(t, os.Chmod(b.path(name), 0o500))
	}
	root, err := os.OpenRoot(b.Workspace)
	testkit.Must(t, err)
	defer root.Close()
	testkit.Must(t, openUp(root, "lib")) // root needs no permission: looked at by itself
	for _, name := range []string{"lib/mod/deep", "lib/mod"} {
		if info, err := os.Stat(b.path(name)); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
		testkit.Must(t, os.Chmod(b.path(name), 0o500))
	}
	if f := b.Run(t.Context()); f != nil {
		t.Fatal(f)
	}
	if got := tree(t, b.path("lib")); got != placedKit {
		t.Errorf("the target is\n%s", got)
	}
}

// A copy is killed at each of its steps: what was at the target is at the
// target, or was saved before; and the next copy makes it right.
func TestACopyKilledAnywhereLosesNothing(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for _, old := range []string{"folder", "file"} {
		for _, point := range []string{"rig.built", "rig.saved", "rig.removed", "rig.placed"} {
			t.Run(old+" "+point, func(t *testing.T) {
				workspace, mark := t.TempDir(), filepath.Join(t.TempDir(), "saved")
				b := newBench(t, "["+copyKit+"]")
				b.Workspace = workspace
				if old == "folder" {
					testkit.Write(t, b.path("lib/old"), "old")
				} else {
					testkit.Write(t, b.path("lib"), "old")
				}
				before := tree(t, b.path("lib"))
				cmd := exec.Command(os.Args[0], "__part", "rig-copy", workspace, mark)
				cmd.Env = append(os.Environ(), "HANK_FAILPOINT="+point+":1")
				if out, err := cmd.CombinedOutput(); err == nil {
					t.Fatalf("it was not killed at %s: %s", point, out)
				}
				_, err := os.Lstat(b.path("lib"))
				if saved := testkit.Exists(mark); !saved && (err != nil || tree(t, b.path("lib")) != before) {
					t.Errorf("killed at %s the target is gone, and was not saved", point)
				}
				if f := b.Run(t.Context()); f != nil {
					t.Fatal(f)
				}
				if got := tree(t, b.path("lib")); got != placedKit {
					t.Errorf("after the next copy: %s", got)
				}
				if left, _ := filepath.Glob(b.path(".hankweave*")); len(left) > 0 {
					t.Errorf("left behind: %q", left)
				}
			})
		}
	}
}

func init() {
	testkit.Parts["rig-copy"] = func(args []string) error {
		t := &testing.T{}
		p, ds := plan.Load(hankFiles(t, "["+copyKit+"]"), "hank.json")
		if p == nil {
			return fmt.Errorf("%v", ds)
		}
		r := Setup{Workspace: args[0], Program: p, Codon: p.Codon("c"), CodonID: "c", Attempt: "part", Note: func(string, any) {},
			Save: func([]string) error { return os.WriteFile(args[1], nil, 0o644) }}
		if f := r.Run(context.Background()); f != nil {
			return f
		}
		return nil
	}
}

func TestAFailingCommandSaysWhy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		run, kind string
		code      int
		says      []string
	}{
		"code":         {"echo to stdout; echo to stderr >&2; exit 7", failedCommand, 7, []string{"operation 1 of 2 of codon \"c\"", "ended with code 7", "to stdout", "to stderr"}},
		"no word":      {"exit 1", failedCommand, 1, []string{"code 1"}},
		"not there":    {"no-such-program-anywhere", failedCommand, 127, []string{"code 127", "no-such-program-anywhere: "}},
		"signal":       {"kill -9 $$", failedCommand, -1, []string{"SIGKILL"}},
		"says timeout": {"echo ETIMEDOUT timed out >&2; exit 3", failedCommand, 3, []string{"code 3"}}, // the text is no evidence
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, "[]")
			b.Codon = &plan.Codon{RigSetup: []plan.Rig{
				{Type: "command", Command: &plan.Command{Run: c.run}},
				{Type: "command", Command: &plan.Command{Run: "touch reached"}},
			}}
			f := b.Run(t.Context())
			if f == nil || f.Type != c.kind || f.ExitCode != c.code || f.Index != 0 || f.Err != nil {
				t.Fatalf("%+v", f)
			}
			for _, s := range c.says {
				if !strings.Contains(f.Message, s) {
					t.Errorf("the message does not say %q: %s", s, f.Message)
				}
			}
			failed := of[rigSetupFailed](b)
			if len(failed) != 1 || failed[0].ExitCode == nil || *failed[0].ExitCode != c.code || failed[0].Ignored || len(of[rigSetupCompleted](b)) > 0 {
				t.Errorf("events: %+v", b.events)
			}
			if testkit.Exists(b.path("reached")) {
				t.Error("the operation behind it ran")
			}
		})
	}
}

func TestACommandEndsWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	b := newBench(t, `[{"type": "command", "command": {"run": "echo begun; sleep 600; touch late", "timeoutSeconds": 0.3}}]`)
	began := time.Now()
	f := b.Run(t.Context())
	if f == nil || f.Type != failedTimeout || f.FailureType() != "timeout" || !strings.Contains(f.Message, "300ms") || !strings.Contains(f.Message, "begun") {
		t.Fatalf("%+v", f)
	}
	if took := time.Since(began); took > 60*time.Second {
		t.Errorf("it took %s", took)
	}
	if testkit.Exists(b.path("late")) {
		t.Error("it went on")
	}
}

func TestFailuresThatMayBeAreNotedAndPassedOver(t *testing.T) {
	t.Parallel()
	ops := func(allowed bool) string {
		return fmt.Sprintf(`[{"type": "command", "command": {"run": "exit 3"}, "allowFailure": %v},
		{"type": "copy", "copy": {"from": "note.md", "to": "no/folder"}, "allowFailure": %v},
		{"type": "command", "command": {"run": "pwd > here", "workingDirectory": "lastCopied"}}]`, allowed, allowed)
	}
	for _, all := range []bool{false, true} {
		b := newBench(t, ops(!all))
		b.IgnoreFailures = all
		if f := b.Run(t.Context()); f != nil {
			t.Fatal(f)
		}
		if testkit.Read(t, b.path("here")) != b.Workspace+"\n" {
			t.Error("a copy that failed counts as the last one")
		}
		failed := of[rigSetupFailed](b)
		if len(failed) != 2 || !failed[0].Ignored || !failed[1].Ignored || failed[1].CommandIndex != 1 || len(of[rigSetupCompleted](b)) != 1 {
			t.Errorf("events: %+v", b.events)
		}
	}
}

func TestAllowFailureDoesNotCoverWhatHankCouldNotDo(t *testing.T) {
	t.Parallel()
	b := newBench(t, `[{"type": "copy", "copy": {"from": "note.md", "to": "n"}, "allowFailure": true}]`)
	testkit.Write(t, b.path("n"), "old")
	full := errors.New("disk full")
	b.Save = func([]string) error { return full }
	if f := b.Run(t.Context()); f == nil || !errors.Is(f, full) {
		t.Errorf("unsaved: %+v", f)
	}
	if testkit.Read(t, b.path("n")) != "old" {
		t.Error("it was replaced")
	}

	if f := (&Failure{Err: &fs.PathError{Op: "write", Path: "n", Err: syscall.ENOSPC}}); !f.final() {
		t.Error("a full disk is passed over")
	}

	b = newBench(t, `[{"type": "command", "command": {"run": "true"}, "allowFailure": true}, {"type": "command", "command": {"run": "touch reached"}}]`)
	alive := &keeper.AliveError{Attempt: "x", Alive: []keeper.Leftover{{PID: 1, Command: "init"}}}
	b.Start = func(keeper.Spec, keeper.Streams) (process, error) { return endedProcess{err: alive}, nil }
	var got *keeper.AliveError
	if f := b.Run(t.Context()); f == nil || !errors.As(f, &got) {
		t.Errorf("something alive: %+v", f)
	}
}

type endedProcess struct {
	exit keeper.Exit
	err  error
}

func (endedProcess) Stop() {}

func (p endedProcess) Wait() (keeper.Exit, error) { return p.exit, p.err }

func TestARigStopsOnRequest(t *testing.T) {
	t.Parallel()
	b := newBench(t, `[{"type": "command", "command": {"run": "trap 'touch stopped; exit 1' TERM; touch begun; while :; do sleep 0.05; done"}, "allowFailure": true},
		{"type": "command", "command": {"run": "touch reached"}}]`)
	ctx, cancel := context.WithCancel(t.Context())
	start := b.Start
	if start == nil {
		start = startKept
	}
	b.Start = func(s keeper.Spec, o keeper.Streams) (process, error) {
		go func() {
			for !testkit.Exists(b.path("begun")) {
				time.Sleep(5 * time.Millisecond)
			}
			cancel()
		}()
		return start(s, o)
	}
	f := b.Run(ctx)
	if f == nil || !errors.Is(f, context.Canceled) {
		t.Fatalf("%+v", f)
	}
	if !testkit.Exists(b.path("stopped")) || testkit.Exists(b.path("reached")) {
		t.Error("it was not stopped in order, or went on")
	}
	if failed := of[rigSetupFailed](b); len(failed) != 1 || failed[0].Ignored {
		t.Errorf("events: %+v", failed)
	}
	if f := b.Run(ctx); f == nil || !errors.Is(f, context.Canceled) {
		t.Errorf("a rig that starts after the request: %+v", f)
	}
}

func TestWhatACommandLeavesBehindIsKilledAndNamed(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for _, end := range []string{"", "; exit 4"} {
		b := newBench(t, "[]")
		b.Codon = &plan.Codon{RigSetup: []plan.Rig{{Type: "command", Command: &plan.Command{Run: "(setsid sh -c 'echo $$ > pid; exec sleep 571') & while ! test -s pid; do sleep 0.01; done" + end}}}}
		f := b.Run(t.Context())
		if (f != nil) != (end != "") {
			t.Fatalf("%+v", f)
		}
		if len(b.killed) == 0 || !slices.ContainsFunc(b.killed, func(l keeper.Leftover) bool { return strings.Contains(l.Command, "sleep") }) {
			t.Errorf("killed: %+v", b.killed)
		}
		if f != nil && len(f.Killed) == 0 {
			t.Error("the failure does not name what was killed")
		}
		if pid := strings.TrimSpace(testkit.Read(t, b.path("pid"))); exec.Command("kill", "-0", pid).Run() == nil {
			t.Errorf("process %s is alive", pid)
		}
	}
}

func TestAFloodOfOutputIsBoundedAndFewEvents(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	b := newBench(t, `[{"type": "command", "command": {"run": "yes 'all work and no play' | head -c 200000000; head -c 20000000 /dev/zero | tr '\\0' x; printf '\\n\\033[31mred\\033[0m \\377\\377 last words\\n' >&2; exit 1"}}]`)
	began := time.Now()
	f := b.Run(t.Context())
	seconds := int(time.Since(began)/time.Second) + 1
	if f == nil || !strings.Contains(f.Message, "red \uFFFD last words") || len(f.Message) > 2500 {
		t.Fatalf("%+v", f)
	}
	out := of[rigOutput](b)
	if len(out) == 0 || len(out) > 2*(seconds+1) {
		t.Errorf("%d events in %d seconds", len(out), seconds)
	}
	for _, e := range b.events {
		if _, err := json.Marshal(e.data); err != nil {
			t.Errorf("%+v cannot be stored: %v", e, err)
		}
	}
	for _, o := range out {
		if len([]rune(o.Line)) > sampleWidth {
			t.Errorf("a line has %d characters", len([]rune(o.Line)))
		}
	}
}

func TestTheEventsHaveTheirDocumentedFields(t *testing.T) {
	t.Parallel()
	code := 3
	for want, data := range map[string]any{
		`{"codonId":"c","stream":"stdout","line":"x","commandIndex":1}`:                                             rigOutput{"c", "stdout", "x", 1},
		`{"codonId":"c","failureType":"command_failed","exitCode":3,"commandIndex":0,"ignored":true,"message":"m"}`: rigSetupFailed{"c", failedCommand, &code, 0, true, "m"},
		`{"codonId":"c","rigType":"command","commandCount":1,"durationMs":5,"createdCheckpoint":true}`:              rigSetupCompleted{"c", "command", 1, 5, true},
		`{"codonId":"c","archivedPaths":["a"]}`:                                                                     archiveCompleted{"c", []string{"a"}},
		`{"codonId":"c","archivedPaths":[],"failedPaths":[{"path":"a","error":"e"}]}`:                               archivePartial{"c", []string{}, []archiveProblem{{"a", "e"}}},
	} {
		if got, err := json.Marshal(data); err != nil || string(got) != want {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
}

// What a copy refuses to bring, hank validate refuses: package plan does not know the checkpoints.
func TestTheNamesOfTemporaryFilesAreThoseOfCheckpoints(t *testing.T) {
	t.Parallel()
	for _, name := range []string{PlaceNew, PlaceOld, AsideName, ".HANKWEAVE-RIG-x", ".hankweave-restore-1", ".hankweave", ".hankweave-rig", "hankweave-rig-x", ".gitignore", "x"} {
		if got, want := steps.IsTemporary(name), layout.IsOwn(name); got != want {
			t.Errorf("%s: plan says %t, the checkpoints %t", name, got, want)
		}
	}
}
