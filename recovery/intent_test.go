//go:build unix

package recovery

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hank/checkpoint"
	"hank/checkpoint/restore"
	"hank/internal/failpoint"
	"hank/internal/vfs"
	"hank/internal/vfs/vfstest"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/githistory"
	"hank/recovery/layout"
	"hank/state"
	"hank/state/journal"
)

// halfMoved is an execution in which a rollback was interrupted: the intent is
// recorded, and a part of it is done.
type halfMoved struct {
	t      *testing.T
	root   string
	intent state.Intent
}

// leaveHalf begins a rollback from a workspace with the files b, c and d to one
// with a and c, and leaves it half-way.
func leaveHalf(t *testing.T) *halfMoved {
	t.Helper()
	root := filepath.Join(t.TempDir(), "x")
	x := must(Create(t.Context(), root, CreateOptions{}))(t)
	write(t, x, map[string]string{"a": "1", "c": "1"})
	to := must(x.Preserve(t.Context(), snap(t, x), "recovery/to", x.Head(), "the target"))(t)
	ok(t, os.Remove(filepath.Join(x.Layout.Workspace, "a")))
	write(t, x, map[string]string{"b": "2", "c": "2", "d/e": "2"})
	here := x.State().CurrentPosition()
	at := here
	at.CheckpointSHA, at.Reason, at.Before = to, state.ReasonRollback, &here
	plan := must(x.PlanMove(t.Context(), execution.Move{Kind: "rollback", To: to, Tracked: checkpoint.Selection{All: true}, Position: &at}))(t)
	intent := must(x.Safeguard(t.Context(), plan))(t)
	ok(t, x.Record(state.IntentOpened{Intent: *intent}))
	ok(t, x.Close())
	h := &halfMoved{t, root, *intent}
	ok(t, os.Remove(h.path("b")))
	ok(t, os.WriteFile(h.path("a"), []byte("1"), 0o644))
	return h
}

func write(t *testing.T, x *execution.Execution, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(x.Layout.Workspace, name)
		ok(t, os.MkdirAll(filepath.Dir(path), 0o755))
		ok(t, os.WriteFile(path, []byte(text), 0o644))
	}
}

func snap(t *testing.T, x *execution.Execution) *checkpoint.Snapshot {
	t.Helper()
	return must(x.Snapshot(t.Context(), checkpoint.Selection{All: true}, x.Head()))(t)
}

func (h *halfMoved) path(name string) string {
	return filepath.Join(layout.DefaultWorkspace(h.root), name)
}

// tree is what the workspace has: "name=text" for each file.
func (h *halfMoved) tree() string {
	h.t.Helper()
	var found []string
	ok(h.t, filepath.WalkDir(layout.DefaultWorkspace(h.root), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(layout.DefaultWorkspace(h.root), path)
		found = append(found, rel+"="+string(text))
		return err
	}))
	return strings.Join(found, " ")
}

const before, after, half = "b=2 c=2 d/e=2", "a=1 c=1", "a=1 c=2 d/e=2"

func (h *halfMoved) open(o execution.Options) (*execution.Execution, error) {
	foreseen := foresee(vfs.OS, h.root)
	x, err := Open(context.Background(), h.root, o)
	if o.Unfinished == AskUnfinished && !o.ReplaceStore {
		foreseen.came(h.t, "half moved", x, err)
	}
	return x, err
}

// An interrupted move that cannot be finished blocks, with a command that ends
// it, and each of the three that are named does.
func TestEveryInterruptedMoveCanBeClosed(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		o     execution.Options
		tree  string // afterwards, where the cause has gone when it is tried; else half
		moved bool   // the position is that of the move
	}{
		"undo": {execution.Options{Unfinished: UndoUnfinished}, half, false},
		"keep": {execution.Options{Unfinished: KeepUnfinished}, half, true},
		"fix":  {execution.Options{ReplaceStore: true}, half, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := leaveHalf(t)
			defer failpoint.Refuse(layout.DefaultWorkspace(h.root), "", syscall.EROFS)()
			for range 2 {
				_, err := h.open(execution.Options{})
				var decision *finding.DecisionError
				if !errors.As(err, &decision) || decision.Command != execution.FixCommand || !strings.Contains(err.Error(), "hank rollback --undo --yes") || !strings.Contains(err.Error(), "hank run --keep-tree") {
					t.Fatalf("a command that writes says %v", err)
				}
				if strings.Contains(err.Error(), "as it was") {
					t.Errorf("half a tree is said to be as it was: %v", err)
				}
			}
			v := must(Read(h.root))(t)
			if v.Blocked == nil || v.Blocked.Command != execution.FixCommand || !v.Unfinished() {
				t.Fatalf("a reader says %+v", v.Report)
			}
			x := must(h.open(c.o))(t)
			if x.State().Intent != nil {
				t.Error("the intent is open still")
			}
			if p := x.State().Position; (p != nil && p.CheckpointSHA == h.intent.To) != c.moved {
				t.Errorf("the execution stands at %+v", p)
			}
			if (x.GivenUp == nil) != (name == "keep") || len(x.Report.Findings) == 0 {
				t.Errorf("%+v, %v", x.Report, x.GivenUp)
			}
			said := fmt.Sprint(x.Report.Findings)
			_, after, _ := strings.Cut(said, "and is in checkpoint ")
			kept := false
			for _, tip := range must(x.Store.Refs(githistory.Heads + "recovery/"))(t) {
				info := must(x.Store.CommitInfo(tip))(t)
				kept = kept || strings.HasPrefix(after, string(tip[:12])) && info.Tree == snap(t, x).Tree
			}
			if !kept {
				t.Errorf("what the move has left is in no checkpoint: %s", said)
			}
			ok(t, x.Close())
			if got := h.tree(); got != c.tree {
				t.Errorf("the workspace has %s", got)
			}
			if v := must(Read(h.root))(t); v.Blocked != nil || v.Unfinished() {
				t.Errorf("a reader says %+v", v.Report)
			}
		})
	}
}

// What was there before an interrupted move comes back where only the target is
// lost; with the command that keeps the workspace, it stays. At no moment of that is the
// workspace half changed and no intent open.
func TestAnInterruptedMoveIsTakenBackWhereItsCheckpointIsLost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o    execution.Options
		tree string
	}{
		"undo": {execution.Options{Unfinished: UndoUnfinished}, before},
		"fix":  {execution.Options{ReplaceStore: true}, before},
		"keep": {execution.Options{Unfinished: KeepUnfinished}, half},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := leaveHalf(t)
			h.lose(h.intent.To)
			_, err := h.open(execution.Options{})
			var decision *finding.DecisionError
			if !errors.As(err, &decision) {
				t.Fatalf("a command that writes says %v", err)
			}
			if v := must(Read(h.root))(t); v.Blocked == nil {
				t.Errorf("a reader says %+v", v.Report)
			}
			closed := false
			c.o.Appended = func(e journal.Event, s *state.State) {
				if closed = closed || s.Intent == nil; closed && s.Intent != nil {
					t.Errorf("at event %d an intent is opened, and none was open before", e.Seq)
				}
			}
			x := must(h.open(c.o))(t)
			if !closed || x.State().Intent != nil || x.State().Position != nil {
				t.Errorf("intent %+v, position %+v", x.State().Intent, x.State().Position)
			}
			ok(t, x.Close())
			if got := h.tree(); got != c.tree {
				t.Errorf("the workspace has %s", got)
			}
		})
	}
}

// lose points an intent at a checkpoint that is not in the store.
func (h *halfMoved) lose(state.SHA) {
	h.t.Helper()
	h.intent.To = state.SHA(strings.Repeat("1", 40))
	h.reopenWith(h.intent)
}

// reopenWith replaces the intent that is open.
func (h *halfMoved) reopenWith(i state.Intent) {
	h.t.Helper()
	tree := map[string]string{}
	for entry := range strings.SplitSeq(h.tree(), " ") {
		name, text, _ := strings.Cut(entry, "=")
		tree[name] = text
	}
	x := must(h.open(execution.Options{}))(h.t) // which finishes it
	old := i
	old.ID = layout.NewID(8)
	if old.Position != nil {
		at := *old.Position
		at.CheckpointSHA = old.To
		old.Position = &at
	}
	x.Current.Store(withoutPosition(x.State()))
	ok(h.t, rebase(x, withoutPosition(x.State()), x.Journal.Last()+1, "a test's"))
	ok(h.t, x.Record(state.IntentOpened{Intent: old}))
	ok(h.t, x.Close())
	h.intent = old
	ok(h.t, os.RemoveAll(h.path("d")))
	for _, name := range []string{"a", "b", "c"} {
		_ = os.Remove(h.path(name))
	}
	for name, text := range tree {
		ok(h.t, os.MkdirAll(filepath.Dir(h.path(name)), 0o755))
		ok(h.t, os.WriteFile(h.path(name), []byte(text), 0o644))
	}
}

func withoutPosition(s *state.State) *state.State {
	c := *s
	c.Position, c.Base = nil, c.InitialCheckpoint
	return &c
}

// An interrupted move that meets what the system refuses is finished but for
// that, by any command, and says so.
func TestAnInterruptedMoveIsFinishedButForWhatIsRefused(t *testing.T) {
	t.Parallel()
	h := leaveHalf(t)
	defer failpoint.Refuse(layout.DefaultWorkspace(h.root), "d/", syscall.EACCES)()
	if v := must(Read(h.root))(t); v.Blocked != nil || !v.Unfinished() {
		t.Errorf("a reader says %+v", v.Report)
	}
	x := must(h.open(execution.Options{}))(t)
	says(t, "finished", x.Report, `not as in the checkpoint: "d/e"`)
	if p := x.State().Position; p == nil || len(p.Kept) != 1 || p.Kept[0] != "d/e" {
		t.Errorf("the execution stands at %+v", p)
	}
	ok(t, x.Close())
	if got := h.tree(); got != "a=1 c=1 d/e=2" {
		t.Errorf("the workspace has %s", got)
	}
}

// What cannot be saved does not stop an interrupted move: it gets another name.
func TestAnInterruptedMoveMovesAsideWhatCannotBeSaved(t *testing.T) {
	t.Parallel()
	h := leaveHalf(t)
	ok(t, os.Remove(h.path("a")))
	ok(t, syscall.Mkfifo(h.path("a"), 0o600))
	x := must(h.open(execution.Options{}))(t)
	ok(t, x.Close())
	kept := must(filepath.Glob(h.path("a.hank-kept-*")))(t)
	if len(kept) != 1 {
		t.Fatalf("%q", kept)
	}
	ok(t, os.Remove(kept[0]))
	if got := h.tree(); got != after {
		t.Errorf("the workspace has %s", got)
	}
}

// A move that fails before anything is touched is taken back at once.
func TestAMoveThatTouchesNothingLeavesNothingOpen(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "x")
	x := must(Create(t.Context(), root, CreateOptions{}))(t)
	head := must(x.Preserve(t.Context(), snap(t, x), "recovery/to", x.Head(), "the target"))(t)
	write(t, x, map[string]string{"a": "1"})
	undo := failpoint.Refuse(x.Layout.Workspace, "", syscall.EACCES)
	_, err := x.MoveTree(t.Context(), execution.Move{Kind: "rollback", To: head, Tracked: checkpoint.Selection{All: true}})
	undo()
	if err == nil || x.State().Intent != nil {
		t.Errorf("%v, %+v", err, x.State().Intent)
	}
	_ = must(x.MoveTree(t.Context(), execution.Move{Kind: "rollback", To: head, Tracked: checkpoint.Selection{All: true}}))(t)
	ok(t, x.Close())
}

// However many paths a move could not change, a position names few.
func TestAPositionNamesFewPaths(t *testing.T) {
	t.Parallel()
	var refused []restore.Refused
	for i := range 1000 {
		refused = append(refused, restore.Refused{Path: "build/" + strings.Repeat("x", i+1)})
	}
	if kept := execution.KeptPaths(refused); len(kept) != 1 || kept[0] != "build" {
		t.Errorf("%q", kept)
	}
}

// An opening that is cancelled after it has saved what was written into half a move says so,
// and the next one finishes the move.
func TestACancelledOpeningFinishesNoMove(t *testing.T) {
	t.Parallel()
	h := leaveHalf(t)
	ok(t, os.WriteFile(h.path("c"), []byte("3"), 0o644))
	ctx, cancel := context.WithCancel(t.Context())
	x, err := Open(ctx, h.root, execution.Options{FS: fast, Appended: func(e journal.Event, _ *state.State) {
		if strings.Contains(string(e.Data), "was cut short") {
			cancel()
		}
	}})
	if ctx.Err() == nil || !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled opening says %v", err)
	}
	if x != nil {
		ok(t, x.Close())
	}
	if v := must(Read(h.root))(t); v.State.Intent == nil || v.State.Intent.ID != h.intent.ID {
		t.Errorf("the intent is %+v", v.State.Intent)
	}
	x = must(h.open(execution.Options{}))(t)
	ok(t, x.Close())
	if got := h.tree(); got != after {
		t.Errorf("the workspace has %s", got)
	}
}

// A full disk says nothing about a move that is to be undone: it stays open, and with room
// what is there goes into a checkpoint before it is undone.
func TestAMoveStaysOpenWhereAFullDiskStopsItsUndo(t *testing.T) {
	t.Parallel()
	h := leaveHalf(t)
	h.lose(h.intent.To)
	fsys := vfstest.Inject(fast, func(c vfstest.Call) error {
		if c.Op == vfstest.OpCreate && strings.Contains(filepath.ToSlash(c.Name), "objects/pack/") {
			return syscall.ENOSPC
		}
		return nil
	})
	undo := execution.Options{FS: fsys, Unfinished: UndoUnfinished}
	x, err := Open(t.Context(), h.root, undo)
	if x != nil {
		ok(t, x.Close())
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("without room: %v", err)
	}
	if v := must(Read(h.root))(t); v.State.Intent == nil || v.State.Intent.ID != h.intent.ID {
		t.Errorf("the intent is %+v", v.State.Intent)
	}
	if got := h.tree(); got != half {
		t.Errorf("without room the workspace has %s", got)
	}
	undo.FS = fast
	x = must(Open(t.Context(), h.root, undo))(t)
	ok(t, x.Close())
	if got := h.tree(); got != before {
		t.Errorf("the workspace has %s", got)
	}
}
