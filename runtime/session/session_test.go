//go:build unix

package session_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hank/checkpoint"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/recovery/githistory"
	"hank/runtime/harness"
	"hank/runtime/internal/testkit"
	"hank/runtime/session"
	"hank/state"
)

// room is an execution, and a directory with the files of a session.
type room struct {
	t    *testing.T
	x    *execution.Execution
	root string
}

func newRoom(t *testing.T, o execution.Options) *room {
	t.Helper()
	x, err := recovery.Create(t.Context(), filepath.Join(t.TempDir(), "execution"), recovery.CreateOptions{Options: o})
	if err != nil {
		t.Fatal(err)
	}
	r := &room{t, x, filepath.Join(t.TempDir(), "home")}
	t.Cleanup(func() { _ = r.x.Close() })
	return r
}

// has makes the files of the session those of a map, by name.
func (r *room) has(texts map[string]string) {
	r.t.Helper()
	if err := os.RemoveAll(r.root); err != nil {
		r.t.Fatal(err)
	}
	for name, text := range texts {
		path := filepath.Join(r.root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *room) files() session.Files {
	r.t.Helper()
	names, err := harness.FilesIn(r.root, "s*")
	if err != nil {
		r.t.Fatal(err)
	}
	return session.Files{Root: r.root, Names: names}
}

func (r *room) texts() map[string]string {
	r.t.Helper()
	texts := map[string]string{}
	for _, name := range r.files().Names {
		text, err := os.ReadFile(filepath.Join(r.root, name))
		if err != nil {
			r.t.Fatal(err)
		}
		texts[name] = string(text)
	}
	return texts
}

func (r *room) keep(known ...state.SHA) state.SHA {
	r.t.Helper()
	sha, err := session.Keep(r.t.Context(), r.x, "run-1", "kept", r.files(), known...)
	if err != nil {
		r.t.Fatal(err)
	}
	return sha
}

// mustBring brings the session back and compares what it is then.
func (r *room) mustBring(to state.SHA, want map[string]string, changed bool) {
	r.t.Helper()
	was, err := session.BringBack(r.t.Context(), r.x, "run-1", "before", r.files(), to)
	if err != nil || was != changed {
		r.t.Fatalf("BringBack = %v, %v, want %v", was, err, changed)
	}
	if got := r.texts(); !maps.Equal(got, want) {
		r.t.Errorf("the session is %q, want %q", got, want)
	}
}

func (r *room) tip() checkpoint.SHA {
	r.t.Helper()
	tip, err := r.x.Store.Ref(githistory.Sessions("run-1"))
	if err != nil {
		r.t.Fatal(err)
	}
	return tip
}

var (
	early = map[string]string{"s.jsonl": "one\n", "sub/helper": "h"}
	late  = map[string]string{"s.jsonl": "one\ntwo\n", "sub/other": "o"}
)

func TestASessionComesBackAsItWasAndNothingIsLost(t *testing.T) {
	t.Parallel()
	r := newRoom(t, execution.Options{})
	r.has(early)
	first := r.keep()
	if again := r.keep(); again != first {
		t.Errorf("a session that has not changed is kept twice: %s, %s", first, again)
	}
	r.has(late)
	r.mustBring(first, early, true)
	r.mustBring(first, early, false)

	kept, err := r.x.Store.CommitInfo(r.tip())
	if err != nil || len(kept.Parents) != 1 || state.SHA(kept.Parents[0]) != first {
		t.Fatalf("what was there is kept as %+v, %v", kept, err)
	}
	r.mustBring(state.SHA(r.tip()), late, true)

	r.has(nil) // as if hank gc had deleted the home
	r.mustBring(first, early, true)
	if branches, err := r.x.Store.Refs("refs/heads/"); err != nil || len(branches) != 0 {
		t.Errorf("the branches are %v, %v", branches, err)
	}
}

func TestHalfABroughtBackSessionIsMadeGood(t *testing.T) {
	t.Parallel()
	r := newRoom(t, execution.Options{})
	r.has(early)
	first := r.keep()
	for _, half := range []map[string]string{
		{"s.jsonl": "one\ntwo\n", "s.jsonl.hank": "on", "sub/other": "o"}, // a file beside its place
		{"s.jsonl": "one\n", "sub/other": "o"},                            // one in its place
		{"s.jsonl": "one\n", "sub/helper": "h", "sub/other": "o"},         // none removed
	} {
		r.has(half)
		r.mustBring(first, early, true)
	}
	r.has(map[string]string{"sub/helper/x": "o"})
	if _, err := session.BringBack(t.Context(), r.x, "run-1", "before", r.files(), first); err == nil {
		t.Error("a directory in the place of a file is no error")
	}
}

func TestASessionThatIsLostReplacesNothing(t *testing.T) {
	t.Parallel()
	r := newRoom(t, execution.Options{})
	r.has(late)
	lost := state.SHA(strings.Repeat("a", 40))
	if _, err := session.BringBack(t.Context(), r.x, "run-1", "before", r.files(), lost); err == nil || !maps.Equal(r.texts(), late) {
		t.Errorf("a checkpoint that is not there: %v, and the session is %q", err, r.texts())
	}
}

// What an agent puts in the place of its files leads nowhere else.
func TestALinkInTheHomeLeadsNowhere(t *testing.T) {
	t.Parallel()
	r := newRoom(t, execution.Options{})
	r.has(early)
	first := r.keep()
	elsewhere := t.TempDir()
	secret := filepath.Join(elsewhere, "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.has(nil)
	if err := os.MkdirAll(r.root, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"s.jsonl": secret, "sub": elsewhere} {
		if err := os.Symlink(to, filepath.Join(r.root, name)); err != nil {
			t.Fatal(err)
		}
	}
	if names := r.files().Names; len(names) != 0 {
		t.Errorf("the files of the session are %q", names)
	}
	if _, err := session.Keep(t.Context(), r.x, "run-1", "kept", session.Files{Root: r.root, Names: []string{"s.jsonl"}}); err == nil {
		t.Error("a file elsewhere was kept")
	}
	if _, err := session.BringBack(t.Context(), r.x, "run-1", "before", r.files(), first); err == nil {
		t.Error("a file elsewhere was written")
	}
	if list, err := os.ReadDir(elsewhere); err != nil || len(list) != 1 {
		t.Errorf("elsewhere are %v, %v", list, err)
	}
	if text, _ := os.ReadFile(secret); string(text) != "secret" {
		t.Errorf("elsewhere is %q", text)
	}
}

func TestASessionForWhichThereIsNoRoomIsAnErrorAndLeavesNothing(t *testing.T) {
	t.Parallel()
	const disk = 1 << 30
	free := int64(disk)
	r := newRoom(t, execution.Options{Free: func(string) (int64, int64, error) { return free, disk, nil }})
	r.has(early)
	first := r.keep()
	r.has(map[string]string{"s.jsonl": string(noise(1 << 20))})
	free = disk/50 + 1<<10
	if sha, err := session.Keep(t.Context(), r.x, "run-1", "kept", r.files()); err == nil || !strings.Contains(err.Error(), "free") {
		t.Errorf("kept as %s, %v", sha, err)
	}
	if _, err := session.BringBack(t.Context(), r.x, "run-1", "before", r.files(), first); err == nil || len(r.texts()["s.jsonl"]) != 1<<20 {
		t.Errorf("what cannot be kept was replaced: %v", err)
	}
	if r.tip() != checkpoint.SHA(first) {
		t.Errorf("the reference leads to %s", r.tip())
	}
	free = disk
	r.mustBring(first, early, true)
}

// noise does not become smaller when it is compressed.
func noise(n int) []byte {
	b := make([]byte, n)
	for i, r := 0, rand.NewPCG(1, 2); i < n; i++ {
		b[i] = byte(r.Uint64())
	}
	return b
}

func TestMain(m *testing.M) { testkit.Main(m) }

func init() {
	testkit.Parts["bring back"] = func(args []string) error {
		x, err := recovery.Open(context.Background(), args[0], execution.Options{})
		if err != nil {
			return err
		}
		defer x.Close()
		names, err := harness.FilesIn(args[1], "s*")
		if err != nil {
			return err
		}
		_, err = session.BringBack(context.Background(), x, "run-1", "before", session.Files{Root: args[1], Names: names}, state.SHA(args[2]))
		return err
	}
}

// Killed between any two of its steps, it has replaced nothing that is not kept, and the
// next call finishes it.
func TestBringingASessionBackSurvivesAKillAtEveryStep(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"pack.written", "pack.indexed", "apart.packed", "ref.locked", "ref.written", "ref.renamed"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			r := newRoom(t, execution.Options{})
			r.has(early)
			first, root := r.keep(), r.x.Layout.Root
			if err := r.x.Close(); err != nil {
				t.Fatal(err)
			}
			r.has(late)
			cmd := exec.Command(os.Args[0], "__part", "bring back", root, r.root, string(first))
			cmd.Env = append(os.Environ(), "HANK_FAILPOINT="+point)
			if out, err := cmd.CombinedOutput(); err == nil {
				t.Fatalf("it was not killed: %s", out)
			}
			if got := r.texts(); !maps.Equal(got, late) {
				t.Errorf("killed before anything was to be replaced, the session is %q", got)
			}
			x, err := recovery.Open(context.Background(), root, execution.Options{})
			if err != nil {
				t.Fatal(err)
			}
			r.x = x
			r.mustBring(first, early, true)
			r.mustBring(state.SHA(r.tip()), late, true)
			if out, err := exec.Command("git", "--git-dir", x.Layout.Store(), "fsck", "--strict", "--full", "--no-progress").CombinedOutput(); err != nil {
				t.Errorf("git fsck: %v, %s", err, out)
			}
		})
	}
}
