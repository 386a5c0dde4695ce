package runtime

import (
	"container/heap"
	"fmt"
	"regexp"
	"strings"

	"hank/checkpoint"
	"hank/recovery"
	"hank/state"
)

// Listed is a checkpoint as it stands in a list.
type Listed struct {
	SHA     state.SHA            `json:"sha"`
	Kind    state.CheckpointKind `json:"kind"` // empty for a commit that hank did not make
	CodonID state.CodonID        `json:"codonId,omitempty"`
	RunID   state.RunID          `json:"runId,omitempty"`
	Branch  string               `json:"branch"`
	Time    state.Time           `json:"time"`
	Name    string               `json:"name,omitempty"`
	Current bool                 `json:"current,omitzero"` // the one that the workspace was last at
}

// ListOptions limit a list of checkpoints.
type ListOptions struct {
	Run    state.RunID // empty: all
	Limit  int         // 0: no limit
	Before string      // a target (see ResolveTarget): only what comes behind it in the list
}

// History is what a list needs of a store; *checkpoint.Store is one.
type History interface {
	Resolver
	Refs(prefix string) (map[string]checkpoint.SHA, error)
	CommitInfo(checkpoint.SHA) (checkpoint.Info, error)
}

const branches = "refs/heads/"

// Checkpoints lists checkpoints, newest first, as the journal counts and not as
// clocks say: each stands before its parents. It reads as many commits as it
// lists and skips, and no trees.
func Checkpoints(s *state.State, store History, o ListOptions) ([]Listed, error) {
	var before state.SHA
	if o.Before != "" {
		t, err := ResolveTarget(s, store, o.Before)
		if err != nil {
			return nil, err
		}
		before = t.SHA
	}
	w := walk{store: store, run: o.Run, seen: map[checkpoint.SHA]bool{}}
	if err := w.begin(); err != nil {
		return nil, err
	}
	out, current := []Listed{}, recovery.Head(s)
	for skipping := before != ""; w.queue.Len() > 0 && (o.Limit <= 0 || len(out) < o.Limit); {
		l, err := w.next()
		if err != nil {
			return nil, err
		}
		if !skipping && (o.Run == "" || l.RunID == o.Run) {
			l.Current = l.SHA == current
			out = append(out, l)
		}
		skipping = skipping && l.SHA != before
	}
	return out, nil
}

// walk goes through the commits of all branches, newest first.
type walk struct {
	store History
	run   state.RunID // empty: all branches
	seen  map[checkpoint.SHA]bool
	queue queue
}

// waiting is a commit that the walk has come to, with its parents still to be
// looked at.
type waiting struct {
	Listed
	seq     uint64 // of its event in the journal; 0 if hank did not make it
	parents []checkpoint.SHA
}

func (w *walk) begin() error {
	refs, err := w.store.Refs(branches)
	if err != nil {
		return fmt.Errorf("listing the branches of the store: %w", err)
	}
	if w.run != "" {
		tip, ok := refs[branches+"run-"+string(w.run)]
		if !ok {
			return &UsageError{fmt.Sprintf("there is no run %s with checkpoints; see: hank show", w.run)}
		}
		return w.push(tip, "run-"+string(w.run))
	}
	for ref, tip := range refs {
		if branch := strings.TrimPrefix(ref, branches); branch != recovery.ProgramBranch {
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
	if err != nil {
		return fmt.Errorf("checkpoint %.12s on branch %s cannot be read; see: hank doctor: %w", sha, branch, err)
	}
	l := describe(info)
	switch {
	case l.Kind == state.KindInitial:
		l.Branch = "main"
	case l.RunID != "":
		l.Branch = "run-" + string(l.RunID)
	default:
		l.Branch = branch
	}
	heap.Push(&w.queue, waiting{l, recovery.SeqOf(info), info.Parents})
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

// titleForm is the first line of a checkpoint's message.
var titleForm = regexp.MustCompile(`^([a-z-]+):(\S*)(?: \[run:([^\]]+)\])?(?: (.*))?$`)

// describe reads a checkpoint's message: the title, and the time to the
// millisecond, which git itself keeps in seconds.
func describe(info checkpoint.Info) Listed {
	l := Listed{SHA: state.SHA(info.SHA), Time: state.At(info.When)}
	title, rest, _ := strings.Cut(info.Message, "\n")
	m := titleForm.FindStringSubmatch(title)
	if m == nil {
		l.Name = title
		return l
	}
	l.Kind, l.CodonID, l.RunID, l.Name = state.CheckpointKind(m[1]), state.CodonID(m[2]), state.RunID(m[3]), m[4]
	for line := range strings.SplitSeq(rest, "\n") {
		if stamp, ok := strings.CutPrefix(line, "Timestamp: "); ok {
			_ = l.Time.UnmarshalJSON([]byte(`"` + stamp + `"`)) // one that cannot be read leaves git's
		}
	}
	return l
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
func (q *queue) Push(x any)   { *q = append(*q, x.(waiting)) }
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
