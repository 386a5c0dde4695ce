//go:build unix

package runtime

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"hank/checkpoint"
	"hank/checkpoint/diff"
	"hank/checkpoint/restore"
	"hank/internal/failpoint"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/recovery/layout"
	"hank/runtime/exitcode"
	"hank/runtime/history"
	"hank/state"
)

// Whatever the workspace holds and the system refuses, a move does what its preview says,
// the preview of a reader without a lock included: the same files are added, changed and
// deleted on the disk, the same empty directories are made and removed, and the same paths
// stay because of the system.
func TestAMoveDoesWhatItsPreviewSays(t *testing.T) {
	t.Parallel()
	seeds, steps := 6, 8
	if os.Getenv("HANK_LONG") != "" {
		seeds, steps = 60, 20
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := &mover{t: t, rand: rand.New(rand.NewPCG(uint64(seed), 1))}
			w.begin()
			for range steps {
				w.step()
			}
		})
	}
}

var keptName = regexp.MustCompile(`\.hank-kept-[0-9a-f]+-[0-9]+`)

// mover makes random changes and moves in the workspace of an execution.
type mover struct {
	t    *testing.T
	rand *rand.Rand
	s    *stage
	ends []state.SHA // checkpoints to go to
	undo state.SHA   // the safety checkpoint of the last move
}

func (w *mover) begin() {
	hank := func(tracked string) string {
		var codons []string
		for i, script := range []string{
			"mkdir -p a/b empty/e1; echo 1 >a/f; echo 1 >a/b/g; echo 1 >top; printf '*.ign\\nout/\\n' >.gitignore; echo 1 >x.ign",
			"echo 2 >a/f; rm top; mkdir top empty/e2; echo 2 >top/under; echo 2 >c; chmod +x a/b/g; mkdir out; echo 2 >out/o",
			"rm -rf a/b; echo 3 >a/b; ln -s c link; rmdir empty/e1; echo 3 >.gitignore; echo 3 >new; mkdir -p deep/er/est",
		} {
			codons = append(codons, fmt.Sprintf(`{"id": "c%d", "name": "C", "model": "shell", "continuationMode": "fresh", "promptText": %q%s}`, i, script, tracked))
		}
		return `{"hank": [` + strings.Join(codons, ",") + `]}`
	}
	w.s = stageOf(w.t, hank([]string{"", `, "checkpointedFiles": ["a/**", "top/**", "*", "**/*.ign"]`}[w.rand.IntN(2)]))
	put(w.t, layout.DefaultWorkspace(w.s.root), "first", "there before")
	w.s.must(ModeRun, exitcode.Done, func(o *command) { o.Fresh = true })
	for i := range 3 {
		w.ends = append(w.ends, w.s.last(state.CodonID(fmt.Sprintf("c%d", i))).Checkpoint())
	}
	w.ends = append(w.ends, w.s.view().State.InitialCheckpoint)
}

// names are those that codons and the user give to files and directories.
var moverNames = []string{"a", "a/f", "a/b", "a/b/g", "top", "top/under", "c", "x.ign", "out", "out/o", "out/p", "link", "new", ".gitignore", "empty", "empty/e1", "empty/e2", "empty/e3",
	"deep", "deep/er", "deep/er/est", "first", "user/made", "user/made/f", "user/y.ign", "a/b/h"}

func (w *mover) name() string { return moverNames[w.rand.IntN(len(moverNames))] }

// edit changes something as a user may.
func (w *mover) edit(root string) {
	name := filepath.Join(root, w.name())
	switch w.rand.IntN(6) {
	case 0:
		_ = os.RemoveAll(name)
	case 1:
		_ = os.MkdirAll(name, 0o755)
	case 2:
		_ = os.Symlink("nowhere", name)
	case 3:
		_ = os.Chmod(name, []fs.FileMode{0o644, 0o755}[w.rand.IntN(2)]|0o700&^0o100)
		if fi, err := os.Lstat(name); err == nil && fi.IsDir() {
			_ = os.Chmod(name, 0o755)
		}
	default:
		_ = os.MkdirAll(filepath.Dir(name), 0o755)
		_ = os.WriteFile(name, fmt.Appendf(nil, "edit %d\n", w.rand.IntN(5)), 0o644)
	}
}

// move draws a move to one of the ends, or back.
func (w *mover) move(s *state.State, store *checkpoint.Store) execution.Move {
	m := execution.Move{Kind: []string{"rollback", "retry", "restart", "restore"}[w.rand.IntN(4)], To: w.ends[w.rand.IntN(len(w.ends))]}
	if w.undo != "" && w.rand.IntN(3) == 0 {
		m.Kind, m.To = "undo", w.undo
	}
	target, err := history.ResolveTarget(s, store, string(m.To))
	if err != nil {
		w.t.Fatal(err)
	}
	m.Tracked = history.TrackedAround(s, store, target.Position)
	if m.Kind == "restore" {
		m.Paths, m.KeepAdded = []string{w.name(), w.name()}, w.rand.IntN(2) == 0
	} else {
		here, position := s.UndoPosition(), target.Position
		position.Reason, position.Before, position.CheckpointSHA = state.ReasonRollback, &here, m.To
		m.Position = &position
	}
	return m
}

func (w *mover) step() {
	t := w.t
	t.Helper()
	x, err := recovery.Open(t.Context(), w.s.opts.Execution, execution.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}()
	root := x.Layout.Workspace
	for range w.rand.IntN(6) {
		w.edit(root)
	}
	m := w.move(x.State(), x.Store)
	what := fmt.Sprintf("%s to %.12s of %q (keep added: %v)", m.Kind, m.To, m.Paths, m.KeepAdded)
	for range w.rand.IntN(3) {
		name := w.name()
		if w.rand.IntN(3) == 0 {
			name += "/"
		}
		what += ", refused: " + name
		defer failpoint.Refuse(root, name, []syscall.Errno{syscall.EPERM, syscall.EBUSY, syscall.EACCES}[w.rand.IntN(3)])()
	}
	ofReader := w.preview(func() (*execution.MovePlan, error) {
		return execution.PlanMove(t.Context(), execution.Sources{Layout: x.Layout, State: x.State(), Store: x.Store, Workspace: x.Workspace}, m)
	})
	x.Store.Abort()
	var plan *execution.MovePlan
	before, dirs := treeOn(t, root), dirsOn(t, root)
	preview := w.preview(func() (_ *execution.MovePlan, err error) { plan, err = x.PlanMove(t.Context(), m); return plan, err })
	if got, want := said(preview), said(ofReader); got != want {
		t.Errorf("%s: with the lock\n%s\nand without\n%s", what, got, want)
	}
	if len(preview.Blocked) > 0 {
		t.Fatalf("%s: blocked by %+v, and everything visible is saved", what, preview.Blocked)
	}
	moved, err := x.PerformMove(t.Context(), plan)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	w.undo = moved.Safety
	after, now := treeOn(t, root), dirsOn(t, root)
	for name := range after { // a directory in the place of a file, of which something stays, has another name
		planned := slices.ContainsFunc(preview.Add, func(c diff.Change) bool { return c.Path == name })
		if was := keptName.ReplaceAllString(name, ""); was != name && before[name] == "" && !planned {
			after[was] = after[name]
			delete(after, name)
		}
	}
	moved.Report.Refused = slices.DeleteFunc(moved.Report.Refused, func(r restore.Refused) bool {
		return keptName.MatchString(r.Path) && !slices.Contains(preview.Refused, r)
	})
	slices.SortFunc(moved.Report.Refused, func(a, b restore.Refused) int { return strings.Compare(a.Path, b.Path) })
	if got, want := fmt.Sprintf("%q", moved.Report.Refused), fmt.Sprintf("%q", preview.Refused); got != want {
		t.Errorf("%s: the move was refused\n%s\nand the preview says\n%s\nbefore: %v", what, got, want, slices.Sorted(maps.Keys(before)))
	}
	var did restore.Plan
	for name := range after {
		if had, there := before[name]; !there {
			did.Add = append(did.Add, diff.Change{Path: name})
		} else if had != after[name] {
			did.Change = append(did.Change, diff.Change{Path: name})
		}
	}
	for name := range before {
		if _, there := after[name]; !there {
			did.Delete = append(did.Delete, diff.Change{Path: name})
		}
	}
	for name, empty := range now {
		refused := func(r restore.Refused) bool { return strings.HasPrefix(r.Path, name+"/") } // what was to fill it
		if _, there := dirs[name]; empty && !there && !slices.ContainsFunc(preview.Refused, refused) {
			did.MakeDirs = append(did.MakeDirs, name)
		}
	}
	for name, empty := range dirs {
		if _, stays := now[name]; empty && !stays {
			did.RemoveDirs = append(did.RemoveDirs, name)
		}
	}
	if got, want := changesOf(&did), changesOf(preview); got != want {
		t.Errorf("%s: the move did\n%s\nand the preview says\n%s", what, got, want)
	}
}

func (w *mover) preview(plan func() (*execution.MovePlan, error)) *restore.Plan {
	w.t.Helper()
	p, err := plan()
	if err != nil {
		w.t.Fatal(err)
	}
	preview, err := p.Preview()
	if err != nil {
		w.t.Fatal(err)
	}
	return preview
}

// said is all that a preview says.
func said(p *restore.Plan) string {
	return fmt.Sprintf("%s\nkeep %q\nrefused %q\nblocked %q", changesOf(p), p.Keep, p.Refused, p.Blocked)
}

// changesOf lists the changes of a preview by path. A file in the place of a directory or
// the other way round is at its own path in both.
func changesOf(p *restore.Plan) string {
	var text strings.Builder
	for _, l := range []struct {
		name    string
		changes []diff.Change
	}{{"add", p.Add}, {"change", p.Change}, {"delete", p.Delete}} {
		var paths []string
		for _, c := range l.changes {
			paths = append(paths, c.Path)
		}
		slices.Sort(paths)
		fmt.Fprintf(&text, "%s %q\n", l.name, paths)
	}
	slices.Sort(p.MakeDirs)
	slices.Sort(p.RemoveDirs)
	fmt.Fprintf(&text, "make %q\nremove %q\n", p.MakeDirs, p.RemoveDirs)
	return text.String()
}

// dirsOn tells of each directory whether it is empty.
func dirsOn(t *testing.T, root string) map[string]bool {
	t.Helper()
	dirs := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root || !d.IsDir() {
			return err
		}
		names, err := os.ReadDir(path)
		rel, relErr := filepath.Rel(root, path)
		dirs[filepath.ToSlash(rel)] = len(names) == 0
		return errors.Join(err, relErr)
	})
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}
