package history

import (
	"container/heap"
	"context"
	"fmt"
	"slices"
	"strings"

	"hank/checkpoint"
	"hank/checkpoint/repair"
	"hank/recovery/execution"
	"hank/recovery/githistory"
	"hank/runtime/exitcode"
	"hank/state"
)

// List is a list of checkpoints.
type List struct {
	Checkpoints []Listed
	// Lost are those that cannot be read whole, oldest first. They are looked for
	// where the list has come to something that is lost.
	Lost []githistory.Known
	// Before is what the option of that name stands for.
	Before Target
}

// ListOptions limit a list of checkpoints.
type ListOptions struct {
	Run    state.RunID // empty: all
	Limit  int         // 0: no limit
	Before string      // a target (see ResolveTarget): only what comes after it in the list
}

// Store is what a list needs of a store; *checkpoint.Store is one.
type Store interface {
	Resolver
	ReadableRefs(prefix string) (map[string]checkpoint.SHA, []*checkpoint.DamagedError, error)
	Verifier(context.Context) *repair.Verifier
}

// Branches begins the name of every branch as a reference.
const Branches = "refs/heads/"

// Checkpoints lists checkpoints, newest first, as the journal counts and not as
// clocks say: each is before its parents. It reads as many commits as it
// lists and skips, and no trees.
func Checkpoints(ctx context.Context, s *state.State, store Store, o ListOptions) (List, error) {
	out := List{Checkpoints: []Listed{}}
	if o.Before != "" {
		var err error
		if out.Before, err = targetToRead(s, store, o.Before); err != nil {
			return List{}, err
		}
	}
	w := walk{state: s, store: store, run: o.Run, seen: map[checkpoint.SHA]bool{}}
	if err := w.begin(); err != nil {
		return List{}, err
	}
	current := execution.Head(s)
	for skipping := o.Before != ""; w.queue.Len() > 0 && (o.Limit <= 0 || len(out.Checkpoints) < o.Limit); {
		l, err := w.next()
		if err != nil {
			return List{}, err
		}
		if !skipping && (o.Run == "" || l.RunID == o.Run) {
			l.Current = l.SHA == current
			out.Checkpoints = append(out.Checkpoints, l)
		}
		skipping = skipping && l.SHA != out.Before.SHA
	}
	if !w.lost {
		return out, nil
	}
	verifier := store.Verifier(ctx)
	var err error
	out.Lost, err = githistory.LostCheckpoints(s, verifier.IsComplete)
	if o.Run != "" {
		out.Lost = slices.DeleteFunc(out.Lost, func(k githistory.Known) bool { return k.Branch != "run-"+string(o.Run) })
	}
	return out, err
}

// walk goes through the commits of all branches, newest first.
type walk struct {
	state *state.State
	store Store
	run   state.RunID // empty: all branches
	seen  map[checkpoint.SHA]bool
	queue queue
	lost  bool // it has come to something that is lost
}

// waiting is a commit that the walk has come to, with its parents still to be
// looked at.
type waiting struct {
	Listed
	seq     uint64 // of its event in the journal; 0 if hank did not make it
	parents []checkpoint.SHA
}

func (w *walk) begin() error {
	refs, _, err := w.store.ReadableRefs(Branches) // of a damaged one, the state knows the checkpoints
	if err != nil {
		return fmt.Errorf("listing the branches of the store: %w", err)
	}
	if w.run != "" {
		tip, ok := refs[Branches+"run-"+string(w.run)]
		if run := w.state.Run(w.run); !ok && run != nil && run.Removed == nil && run.Head != "" {
			return w.lose()
		}
		if at := w.state.RemovedAt("run-" + string(w.run)); !ok && at != nil {
			return &exitcode.UsageError{Why: fmt.Sprintf("the checkpoints of run %s were removed by hank gc on %s", w.run, at.Local().Format("2006-01-02 15:04"))}
		}
		if !ok {
			return &exitcode.UsageError{Why: fmt.Sprintf("there is no run %s with checkpoints; see: `hank show`", w.run)}
		}
		return w.push(tip, "run-"+string(w.run))
	}
	for _, r := range w.state.Runs {
		if _, there := refs[Branches+r.GitBranch]; !there && r.Removed == nil && r.Head != "" {
			if err := w.lose(); err != nil {
				return err
			}
		}
	}
	for ref, tip := range refs {
		if branch := strings.TrimPrefix(ref, Branches); branch != githistory.ProgramBranch && branch != state.RemovedBranch {
			if err := w.push(tip, branch); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *walk) push(sha checkpoint.SHA, branch string) error {
	if w.seen[sha] {
		return nil
	}
	w.seen[sha] = true
	info, err := w.store.CommitInfo(sha)
	if checkpoint.IsMissing(err) {
		return w.lose()
	}
	if err != nil {
		return fmt.Errorf("checkpoint %.12s on branch %s cannot be read; see: `hank doctor`: %w", sha, branch, err)
	}
	l := Describe(info)
	l.Cut = info.Cut
	if info.Cut {
		if err := w.lose(); err != nil {
			return err
		}
	}
	switch {
	case l.Kind == state.KindInitial:
		l.Branch = "main"
	case l.RunID != "":
		l.Branch = "run-" + string(l.RunID)
	default:
		l.Branch = branch
	}
	l.Parents = make([]state.SHA, len(info.Parents))
	for i, p := range info.Parents {
		l.Parents[i] = state.SHA(p)
	}
	heap.Push(&w.queue, waiting{l, githistory.SeqOf(info), info.Parents})
	return nil
}

// lose is for when the way to older checkpoints is lost: those that the state
// has are looked for by their names.
func (w *walk) lose() error {
	if w.lost {
		return nil
	}
	w.lost = true
	for _, k := range githistory.KnownCheckpoints(w.state) {
		if w.run != "" && k.Branch != "run-"+string(w.run) {
			continue
		}
		if err := w.push(checkpoint.SHA(k.SHA), k.Branch); err != nil {
			return err
		}
	}
	return nil
}

// next takes the newest commit and puts its parents in its place. In the list
// of one run the walk ends where the run began.
func (w *walk) next() (Listed, error) {
	at := heap.Pop(&w.queue).(waiting)
	if w.run != "" && at.RunID != w.run {
		return at.Listed, nil
	}
	for _, p := range at.parents {
		if err := w.push(p, at.Branch); err != nil {
			return Listed{}, err
		}
	}
	return at.Listed, nil
}

// queue is a heap of commits, newest first.
type queue []waiting

func (q queue) Len() int { return len(q) }

func (q queue) Less(i, j int) bool {
	if q[i].seq != q[j].seq {
		return q[i].seq > q[j].seq
	}
	if !q[i].Time.Equal(q[j].Time.Time) {
		return q[i].Time.After(q[j].Time.Time)
	}
	return q[i].SHA < q[j].SHA // any order, but always the same
}

func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

func (q *queue) Push(x any) { *q = append(*q, x.(waiting)) }

func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
