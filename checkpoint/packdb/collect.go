package packdb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	gitobject "github.com/go-git/go-git/v5/plumbing/object"

	"hank/checkpoint/packindex"
	"hank/internal/failpoint"
)

// Collection is what a Collect frees, or would.
type Collection struct {
	Objects int
	Bytes   int64 // in packs
}

// Unreachable counts what Collect would free if the references without were
// gone. It changes nothing.
func (s *DB) Unreachable(ctx context.Context, without []string, keep []SHA) (Collection, error) {
	live, err := s.reachable(ctx, without, keep)
	if err != nil {
		return Collection{}, err
	}
	var sum Collection
	_, packs := s.Sources()
	for _, p := range packs {
		_, dead, err := p.sort(live)
		if err != nil {
			return sum, err
		}
		sum.Objects += dead.Objects
		sum.Bytes += dead.Bytes
	}
	return sum, nil
}

// Collect frees the objects that neither a reference nor one of keep (commits
// or trees) leads to. It is not for use while checkpoints are made.
//
//  1. All that is reachable is found. What cannot be read on the way ends it:
//     in a damaged store nothing is deleted.
//  2. What is reachable of each pack that holds something else is copied into a
//     new pack, which is made durable and takes the old one's place.
//  3. The stat cache is forgotten: it may vouch for what goes now.
//  4. The old pack is removed.
//
// A crash leaves at worst objects in two packs. Complexity: objects that are
// reachable, and bytes of the packs that are written again.
func (s *DB) Collect(ctx context.Context, keep []SHA) (Collection, error) {
	if s.Opts.ReadOnly {
		return Collection{}, ErrReadOnly
	}
	s.Merging.Lock()
	defer s.Merging.Unlock()
	live, err := s.reachable(ctx, nil, keep)
	if err != nil {
		return Collection{}, err
	}
	var freed Collection
	_, packs := s.Sources()
	for _, p := range packs {
		objects, dead, err := p.sort(live)
		if err != nil {
			return freed, err
		}
		if dead.Objects == 0 {
			continue
		}
		fresh, err := s.rewrite(ctx, p, objects)
		if err != nil {
			return freed, fmt.Errorf("writing a pack without what is not needed: %w", err)
		}
		s.exchange([]*Pack{p}, fresh)
		failpoint.Hit("collect.exchanged")
		err = s.Vouched.DistrustCache()
		if err = errors.Join(err, s.removeReplaced()); err != nil {
			return freed, err
		}
		freed.Objects += dead.Objects
		freed.Bytes += dead.Bytes
	}
	return freed, s.pruneShallow(live)
}

// sort returns the pack's live objects in their order, with their sizes in
// offset order kept for copying, and counts the others.
func (p *Pack) sort(live map[plumbing.Hash]bool) (alive []packedObject, dead Collection, err error) {
	x, err := p.Table()
	if err != nil {
		return nil, dead, err
	}
	if !x.Intact() {
		return nil, dead, &DamagedError{Path: p.Base + ".idx", Why: "its checksum is wrong"}
	}
	objects, err := p.inOrder(x)
	if err != nil {
		return nil, dead, err
	}
	for i, o := range objects[:len(objects)-1] {
		size := objects[i+1].Offset - o.Offset
		if live[o.ID] {
			alive = append(alive, packedObject{o, size})
			continue
		}
		dead.Objects++
		dead.Bytes += size
	}
	return alive, dead, nil
}

// packedObject is an object of a pack and how many bytes it takes there.
type packedObject struct {
	packindex.Entry
	size int64
}

// rewrite makes a pack of some objects of another one; nil if they are none.
func (s *DB) rewrite(ctx context.Context, p *Pack, objects []packedObject) (*Pack, error) {
	if len(objects) == 0 {
		return nil, nil
	}
	r, release, err := p.reader()
	if err != nil {
		return nil, err
	}
	defer release()
	out, err := NewPendingPack(s.FS, s.TemporaryPack())
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		if err = ctx.Err(); err == nil {
			err = s.copyLive(r, o, out)
		}
		if err != nil {
			_ = out.Discard()
			return nil, fmt.Errorf("%s: object %s: %w", p, o.ID, err)
		}
	}
	base, err := s.FlushPack(out)
	if err != nil {
		_ = out.Discard()
		return nil, err
	}
	return s.NewPack(base, out.Written+HashSize), nil
}

// copyLive copies an object as it is; a delta, whose base may go, is resolved.
func (s *DB) copyLive(r io.ReaderAt, o packedObject, out *PendingPack) error {
	h, err := readPackedHeader(r, o.Offset)
	if err != nil {
		return err
	}
	if h.kind == plumbing.OFSDeltaObject || h.kind == plumbing.REFDeltaObject {
		return s.CopyObject(o.ID, out)
	}
	return copyPacked(out, o.Entry, io.NewSectionReader(r, o.Offset, o.size))
}

// reachable returns all objects that references, except some, and keep lead to.
func (s *DB) reachable(ctx context.Context, without []string, keep []SHA) (map[plumbing.Hash]bool, error) {
	refs, err := s.Refs("refs/")
	if err != nil {
		return nil, err
	}
	for _, name := range without {
		delete(refs, name)
	}
	for _, sha := range refs {
		keep = append(keep, sha)
	}
	w := &Walker{S: s, Ctx: ctx, Seen: map[plumbing.Hash]bool{}}
	for _, sha := range keep {
		if err := w.From(plumbing.NewHash(string(sha))); err != nil {
			return nil, fmt.Errorf("following %.12s: %w", sha, err)
		}
	}
	return w.Seen, nil
}

// Walker follows objects to what they name.
type Walker struct {
	S     *DB
	Ctx   context.Context
	Seen  map[plumbing.Hash]bool
	Found func(plumbing.Hash) error // is told of each; nil: nobody is
}

// From follows a commit or a tree.
func (w *Walker) From(id plumbing.Hash) error {
	for todo := []plumbing.Hash{id}; len(todo) > 0; {
		id, todo = todo[len(todo)-1], todo[:len(todo)-1]
		if w.Seen[id] {
			continue
		}
		if err := w.Ctx.Err(); err != nil {
			return err
		}
		o, err := w.S.Object(id)
		if err != nil {
			return err
		}
		if o.Kind != plumbing.CommitObject {
			if err := w.Object(id, o.Kind); err != nil {
				return err
			}
			continue
		}
		commit, err := gitobject.DecodeCommit(w.S, o)
		if err != nil {
			return err
		}
		if err := w.meet(id); err != nil {
			return err
		}
		if err := w.Object(commit.TreeHash, plumbing.TreeObject); err != nil {
			return err
		}
		if !w.S.EndsAt(id) {
			todo = append(todo, commit.ParentHashes...)
		}
	}
	return nil
}

func (w *Walker) meet(id plumbing.Hash) error {
	w.Seen[id] = true
	if w.Found == nil {
		return nil
	}
	return w.Found(id)
}

// Object visits an object and, of a tree, all that it leads to. What was seen before
// is not visited again.
func (w *Walker) Object(id plumbing.Hash, kind plumbing.ObjectType) error {
	if w.Seen[id] {
		return nil
	}
	if err := w.meet(id); err != nil || kind != plumbing.TreeObject {
		return err
	}
	if err := w.Ctx.Err(); err != nil {
		return err
	}
	tree, err := ReadTree(w.S, id)
	if err != nil {
		return err
	}
	for _, e := range tree {
		kind := plumbing.BlobObject
		switch e.Mode {
		case filemode.Dir:
			kind = plumbing.TreeObject
		case filemode.Submodule:
			continue // it names a commit of another repository
		}
		if err := w.Object(e.Hash, kind); err != nil {
			return err
		}
	}
	return nil
}

// CopyObject reads an object, verified, and packs it into another pack.
func (s *DB) CopyObject(id plumbing.Hash, out *PendingPack) error {
	o, err := s.Object(id)
	if err != nil {
		return err
	}
	r, err := o.Reader()
	if err != nil {
		return err
	}
	defer r.Close()
	header := AppendPackedHeader(nil, o.Kind, o.Bytes)
	if o.Bytes <= InMemory {
		var packed bytes.Buffer
		if err := Deflate(&packed, r); err != nil {
			return err
		}
		_, err := out.add(id, header, packed.Bytes())
		return err
	}
	_, err = out.stream(func(plumbing.Hash) bool { return false }, func(w io.Writer) (plumbing.Hash, error) {
		if _, err := w.Write(header); err != nil {
			return id, err
		}
		return id, Deflate(w, r)
	})
	return err
}
