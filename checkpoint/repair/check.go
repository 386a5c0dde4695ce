package repair

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"hank/checkpoint/packdb"
)

// CheckReport is what Check found.
type CheckReport struct {
	Packs, Objects, References int
	Problems                   []string
}

// IsComplete reports that nothing is wrong.
func (r *CheckReport) IsComplete() bool { return len(r.Problems) == 0 }

// Check reads everything: each pack and index against its checksum, each
// object against its name, and from each reference every commit, tree and blob
// that it leads to. It is as strict as git fsck about what checkpoints need.
// The error is about reading, not about what was read.
func Check(ctx context.Context, s *packdb.DB) (*CheckReport, error) {
	return CheckAfter(ctx, s, nil)
}

// CheckAfter is Check of a store whose references lead where they will after a repair of
// them; nil: where they do.
func CheckAfter(ctx context.Context, s *packdb.DB, refs map[string]packdb.SHA) (*CheckReport, error) {
	c := &checker{s: s, ctx: ctx, seen: map[plumbing.Hash]bool{}, named: map[string]bool{}}
	_, packs := s.Sources()
	for _, p := range packs {
		if err := c.pack(p); err != nil {
			return &c.report, err
		}
	}
	if refs == nil {
		var err error
		if refs, err = s.Refs("refs/"); err != nil {
			c.problem("the references: %v", err)
		}
	}
	for name, sha := range refs {
		c.report.References++
		c.commit(name, plumbing.NewHash(string(sha)))
	}
	return &c.report, ctx.Err()
}

type checker struct {
	s      *packdb.DB
	ctx    context.Context
	seen   map[plumbing.Hash]bool
	named  map[string]bool // damaged files that a problem is about
	report CheckReport
}

func (c *checker) problem(format string, args ...any) {
	c.report.Problems = append(c.report.Problems, fmt.Sprintf(format, args...))
}

func (c *checker) pack(p *packdb.Pack) error {
	c.report.Packs++
	x, err := p.Table()
	if packdb.IsAbsent(err) {
		return nil // a merge has removed it; what references need is looked for
	}
	if err != nil {
		c.problem("%v", err)
		return nil
	}
	if !x.Intact() {
		c.problem("%s.idx: its checksum is wrong", p.Base)
	}
	if err := checksum(p, x); packdb.IsAbsent(err) && p.Gone() {
		return nil
	} else if err != nil {
		c.problem("%s: %v", p, err)
		c.named[p.String()] = true
	}
	for i := range x.Count {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		c.report.Objects++
		id := plumbing.Hash(x.ID(i))
		o, err := c.s.Object(id)
		if err == nil && o.Open != nil {
			err = drain(o)
		}
		if err != nil {
			c.problem("object %s: %v", id, c.why(err))
		}
	}
	return nil
}

// why is an error about an object. A damaged pack that a problem has named by
// its path is called by its name.
func (c *checker) why(err error) error {
	var damaged *packdb.DamagedError
	if !errors.As(err, &damaged) {
		return err
	}
	if !c.named[damaged.Path] {
		c.named[damaged.Path] = true
		return err
	}
	why := damaged.Err
	if why == nil {
		why = errors.New(damaged.Why)
	}
	return fmt.Errorf("it cannot be read from %s: %w", filepath.Base(damaged.Path), why)
}

// drain reads a large object to its end, where it is verified.
func drain(o *packdb.GitObject) error {
	r, err := o.Reader()
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, r)
	return errors.Join(err, r.Close())
}

// commit follows a commit to everything that it needs.
func (c *checker) commit(from string, id plumbing.Hash) {
	for todo := []plumbing.Hash{id}; len(todo) > 0 && c.ctx.Err() == nil; {
		id, todo = todo[0], todo[1:]
		if c.seen[id] {
			continue
		}
		c.seen[id] = true
		commit, err := c.s.CommitObject(id)
		if err != nil {
			c.problem("%s leads to commit %s: %v", from, id, c.why(err))
			continue
		}
		c.reached(id)
		c.tree(from, commit.TreeHash)
		todo = append(todo, commit.ParentHashes...)
	}
}

// reached counts an object that is there and reports whether it is loose: another
// system, or stock git, has written it. Those of packs are counted there.
func (c *checker) reached(id plumbing.Hash) (loose bool) {
	if loose = !c.s.HasObject(id); loose {
		c.report.Objects++
	}
	return loose
}

func (c *checker) tree(from string, id plumbing.Hash) {
	if c.seen[id] {
		return
	}
	c.seen[id] = true
	tree, err := packdb.ReadTree(c.s, id)
	if err != nil {
		c.problem("%s leads to tree %s: %v", from, id, c.why(err))
		return
	}
	c.reached(id)
	for i, e := range tree {
		if i > 0 && packdb.CompareEntries(tree[i-1], e) >= 0 {
			c.problem("tree %s is not sorted at %q", id, e.Name)
		}
		switch {
		case e.Mode == filemode.Dir:
			c.tree(from, e.Hash)
		case e.Mode != filemode.Submodule && !c.seen[e.Hash]:
			c.seen[e.Hash] = true
			err := c.s.HasEncodedObject(e.Hash)
			if err == nil && c.reached(e.Hash) {
				_, err = c.s.Object(e.Hash) // no pack's, so that nobody has read it yet
			}
			if err != nil {
				c.problem("%s leads to blob %s (%q): %v", from, e.Hash, e.Name, c.why(err))
			}
		}
	}
}
