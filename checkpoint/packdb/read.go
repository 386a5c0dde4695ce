package packdb

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/objfile"
	gitobject "github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"

	"hank/checkpoint/packindex"
	"hank/checkpoint/worktree"
)

// HasObject reports whether the store has an object, pending or not.
func (s *DB) HasObject(id plumbing.Hash) bool {
	pending, packs := s.Sources()
	if pending != nil {
		if _, ok := pending.find(id); ok {
			return true
		}
	}
	return InPacks(packs, id)
}

// locate finds the pack and offset of an object.
func (s *DB) locate(id plumbing.Hash) (packSource, int64, error) {
	pending, packs := s.Sources()
	if pending != nil {
		if off, ok := pending.find(id); ok {
			return pending, off, nil
		}
	}
	var bad error
	for _, p := range packs {
		off, ok, err := p.find(&id)
		if ok {
			return p, off, nil
		}
		bad = errors.Join(bad, err)
	}
	if bad != nil {
		return nil, 0, bad // it may be in what cannot be read: do not say that it is not there
	}
	return nil, 0, plumbing.ErrObjectNotFound
}

// Object reads an object and verifies its id. A large blob is a stream that is
// verified when it has been read to its end.
func (s *DB) Object(id plumbing.Hash) (*GitObject, error) { return s.objectAt(id, 0) }

// objectAt is object for the base of depth deltas, each in a pack of its own
// or named by id: only a pack made by hand can hold a circle of them. What is
// not where it was is looked for once more: packs are added and merged.
func (s *DB) objectAt(id plumbing.Hash, depth int) (*GitObject, error) {
	if depth > maxDeltaChain {
		return nil, errEndless
	}
	o, err := s.readObject(id, depth)
	for again := 0; IsAbsent(err) && again < MaxLooks && s.reread(); again++ {
		if o, err = s.readObject(id, depth); errors.Is(err, plumbing.ErrObjectNotFound) {
			break // the list is new, and does not have it
		}
	}
	return o, err
}

// MaxLooks is how often the packs are listed again: each time there may have
// been another merge.
const MaxLooks = 3

func (s *DB) readObject(id plumbing.Hash, depth int) (*GitObject, error) {
	src, off, err := s.locate(id)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		if o, lerr := s.loose(id); !errors.Is(lerr, fs.ErrNotExist) {
			return o, lerr
		}
	}
	if err != nil {
		return nil, err
	}
	r, release, err := src.reader()
	if err != nil {
		return nil, err
	}
	u, done := unpackerOf(r)
	defer done()
	h, err := u.header(off)
	if err == nil && h.kind == plumbing.BlobObject && h.size > InMemory {
		release()
		return s.large(id, src, h), nil
	}
	defer release()
	var kind plumbing.ObjectType
	var data []byte
	if err == nil {
		kind, data, err = u.resolve(h, func(base plumbing.Hash) (*GitObject, error) { return s.objectAt(base, depth+1) })
	}
	if err != nil && depth > 0 && errors.Is(err, errEndless) {
		return nil, errEndless // one message, not one for each delta
	}
	if err != nil {
		return nil, &DamagedError{Path: src.String(), Why: fmt.Sprintf("object %s cannot be read", id), Err: err}
	}
	if objectID(kind, data) != id {
		return nil, &DamagedError{Path: src.String(), Why: fmt.Sprintf("object %s has other contents than its name stands for", id)}
	}
	return &GitObject{id: id, Kind: kind, Bytes: int64(len(data)), data: data}, nil
}

func (s *DB) large(id plumbing.Hash, src packSource, h packedHeader) *GitObject {
	return &GitObject{id: id, Kind: h.kind, Bytes: h.size, Open: func() (io.ReadCloser, error) {
		r, release, err := src.reader()
		if IsAbsent(err) { // its pack was merged since
			o, err := s.Object(id)
			if err != nil {
				return nil, err
			}
			return o.Reader()
		}
		if err != nil {
			return nil, err
		}
		z, err := inflate(r, h.data)
		if err != nil {
			release()
			return nil, &DamagedError{Path: src.String(), Why: fmt.Sprintf("object %s cannot be read", id), Err: err}
		}
		return &Verifier{R: z, Size: h.size, H: NewObjectHash(h.kind, h.size), ID: id, Done: func() error { release(); return z.Close() }}, nil
	}}
}

// loose reads an object that stock git, or another system, has written by
// itself.
func (s *DB) loose(id plumbing.Hash) (*GitObject, error) {
	hex := id.String()
	f, err := s.FS.OpenFile(filepath.Join(s.Dir, "objects", hex[:2], hex[2:]), os.O_RDONLY, 0)
	if SHA(hex) == EmptyTree && errors.Is(err, fs.ErrNotExist) { // stock git knows it without having it
		return &GitObject{id: id, Kind: plumbing.TreeObject}, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := objfile.NewReader(f)
	if err != nil {
		return nil, &DamagedError{Path: f.Name(), Why: "it is no git object", Err: err}
	}
	kind, size, err := r.Header()
	if err == nil {
		var data []byte
		if data, err = io.ReadAll(r); err == nil && (int64(len(data)) != size || objectID(kind, data) != id) {
			err = errors.New("its content has another name")
		}
		if err == nil {
			return &GitObject{id: id, Kind: kind, Bytes: size, data: data}, r.Close()
		}
	}
	return nil, &DamagedError{Path: f.Name(), Why: "the object cannot be read", Err: firstOf(err, r.Close())}
}

// reread lists the packs again: they are added and merged by somebody else. The
// writer knows its packs, and with it mostly the list that was looked through is
// old; but stock git may have put others in their place. False means that there
// is no list.
func (s *DB) reread() bool {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	packs, err := s.listPacks(s.Packs)
	if err != nil {
		return false
	}
	if s.Opts.ReadOnly {
		s.Packs = packs
		return true
	}
	known := slices.Concat(s.Packs, s.Replaced)
	strangers := slices.DeleteFunc(slices.Clone(packs), func(p *Pack) bool {
		return slices.ContainsFunc(known, func(k *Pack) bool { return k.Base == p.Base })
	})
	if len(strangers) > 0 {
		left := slices.DeleteFunc(slices.Clone(s.Packs), func(p *Pack) bool { return !slices.Contains(packs, p) })
		s.Packs = append(left, strangers...)
	}
	return true
}

// tables returns the indexes of all finished packs. One that is gone was
// merged since the packs were listed.
func (s *DB) tables() ([]packindex.Index, error) {
	for again := 0; ; again++ {
		_, packs := s.Sources()
		tables := make([]packindex.Index, len(packs))
		var err error
		for i, p := range packs {
			if tables[i], err = p.Table(); err != nil {
				break
			}
		}
		if err == nil {
			return tables, nil
		}
		if again == MaxLooks || !IsAbsent(err) || !s.reread() {
			return nil, err
		}
	}
}

// Info is a commit.
type Info struct {
	SHA     SHA
	Tree    SHA
	Parents []SHA
	Cut     bool // it had parents that are lost, and counts as having none
	Message string
	When    time.Time
}

// CommitInfo reads a commit. An object of another kind is a *NotCommitError.
func (s *DB) CommitInfo(sha SHA) (Info, error) {
	id := plumbing.NewHash(string(sha))
	c, err := s.CommitObject(id)
	if errors.Is(err, ErrMissing) {
		if o, oerr := s.Object(id); oerr == nil && o.Kind != plumbing.CommitObject {
			return Info{}, &NotCommitError{sha, o.Kind.String(), s.taggedBy(id)}
		}
	}
	if err != nil {
		return Info{}, fmt.Errorf("commit %.12s: %w", sha, err)
	}
	return Info{SHA: sha, Tree: SHA(c.TreeHash.String()), Parents: ParentsOf(c), Cut: s.EndsAt(id), Message: c.Message, When: c.Committer.When}, nil
}

// taggedBy returns the commit that an annotated tag leads to, perhaps by way of other
// tags; empty: it is no tag, or none of a commit that can be read.
func (s *DB) taggedBy(id plumbing.Hash) SHA {
	for tag, err := gitobject.GetTag(s, id); err == nil; tag, err = gitobject.GetTag(s, tag.Target) {
		if tag.TargetType == plumbing.CommitObject && s.Has(SHA(tag.Target.String())) {
			return SHA(tag.Target.String())
		}
	}
	return ""
}

// Log walks from a commit to its first parents, until fn says no.
func (s *DB) Log(from SHA, fn func(Info) (more bool, err error)) error {
	for from != "" {
		info, err := s.CommitInfo(from)
		if err != nil {
			return err
		}
		more, err := fn(info)
		if err != nil || !more || len(info.Parents) == 0 {
			return err
		}
		from = info.Parents[0]
	}
	return nil
}

// Has reports whether the store has an object, and can read it.
func (s *DB) Has(sha SHA) bool {
	_, err := s.Object(plumbing.NewHash(string(sha)))
	return err == nil
}

// EachCommit shows every commit in the packs that can be read, whether anything
// leads to it or not, in no order. Complexity: the objects of the store.
func (s *DB) EachCommit(fn func(Info) error) error {
	_, packs := s.Sources()
	for _, p := range packs {
		x, err := p.Table()
		if err != nil {
			continue
		}
		r, release, err := p.reader()
		if err != nil {
			continue
		}
		var commits []plumbing.Hash
		for i := range x.Count {
			if h, err := readPackedHeader(r, x.Offset(i)); err == nil && h.kind != plumbing.BlobObject && h.kind != plumbing.TreeObject {
				commits = append(commits, plumbing.Hash(x.ID(i))) // or a delta: only others make those
			}
		}
		release()
		for _, id := range commits {
			info, err := s.CommitInfo(SHA(id.String()))
			if err != nil {
				continue
			}
			if err := fn(info); err != nil {
				return err
			}
		}
	}
	return nil
}

// Resolve returns the commits whose names begin with at least four digits.
func (s *DB) Resolve(prefix string) ([]SHA, error) {
	prefix = strings.ToLower(prefix)
	if len(prefix) < 4 || len(prefix) > 40 || strings.Trim(prefix, "0123456789abcdef") != "" {
		return nil, nil
	}
	first := plumbing.NewHash(prefix + strings.Repeat("0", 40-len(prefix)))
	found := map[SHA]bool{}
	tables, err := s.tables()
	if err != nil {
		return nil, err
	}
	for _, x := range tables {
		x.From(first, func(id plumbing.Hash) bool {
			if !strings.HasPrefix(id.String(), prefix) {
				return false
			}
			if o, err := s.Object(id); err == nil && o.Kind == plumbing.CommitObject {
				found[SHA(id.String())] = true
			}
			return true
		})
	}
	list, err := s.FS.ReadDir(filepath.Join(s.Dir, "objects", prefix[:2])) // stock git may have written it
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range list {
		name := prefix[:2] + e.Name()
		if len(name) != 40 || !strings.HasPrefix(name, prefix) {
			continue
		}
		if o, err := s.Object(plumbing.NewHash(name)); err == nil && o.Kind == plumbing.CommitObject {
			found[SHA(name)] = true
		}
	}
	out := make([]SHA, 0, len(found))
	for sha := range found {
		out = append(out, sha)
	}
	slices.Sort(out)
	return out, nil
}

// ReadFile opens a file of a tree by its path in the workspace, and tells its
// size.
func (s *DB) ReadFile(tree SHA, path string) (io.ReadCloser, int64, error) {
	entry, err := s.Find(tree, path)
	if err != nil {
		return nil, 0, err
	}
	o, err := s.Object(entry.Hash)
	if err != nil {
		return nil, 0, err
	}
	r, err := o.Reader()
	return r, o.Bytes, err
}

// BlobSize returns how many bytes a file has.
func (s *DB) BlobSize(blob SHA) (int64, error) {
	o, err := s.Object(plumbing.NewHash(string(blob)))
	if err != nil {
		return 0, err
	}
	return o.Bytes, nil
}

// OpenBlob opens the contents of a file.
func (s *DB) OpenBlob(blob SHA) (io.ReadCloser, error) {
	o, err := s.Object(plumbing.NewHash(string(blob)))
	if err != nil {
		return nil, err
	}
	if o.Kind != plumbing.BlobObject {
		return nil, ErrMissing
	}
	return o.Reader()
}

// HasFile reports whether a tree has a file, not a directory, at a path.
func (s *DB) HasFile(tree SHA, path string) bool {
	entry, err := s.Find(tree, path)
	return err == nil && entry.Mode != filemode.Dir
}

// HasExecutable is HasFile for executable files alone.
func (s *DB) HasExecutable(tree SHA, path string) bool {
	entry, err := s.Find(tree, path)
	return err == nil && entry.Mode == filemode.Executable
}

// Find returns the entry of a tree at a path in the workspace. What is not there is an
// error that matches fs.ErrNotExist.
func (s *DB) Find(tree SHA, path string) (gitobject.TreeEntry, error) {
	at := plumbing.NewHash(string(tree))
	for {
		first, rest, below := strings.Cut(path, "/")
		t, err := ReadTree(s, at)
		if err != nil {
			return gitobject.TreeEntry{}, err
		}
		i := slices.IndexFunc(t, func(e gitobject.TreeEntry) bool { return worktree.UnescapeName(e.Name) == first })
		if i < 0 {
			return gitobject.TreeEntry{}, &fs.PathError{Op: "find in checkpoint", Path: path, Err: fs.ErrNotExist}
		}
		if !below {
			return t[i], nil
		}
		at, path = t[i].Hash, rest
	}
}

// Walk calls fn for each file of a tree, by path in the workspace.
func (s *DB) Walk(tree SHA, fn func(path string, mode filemode.FileMode, blob SHA) error) error {
	return s.walk("", plumbing.NewHash(string(tree)), fn)
}

func (s *DB) walk(prefix string, tree plumbing.Hash, fn func(string, filemode.FileMode, SHA) error) error {
	t, err := ReadTree(s, tree)
	if err != nil {
		return err
	}
	for _, e := range t {
		name := prefix + worktree.UnescapeName(e.Name)
		if e.Mode == filemode.Dir {
			err = s.walk(name+"/", e.Hash, fn)
		} else {
			err = fn(name, e.Mode, SHA(e.Hash.String()))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// idsOf lists all objects in finished packs.
func (s *DB) idsOf(kind plumbing.ObjectType) ([]plumbing.Hash, error) {
	tables, err := s.tables()
	if err != nil {
		return nil, err
	}
	var ids []plumbing.Hash
	for _, x := range tables {
		for i := range x.Count {
			id := plumbing.Hash(x.ID(i))
			if kind != plumbing.AnyObject {
				if o, err := s.Object(id); err != nil || o.Kind != kind {
					continue
				}
			}
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// IterEncodedObjects implements storer.EncodedObjectStorer.
func (s *DB) IterEncodedObjects(kind plumbing.ObjectType) (storer.EncodedObjectIter, error) {
	ids, err := s.idsOf(kind)
	if err != nil {
		return nil, err
	}
	return storer.NewEncodedObjectLookupIter(s, kind, ids), nil
}
