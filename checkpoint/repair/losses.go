package repair

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	gitobject "github.com/go-git/go-git/v5/plumbing/object"

	"hank/checkpoint/packdb"
)

// MissingObjects are the places where a store leads to what it does not have.
type MissingObjects struct {
	// Cuts are commits that are whole and have a parent that is not: with all of
	// them shallow (see EndHistories), nothing leads to what is lost.
	Cuts []packdb.SHA
	Tips []LostTip
	// Unreferenced are those of the commits asked for that are whole, and that no
	// reference and no other of them leads to without leading to what is lost.
	Unreferenced []packdb.SHA
}

// LostTip is a reference to a commit that is not whole.
type LostTip struct {
	Name    string
	SHA     packdb.SHA
	Nearest packdb.SHA // the first commit behind it that is whole; "" if none can be found
}

// FindMissing looks for what is lost from each reference on, and for which of some
// other commits are left. It passes over the shallow file, so that what was put
// back since counts again. The error is about reading, and not about what
// cannot be read. Complexity: the trees that are reachable.
func FindMissing(ctx context.Context, s *packdb.DB, known []packdb.SHA) (*MissingObjects, error) {
	refs, err := s.Refs("refs/")
	if err != nil {
		return nil, err
	}
	w := &surveyor{verifier: NewVerifier(ctx, s), reached: map[packdb.SHA]bool{}, behind: map[packdb.SHA]bool{}}
	for name, sha := range refs {
		if o, err := s.Object(plumbing.NewHash(string(sha))); err == nil && o.Kind != plumbing.CommitObject {
			continue // the user's tag
		}
		whole, err := w.verifier.IsComplete(sha)
		if err != nil {
			return nil, err
		}
		if !whole {
			tip := LostTip{Name: name, SHA: sha}
			if tip.Nearest, err = w.nearest(sha); err != nil {
				return nil, err
			}
			w.found.Tips = append(w.found.Tips, tip)
			sha = tip.Nearest
		}
		if err := w.walk(sha); err != nil {
			return nil, err
		}
	}
	var left []packdb.SHA
	for _, sha := range known {
		if w.reached[sha] || slices.Contains(left, sha) {
			continue
		}
		if whole, err := w.verifier.IsComplete(sha); err != nil {
			return nil, err
		} else if whole {
			left = append(left, sha)
		}
	}
	for _, sha := range left {
		if err := w.walk(sha); err != nil {
			return nil, err
		}
	}
	for _, sha := range left {
		if !w.behind[sha] {
			w.found.Unreferenced = append(w.found.Unreferenced, sha)
		}
	}
	slices.Sort(w.found.Cuts)
	slices.SortFunc(w.found.Tips, func(a, b LostTip) int { return strings.Compare(a.Name, b.Name) })
	return &w.found, nil
}

type surveyor struct {
	verifier *Verifier
	reached  map[packdb.SHA]bool
	behind   map[packdb.SHA]bool // reached from a commit that follows from it
	found    MissingObjects
}

// walk goes from a whole commit, or from "", to all whole ones behind it.
func (w *surveyor) walk(from packdb.SHA) error {
	for todo := []packdb.SHA{from}; len(todo) > 0; {
		sha := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if sha == "" || w.reached[sha] {
			continue
		}
		w.reached[sha] = true
		parents, err := w.parents(sha)
		if err != nil {
			return err
		}
		cut := false
		for _, p := range parents {
			whole, err := w.verifier.IsComplete(p)
			if err != nil {
				return err
			}
			cut = cut || !whole
		}
		if cut {
			w.found.Cuts = append(w.found.Cuts, sha)
			continue
		}
		for _, p := range parents {
			w.behind[p] = true
		}
		todo = append(todo, parents...)
	}
	return nil
}

// nearest goes back from a commit that is not whole, as long as commits can be
// read.
func (w *surveyor) nearest(sha packdb.SHA) (packdb.SHA, error) {
	for {
		parents, err := w.parents(sha)
		if packdb.IsMissing(err) || err == nil && len(parents) == 0 {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		sha = parents[0]
		if whole, err := w.verifier.IsComplete(sha); err != nil || whole {
			return sha, err
		}
	}
}

// parents are those that the commit itself names, whatever the shallow file
// says.
func (w *surveyor) parents(sha packdb.SHA) ([]packdb.SHA, error) {
	c, err := gitobject.GetCommit(w.verifier.s, plumbing.NewHash(string(sha)))
	if err != nil {
		return nil, fmt.Errorf("commit %.12s: %w", sha, err)
	}
	return packdb.ParentsOf(c), nil
}

// Verifier tells of commits whether everything in them is there. It remembers
// what it has seen, and is for one goroutine.
type Verifier struct {
	s    *packdb.DB
	ctx  context.Context
	seen map[plumbing.Hash]bool
}

// NewVerifier returns a verifier of the commits of a store.
func NewVerifier(ctx context.Context, s *packdb.DB) *Verifier {
	return &Verifier{s, ctx, map[plumbing.Hash]bool{}}
}

// IsComplete reports whether a commit can be read with its tree and everything in it:
// large files are only looked for. The error is about reading.
func (j *Verifier) IsComplete(sha packdb.SHA) (bool, error) {
	id := plumbing.NewHash(string(sha))
	if whole, known := j.seen[id]; known {
		return whole, nil
	}
	c, err := gitobject.GetCommit(j.s, id)
	whole := err == nil
	if whole {
		whole, err = j.tree(c.TreeHash)
	}
	if err != nil && !packdb.IsMissing(err) {
		return false, fmt.Errorf("commit %.12s: %w", sha, err)
	}
	j.seen[id] = whole
	return whole, nil
}

// Lacks says what of a commit cannot be read: "it", or else the first file or directory of
// it; empty: nothing. The error is that of IsComplete.
func (j *Verifier) Lacks(sha packdb.SHA) (string, error) {
	if whole, err := j.IsComplete(sha); whole || err != nil {
		return "", err
	}
	c, err := gitobject.GetCommit(j.s, plumbing.NewHash(string(sha)))
	if err != nil {
		return "it", nil
	}
	dir := "."
	for id := c.TreeHash; ; {
		t, _ := packdb.ReadTree(j.s, id)
		at := slices.IndexFunc(t, func(e gitobject.TreeEntry) bool { whole, known := j.seen[e.Hash]; return known && !whole })
		if at < 0 {
			return fmt.Sprintf("its directory %q", dir), nil
		}
		dir, id = path.Join(dir, t[at].Name), t[at].Hash
		if t[at].Mode != filemode.Dir {
			return fmt.Sprintf("its file %q", dir), nil
		}
	}
}

func (j *Verifier) tree(id plumbing.Hash) (bool, error) {
	if whole, known := j.seen[id]; known {
		return whole, nil
	}
	if err := j.ctx.Err(); err != nil {
		return false, err
	}
	t, err := packdb.ReadTree(j.s, id)
	whole := err == nil
	for i := 0; whole && i < len(t); i++ {
		switch e := t[i]; e.Mode {
		case filemode.Submodule:
		case filemode.Dir:
			whole, err = j.tree(e.Hash)
		default:
			whole, err = j.blob(e.Hash)
		}
	}
	if err != nil && !packdb.IsMissing(err) {
		return false, err
	}
	j.seen[id] = whole
	return whole, nil
}

func (j *Verifier) blob(id plumbing.Hash) (bool, error) {
	if whole, known := j.seen[id]; known {
		return whole, nil
	}
	err := j.s.HasEncodedObject(id)
	if err != nil && !packdb.IsMissing(err) {
		return false, err
	}
	j.seen[id] = err == nil
	return err == nil, nil
}

// EndHistories makes some commits, and no others, count as having no parents. It returns
// those of them that had parents until now, and those that have theirs again.
func EndHistories(s *packdb.DB, at []packdb.SHA) (cut, joined []packdb.SHA, err error) {
	before, err := s.Shallow()
	if err != nil {
		return nil, nil, err
	}
	ids := make([]plumbing.Hash, len(at))
	for i, sha := range at {
		ids[i] = plumbing.NewHash(string(sha))
		if !slices.Contains(before, ids[i]) {
			cut = append(cut, sha)
		}
	}
	for _, id := range before {
		if !slices.Contains(ids, id) {
			joined = append(joined, packdb.SHA(id.String()))
		}
	}
	return cut, joined, s.SetShallow(ids)
}

// An End is a commit with which a history begins, as its parents do not count, and one of them.
type End struct{ First, Before packdb.SHA }

// Ends lists where the histories begin that EndHistories has ended.
func Ends(s *packdb.DB) (ends []End, err error) {
	at, err := s.Shallow()
	for _, id := range at {
		c, cerr := gitobject.GetCommit(s, id)
		if cerr != nil && !packdb.IsMissing(cerr) {
			return nil, cerr
		}
		if cerr == nil {
			for _, p := range packdb.ParentsOf(c) {
				ends = append(ends, End{packdb.SHA(id.String()), p})
			}
		}
	}
	return ends, err
}
