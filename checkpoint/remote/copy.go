package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	gitobject "github.com/go-git/go-git/v5/plumbing/object"

	"hank/checkpoint/packdb"
	"hank/checkpoint/repair"
	"hank/internal/failpoint"
)

// openOther opens a repository in a directory, bare or not.
func openOther(dir string, create bool) (*packdb.DB, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if fi, err := os.Stat(filepath.Join(dir, ".git")); err == nil && fi.IsDir() {
		dir = filepath.Join(dir, ".git")
	}
	o := packdb.Options{Dir: dir, Shared: true, ReadOnly: !create}
	list, err := os.ReadDir(dir)
	if create && (errors.Is(err, fs.ErrNotExist) || err == nil && len(list) == 0) {
		if err == nil { // Init wants the name for itself
			err = os.Remove(dir)
		} else {
			err = os.MkdirAll(filepath.Dir(dir), 0o755)
		}
		if err != nil {
			return nil, err
		}
		s, err := packdb.Init(o)
		if err == nil {
			s.LockAlone()
		}
		return s, err
	}
	if err != nil {
		return nil, err
	}
	s, err := packdb.Open(o)
	var damaged *packdb.DamagedError
	if errors.As(err, &damaged) {
		return nil, fmt.Errorf("%s is neither a git repository nor an empty directory: %w", dir, err)
	}
	return s, err
}

// copyBranches brings references of one store to where want says, with all
// that they lead to:
//
//  1. A reference that is elsewhere on the other side, and not behind, is
//     refused. The others are what is moved.
//  2. What all but the refused lead to and the other side does not have is copied
//     into one pack, each object compared with its name. Where the other side
//     has everything behind a commit that one of its references leads to, nobody
//     looks further; where something is lost there, it comes back.
//  3. The pack is made durable, and where branches end is noted.
//  4. The references move, one by one.
func copyBranches(ctx context.Context, from, to *packdb.DB, want map[string]packdb.SHA) (*Transfer, error) {
	t, have := &Transfer{}, map[string]packdb.SHA{}
	var tips []packdb.SHA
	for name, sha := range want {
		old, err := to.Ref(name)
		if err != nil {
			return nil, err
		}
		switch forward, behind, err := compare(from, sha, to, old); {
		case err != nil:
			return nil, err
		case !forward && !behind:
			t.Refused = append(t.Refused, name)
			continue
		case behind:
			t.Same++
		default:
			have[name] = old
			t.Moved = append(t.Moved, name)
		}
		tips = append(tips, sha)
	}
	slices.Sort(t.Moved)
	slices.Sort(t.Refused)
	known, err := known(ctx, to)
	if err != nil {
		return nil, err
	}
	w := &packdb.Walker{S: from, Ctx: ctx, Seen: known}
	w.Found = func(id plumbing.Hash) error {
		if to.HasObject(id) {
			return nil
		}
		p, err := to.Pack()
		if err != nil {
			return err
		}
		return from.CopyObject(id, p)
	}
	for _, sha := range tips {
		if err := w.From(plumbing.NewHash(string(sha))); err != nil {
			to.Abort()
			return nil, err
		}
	}
	t.Objects = pendingObjects(to)
	if err := to.Flush(ctx); err != nil {
		return nil, err
	}
	failpoint.Hit("transfer.copied")
	if err := borrowShallow(to, from, w.Seen); err != nil {
		return nil, err
	}
	for _, name := range t.Moved {
		if err := to.SetRef(name, have[name], want[name]); err != nil {
			return nil, err
		}
		failpoint.Hit("transfer.moved")
	}
	return t, nil
}

// compare reports whether a commit of one store comes behind the one where
// another store's branch is, so that the branch can be moved forward; or
// whether it is there already, or further.
func compare(from *packdb.DB, sha packdb.SHA, to *packdb.DB, old packdb.SHA) (forward, behind bool, err error) {
	if old != "" && to.Has(sha) {
		if behind, err = leadsTo(to, old, sha); behind || err != nil {
			return false, behind, err
		}
	}
	forward, err = leadsTo(from, sha, old)
	return forward, false, err
}

// leadsTo reports whether a commit is another, or comes behind it on the way of
// first parents, which is the only one that hank's branches grow; "" is behind
// everything. Where the history is truncated, it is behind what it was cut from.
func leadsTo(s *packdb.DB, from, old packdb.SHA) (bool, error) {
	found := old == "" || from == old
	if found {
		return true, nil
	}
	last := from
	err := s.Log(from, func(i packdb.Info) (bool, error) {
		last, found = i.SHA, i.SHA == old
		return !found, nil
	})
	if id := plumbing.NewHash(string(last)); err == nil && !found && s.EndsAt(id) {
		var end *gitobject.Commit
		end, err = gitobject.GetCommit(s, id)
		found = err == nil && end.NumParents() > 0 && end.ParentHashes[0].String() == string(old)
	}
	return found, err
}

// pendingObjects is how many objects the next Flush makes durable.
func pendingObjects(s *packdb.DB) int {
	if pending, _ := s.Sources(); pending != nil {
		return pending.Count()
	}
	return 0
}

// known returns the commits that references lead to and behind which nothing is
// lost: they are whole, and so is all that they follow from, back to the
// beginning. In a store of others the files are not looked for.
func known(ctx context.Context, s *packdb.DB) (map[plumbing.Hash]bool, error) {
	all, err := survey(ctx, s)
	if err != nil {
		return nil, err
	}
	known := map[plumbing.Hash]bool{}
	for id, ends := range all {
		if !ends {
			known[id] = true
		}
	}
	return known, nil
}

// isWhole reports whether nothing is lost of what references lead to.
func isWhole(ctx context.Context, s *packdb.DB) (bool, error) {
	all, err := survey(ctx, s)
	for _, ends := range all {
		if ends {
			return false, err
		}
	}
	return true, err
}

// survey tells of each commit that references lead to, and of those that are
// lost, whether something is lost of it or behind it. It passes over the shallow
// file.
func survey(ctx context.Context, s *packdb.DB) (lacking map[plumbing.Hash]bool, err error) {
	refs, err := s.Refs("refs/")
	if err != nil {
		return nil, err
	}
	verifier := repair.NewVerifier(ctx, s)
	lacking = map[plumbing.Hash]bool{}
	followers := map[plumbing.Hash][]plumbing.Hash{}
	var todo, spread []plumbing.Hash
	for _, sha := range refs {
		id := plumbing.NewHash(string(sha))
		if o, err := s.Object(id); err == nil && o.Kind != plumbing.CommitObject {
			continue // the user's tag
		}
		todo = append(todo, id)
	}
	for len(todo) > 0 {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if _, seen := lacking[id]; seen {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c, err := gitobject.GetCommit(s, id)
		whole := err == nil
		if whole && !s.Opts.Shared {
			whole, err = verifier.IsComplete(packdb.SHA(id.String()))
		}
		if err != nil && !packdb.IsMissing(err) {
			return nil, err
		}
		if lacking[id] = !whole; !whole {
			spread = append(spread, id)
			if c == nil {
				continue
			}
		}
		for _, p := range c.ParentHashes {
			followers[p] = append(followers[p], id)
		}
		todo = append(todo, c.ParentHashes...)
	}
	for len(spread) > 0 {
		id := spread[len(spread)-1]
		spread = spread[:len(spread)-1]
		for _, f := range followers[id] {
			if !lacking[f] {
				lacking[f] = true
				spread = append(spread, f)
			}
		}
	}
	return lacking, nil
}
