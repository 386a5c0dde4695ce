package runtime

import (
	"crypto/rand"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hank/checkpoint"
	"hank/internal/short"
	"hank/recovery/lock"
	"hank/runtime/exitcode"
	"hank/runtime/internal/testkit"
	"hank/runtime/verdict"
	"hank/state"
)

// project makes a directory that is a git repository of the user in the middle of
// work: commits, staged and unstaged changes, ignored files, hooks, another
// repository inside.
func project(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "project")
	put(t, dir, "main.c", "int main;\n")
	put(t, dir, "notes.txt", "committed\n")
	put(t, dir, ".gitignore", "*.o\n/build/\n")
	put(t, dir, "forced.o", "in the index although ignored\n")
	gitIn(t, dir, "init", "-q")
	gitIn(t, dir, "add", "-f", ".")
	gitIn(t, dir, "commit", "-qm", "one")
	for _, hook := range []string{"pre-commit", "post-checkout", "post-index-change", "reference-transaction"} {
		put(t, dir, ".git/hooks/"+hook, "#!/bin/sh\necho ran >>\"$GIT_DIR/hooked\"\n")
		if err := os.Chmod(filepath.Join(dir, ".git/hooks", hook), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put(t, dir, ".git/info/exclude", "private/\n")
	put(t, dir, "private/key", "excluded\n")
	put(t, dir, "staged.txt", "staged\n")
	put(t, dir, "main.o", "object\n")
	put(t, dir, "build/out", "built\n")
	put(t, dir, "nested/code.txt", "nested\n")
	gitIn(t, filepath.Join(dir, "nested"), "init", "-q")
	gitIn(t, filepath.Join(dir, "nested"), "add", ".")
	gitIn(t, filepath.Join(dir, "nested"), "commit", "-qm", "nested")
	cmd := exec.Command("git", "-C", dir, "-c", "core.hooksPath=/dev/null", "add", "staged.txt")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	put(t, dir, "notes.txt", "changed and not committed\n")
	put(t, dir, "untracked.txt", "not added\n")
	return dir
}

func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=N", "-c", "user.email=e@example.com"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_OPTIONAL_LOCKS=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return string(out)
}

const inProject = `{"hank": [
  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh",
   "promptText": "set -eu\nprintf %s \"$GIT_CEILING_DIRECTORIES\" >ceiling\necho a >>notes.txt\nrm untracked.txt\necho new >new.txt\necho changed >forced.o\necho a >>nested/code.txt\necho x >more.o\n"},
  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh",
   "promptText": "set -eu\necho b >>notes.txt\nrm -r nested/code.txt new.txt\nmkdir new.txt\necho b >new.txt/inside\nchmod +x main.c\n"}
]}`

func TestAProjectsOwnGitIsNeverTouched(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	work := project(t)
	s := stageOf(t, inProject)
	s.opts.Workspace = work
	repositories := func() map[string]string {
		all := everything(t, filepath.Join(work, ".git"))
		for path, entry := range everything(t, filepath.Join(work, "nested/.git")) {
			all["nested "+path] = entry
		}
		return all
	}
	before, began := repositories(), treeOn(t, work)
	s.must(ModeRun, exitcode.Done)
	done := treeOn(t, work)

	// Ignored files, but for the one in the project's index, are in none.
	visible := func(tree map[string]string) map[string]string {
		tree = maps.Clone(tree)
		for _, path := range []string{"main.o", "more.o", "build/out", "private/key"} {
			delete(tree, path)
		}
		return tree
	}
	v := s.view()
	sameTree(t, "the initial checkpoint", s.treeIn(v.State.InitialCheckpoint), visible(began))
	sameTree(t, "the last checkpoint", s.treeIn(s.last("b").CompletionCheckpoint), visible(done))
	if got := content(t, work, "ceiling"); got != filepath.Dir(work) {
		t.Errorf("GIT_CEILING_DIRECTORIES is %q, want %q", got, filepath.Dir(work))
	}
	if head := strings.TrimSpace(gitIn(t, work, "rev-parse", "HEAD")); s.last("b").ProjectHead != head {
		t.Errorf("the record's HEAD is %q, want %q", s.last("b").ProjectHead, head)
	}

	for _, to := range []string{"a", "initial", "b"} {
		before := treeOn(t, work)
		done := s.mustRollback(to)
		sameTree(t, "back at "+to, visible(treeOn(t, work)), s.treeIn(done.Target.SHA))
		s.mustUndo()
		sameTree(t, "taken back from "+to, treeOn(t, work), before)
		s.mustRollback(to)
	}
	s.mustRollback("initial")
	s.must(ModeRun, exitcode.Done)
	sameTree(t, "run again", treeOn(t, work), done)
	s.must(ModeRetry, exitcode.Done, func(o *command) { o.Codon = "a" })
	sameTree(t, "retried", treeOn(t, work), done)

	if got := repositories(); !maps.Equal(got, before) {
		for path, was := range before {
			if got[path] != was {
				t.Errorf(".git/%s was changed: %s, before %s", path, got[path], was)
			}
		}
		for path := range got {
			if before[path] == "" {
				t.Errorf(".git/%s is new", path)
			}
		}
	}
	if onDisk(work, ".git/hooked") {
		t.Error("a hook of the project has run")
	}
	s.fsck()
}

func TestAWorkspaceThatIsWorkedInIsHeld(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	work, gate := t.TempDir(), t.TempDir()
	s, other := newStage(t, fixture(t, "hanks/waiting")), newStage(t, fixture(t, "hanks/minimal"))
	s.opts.Workspace, other.opts.Workspace = work, work
	s.opts.Environ = append(s.opts.Environ, "GATE_DIR="+gate)
	refused := make(chan [2]error, 1)
	s.must(ModeRun, exitcode.Done, onStatus("wait", state.Running, func() {
		go func() {
			_, second := other.run(ModeRun)
			_, same := s.run(ModeRun)
			refused <- [2]error{second, same}
			_ = os.WriteFile(filepath.Join(gate, "open"), nil, 0o600)
		}()
	}))
	for i, err := range <-refused {
		var held *lock.HeldError
		if !errors.As(err, &held) || verdict.CodeOf(err) != exitcode.Held {
			t.Errorf("%s was not refused: %v", []string{"a second execution in the workspace", "a second run of the execution"}[i], err)
		}
	}
	if onDisk(work, "hello.txt") {
		t.Error("the other one has worked")
	}
	other.must(ModeRun, exitcode.Done) // afterwards it may
}

// A process of its own that sleeps most of the time is woken at once: what is
// busy under load, as a goroutine of the test would be, can stand still for as
// long as the file takes to be read.
func init() {
	testkit.Parts["grow"] = func(args []string) error {
		f, err := os.OpenFile(args[0], os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		for parent := os.Getppid(); os.Getppid() == parent; time.Sleep(time.Millisecond) {
			if _, err := f.WriteString("+"); err != nil {
				return err
			}
		}
		return nil
	}
}

// grow makes a file of the workspace grow until stop is called. The file takes
// long to read and compress, so that it grows under every attempt.
func grow(t *testing.T, name string) (start, stop func()) {
	t.Helper()
	block := make([]byte, 8<<20)
	_, _ = rand.Read(block)
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(block); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	size := info.Size()
	cmd := exec.Command(os.Args[0], "__part", "grow", name)
	start = func() {
		if err := cmd.Start(); err != nil {
			t.Error(err)
			return
		}
		for {
			if info, err := os.Stat(name); err != nil || info.Size() > size {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}
	return start, func() {
		if cmd.Process != nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
}

// The agent has done its work; only the checkpoint is tried again.
func TestAFileThatGrowsUnderTheCheckpointPausesTheRun(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	count := t.TempDir()
	s := stageOf(t, `{"hank": [
	  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo a >>log"},
	  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "echo b >>log; echo ran >>\"$COUNT/b\""},
	  {"id": "c", "name": "C", "model": "shell", "continuationMode": "fresh", "promptText": "echo c >>log"}
	]}`)
	s.opts.Environ = append(s.opts.Environ, "COUNT="+count)
	s.opts.Workspace = t.TempDir()
	start, stop := grow(t, filepath.Join(s.opts.Workspace, "growing"))
	_, err := s.run(ModeRun, onStatus("b", state.CompletingSentinels, start))
	check := func(err error) {
		t.Helper()
		var unstable *checkpoint.UnstableError
		if !errors.As(err, &unstable) || verdict.CodeOf(err) != exitcode.Decision || unstable.Path != "growing" || unstable.Remedy == "" || !strings.Contains(err.Error(), unstable.Remedy) {
			t.Errorf("the run ended with %d: %v", verdict.CodeOf(err), err)
		}
	}
	check(err)
	_, err = s.run(ModeRun) // it still grows
	check(err)
	stop()
	s.must(ModeRun, exitcode.Done)
	if got := content(t, count, "b"); got != "ran\n" {
		t.Errorf("the agent has run %q", got)
	}
	if got := content(t, s.opts.Workspace, "log"); got != "a\nb\nc\n" {
		t.Errorf("log: %q", got)
	}
	// On a busy machine the file may stand still for just long enough that b has
	// its checkpoint earlier; c's is made when it does not grow any more.
	b, c := s.last("b"), s.last("c")
	if got, want := s.treeIn(c.CompletionCheckpoint)["growing"], treeOn(t, s.opts.Workspace)["growing"]; b.Status != state.Completed || got != want {
		t.Errorf("b is %s, and the last checkpoint has %q, not %q, which is on disk", b.Status, got, want)
	}
}

func TestARollbackSaysThatTheProjectsHeadHasMoved(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	work := project(t)
	s := stageOf(t, inProject)
	s.opts.Workspace = work
	s.must(ModeRun, exitcode.Done)
	old := strings.TrimSpace(gitIn(t, work, "rev-parse", "HEAD"))
	if done := s.mustRollback("a"); done.HeadMoved != "" {
		t.Errorf("it has not moved from %s", done.HeadMoved)
	}
	gitIn(t, work, "commit", "-qm", "two", "--allow-empty")
	done := s.mustRollback("b")
	if now := strings.TrimSpace(gitIn(t, work, "rev-parse", "HEAD")); done.HeadMoved != old || now == old {
		t.Errorf("HEAD was %s, is %s, and the rollback says %q", old, now, done.HeadMoved)
	}
	if said := strings.Join(s.said, "\n"); !strings.Contains(said, old[:12]) {
		t.Errorf("it was not said:\n%s", said)
	}
}
