package runtime

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hank/recovery"
	"hank/recovery/layout"
	"hank/runtime/exitcode"
	"hank/runtime/gc"
	"hank/runtime/history"
	"hank/runtime/verdict"
	"hank/state"
	"hank/state/journal"
)

// maxCost is --max-cost, of which 0 is none.
func maxCost(dollars float64) func(*command) {
	amount := state.Dollars(dollars)
	return func(o *command) { o.Limits.MaxDollars = &amount }
}

// maxTime is --max-time.
func maxTime(seconds float64) func(*command) {
	return func(o *command) { o.Limits.MaxTimeSeconds = &seconds }
}

// command is what Run is given.
type command struct {
	Request
	Answers
	UI
}

// stage is an execution that a test drives through Run and Rollback.
type stage struct {
	t    *testing.T
	root string
	opts command

	mu   sync.Mutex
	said []string
}

// fixture is the directory of a hank of fixtures.
func fixture(t *testing.T, name string) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "fixtures", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// newStage prepares an execution of a hank; nothing has run yet.
func newStage(t *testing.T, hank string) *stage {
	t.Helper()
	s := &stage{t: t, root: filepath.Join(t.TempDir(), "execution")}
	s.opts = command{Request: Request{Execution: s.root, Hank: hank, Output: filepath.Join(t.TempDir(), "output"), Version: "test",
		Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}}, UI: UI{Say: s.say}}
	return s
}

// stageOf prepares an execution of a hank that the test writes: the text of
// hank.json.
func stageOf(t *testing.T, hank string) *stage {
	t.Helper()
	dir := t.TempDir()
	put(t, dir, "hank.json", hank)
	return newStage(t, dir)
}

// quickstart prepares the quickstart over a slice of the standard library.
func quickstart(t *testing.T) *stage {
	t.Helper()
	data, src := t.TempDir(), filepath.Join(goroot(t), "src")
	for _, pkg := range []string{"sort", "errors", "image", "net/url"} {
		files, err := filepath.Glob(filepath.Join(src, filepath.FromSlash(pkg), "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no source of %s in %s: %v", pkg, src, err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			put(t, data, pkg+"/"+filepath.Base(f), string(text))
		}
	}
	s := newStage(t, fixture(t, "quickstart"))
	s.opts.Data = data
	return s
}

func goroot(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func (s *stage) say(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = append(s.said, line)
}

// run is Run with some options changed.
func (s *stage) run(mode Mode, change ...func(*command)) (*Result, error) {
	o := s.opts
	for _, c := range change {
		c(&o)
	}
	o.Mode = mode
	return Run(context.Background(), o.Request, o.Answers, o.UI)
}

// must runs and fails the test if the run does not end with a code.
func (s *stage) must(mode Mode, code exitcode.Code, change ...func(*command)) *Result {
	s.t.Helper()
	res, err := s.run(mode, change...)
	got := verdict.CodeOf(err)
	if err == nil {
		got = res.Code
	}
	if got != code {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.t.Fatalf("%s ended with %d, want %d: %v %+v\n%s", mode, got, code, err, res, strings.Join(s.said, "\n"))
	}
	return res
}

func (s *stage) rollback(o history.RollbackOptions) (*history.RolledBack, error) {
	o.Execution, o.Say = s.root, s.say
	return history.Rollback(context.Background(), o)
}

func (s *stage) mustRollback(to string) *history.RolledBack {
	s.t.Helper()
	done, err := s.rollback(history.RollbackOptions{To: to})
	if err != nil {
		s.t.Fatalf("rolling back to %s: %v", to, err)
	}
	return done
}

func (s *stage) mustUndo() *history.RolledBack {
	s.t.Helper()
	done, err := s.rollback(history.RollbackOptions{Undo: true})
	if err != nil {
		s.t.Fatalf("taking a rollback back: %v", err)
	}
	return done
}

// ancient lets everything be old enough to go.
func ancient() gc.Policy { return gc.Policy{Now: time.Now().Add(time.Hour)} }

// mustCollect collects all garbage, however young.
func (s *stage) mustCollect() {
	s.t.Helper()
	if _, err := gc.Collect(s.t.Context(), s.root, ancient(), nil); err != nil {
		s.t.Fatal(err)
	}
}

// view reads the execution as a reader does.
func (s *stage) view() *recovery.View {
	s.t.Helper()
	v, err := recovery.Read(s.root)
	if err != nil {
		s.t.Fatal(err)
	}
	return v
}

func (s *stage) workspace() string { return s.view().Layout.Workspace }

// records lists the records of all runs, oldest first, as codon:status.
func (s *stage) records() []string {
	s.t.Helper()
	var out []string
	for _, r := range slices.Backward(s.view().State.Runs) {
		for _, c := range r.Codons() {
			out = append(out, string(c.CodonID)+":"+string(c.Status))
		}
	}
	return out
}

// last is the newest record of a codon.
func (s *stage) last(id state.CodonID) *state.Codon {
	s.t.Helper()
	for _, r := range s.view().State.Runs {
		for _, c := range slices.Backward(r.Codons()) {
			if c.CodonID == id {
				return c
			}
		}
	}
	s.t.Fatalf("codon %s has no record", id)
	return nil
}

// tree describes every file of the workspace, as disk does.
func (s *stage) tree() map[string]string { return treeOn(s.t, s.workspace()) }

// treeOn reads every byte below dir: mode and id, as git has them, by path.
// What no checkpoint holds is left out: the data and repositories.
func treeOn(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if rel == layout.DataName {
			return nil
		}
		if d.Name() == ".git" || strings.HasPrefix(d.Name(), layout.Dir) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return nil
		}
		out[rel], err = gitEntry(path, d)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func gitEntry(path string, d fs.DirEntry) (string, error) {
	mode := "100644"
	var content []byte
	info, err := d.Info()
	switch {
	case err != nil:
		return "", err
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		mode, content = "120000", []byte(target)
	default:
		if content, err = os.ReadFile(path); err != nil {
			return "", err
		}
		if info.Mode()&0o100 != 0 {
			mode = "100755"
		}
	}
	sum := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(content)), content...))
	return mode + " " + hex.EncodeToString(sum[:]), nil
}

// treeIn is what stock git finds in a checkpoint.
func (s *stage) treeIn(sha state.SHA) map[string]string {
	s.t.Helper()
	out := map[string]string{}
	for line := range strings.SplitSeq(s.git("ls-tree", "-r", "-z", string(sha)), "\x00") {
		if meta, path, ok := strings.Cut(line, "\t"); ok {
			fields := strings.Fields(meta)
			out[path] = fields[0] + " " + fields[2]
		}
	}
	return out
}

// git runs stock git on the store.
func (s *stage) git(args ...string) string {
	s.t.Helper()
	store := layout.Layout{Root: s.root}.Store()
	cmd := exec.Command("git", append([]string{"--git-dir=" + store}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, errs.String())
	}
	return string(out)
}

// fsck is stock git's opinion of the store.
func (s *stage) fsck() {
	s.t.Helper()
	s.git("fsck", "--strict", "--full", "--no-progress")
}

// reachable reports whether a branch leads to a file of exactly this content.
func (s *stage) reachable(content string) bool {
	s.t.Helper()
	sum := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(content), content))
	return strings.Contains(s.git("rev-list", "--objects", "--all"), hex.EncodeToString(sum[:]))
}

func sameTree(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	if maps.Equal(got, want) {
		return
	}
	for path, entry := range want {
		if got[path] != entry {
			t.Errorf("%s: %s is %q, want %q", what, path, got[path], entry)
		}
	}
	for path, entry := range got {
		if _, there := want[path]; !there {
			t.Errorf("%s: %s is %q and must not be there", what, path, entry)
		}
	}
}

// everything hashes all files, directories and links below dir, with their modes
// and times of change.
func everything(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		text := fmt.Sprint(info.Mode(), info.ModTime().UnixNano())
		if !d.IsDir() {
			entry, err := gitEntry(path, d)
			if err != nil {
				return err
			}
			text += " " + entry
		}
		out[rel] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func put(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func onDisk(dir, name string) bool {
	_, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name)))
	return err == nil
}

// onStatus calls f when a codon gets a status.
func onStatus(id state.CodonID, status state.CodonStatus, f func()) func(*command) {
	var once sync.Once
	return func(o *command) {
		o.Appended = func(_ journal.Event, s *state.State) {
			if r := s.Current(); r != nil && r.Live() != nil && r.Live().CodonID == id && r.Live().Status == status {
				once.Do(f)
			}
		}
	}
}
