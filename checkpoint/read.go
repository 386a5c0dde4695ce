package checkpoint

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
)

// sources returns what objects are read from at the moment. No lock is held
// while they are asked: a pack that is being written has one of its own.
func (s *DB) sources() (*pendingPack, []*pack) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.pending, s.packs // the list is replaced, never changed
}

// has tells whether the store has an object, pending or not.
func (s *DB) has(id plumbing.Hash) bool {
	pending, packs := s.sources()
	if pending != nil {
		if _, ok := pending.find(id); ok {
			return true
		}
	}
	return inPacks(packs, id)
}

func inPacks(packs []*pack, id plumbing.Hash) bool {
	for _, p := range packs {
		if _, ok, err := p.find(&id); ok && err == nil {
			return true
		}
	}
	return false
}

// locate finds the pack and offset of an object.
func (s *DB) locate(id plumbing.Hash) (packSource, int64, error) {
	pending, packs := s.sources()
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

var errEndless = errors.New("its chain of deltas does not end")

// object reads an object and verifies its id. A large blob is a stream that is
// verified when it has been read to its end.
func (s *DB) object(id plumbing.Hash) (*gitObject, error) { return s.objectAt(id, 0) }

// objectAt is object for the base of depth deltas, each in a pack of its own
// or named by id: only a pack made by hand can hold a circle of them. What is
// not where it was is looked for once more: packs are added and merged.
func (s *DB) objectAt(id plumbing.Hash, depth int) (*gitObject, error) {
	if depth > maxDeltaChain {
		return nil, errEndless
	}
	o, err := s.readObject(id, depth)
	for again := 0; missing(err) && again < maxLooks && s.reread(); again++ {
		if o, err = s.readObject(id, depth); errors.Is(err, plumbing.ErrObjectNotFound) {
			break // the list is new, and does not have it
		}
	}
	return o, err
}

// maxLooks is how often the packs are listed again: each time there may have
// been another merge.
const maxLooks = 3

// missing tells that an object, or the pack that it was in, is not there.
func missing(err error) bool {
	return errors.Is(err, plumbing.ErrObjectNotFound) || errors.Is(err, fs.ErrNotExist)
}

func (s *DB) readObject(id plumbing.Hash, depth int) (*gitObject, error) {
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
	if err == nil && h.kind == plumbing.BlobObject && h.size > inMemory {
		release()
		return s.large(id, src, h), nil
	}
	defer release()
	var kind plumbing.ObjectType
	var data []byte
	if err == nil {
		kind, data, err = u.resolve(h, func(base plumbing.Hash) (*gitObject, error) { return s.objectAt(base, depth+1) })
	}
	if err != nil && depth > 0 && errors.Is(err, errEndless) {
		return nil, errEndless // one message, not one for each delta
	}
	if err != nil {
		return nil, &DamagedError{Path: src.String(), Why: fmt.Sprintf("object %s cannot be read", id), Err: err}
	}
	if objectID(kind, data) != id {
		return nil, &DamagedError{Path: src.String(), Why: fmt.Sprintf("object %s has another content than its name says", id)}
	}
	return &gitObject{id: id, kind: kind, size: int64(len(data)), data: data}, nil
}

func (s *DB) large(id plumbing.Hash, src packSource, h packedHeader) *gitObject {
	return &gitObject{id: id, kind: h.kind, size: h.size, open: func() (io.ReadCloser, error) {
		r, release, err := src.reader()
		if missing(err) { // its pack was merged since
			o, err := s.object(id)
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
		return &verifier{r: z, size: h.size, h: newObjectHash(h.kind, h.size), id: id, done: func() error { release(); return z.Close() }}, nil
	}}
}

// loose reads an object that stock git, or another system, has written by
// itself.
func (s *DB) loose(id plumbing.Hash) (*gitObject, error) {
	hex := id.String()
	f, err := s.fs.OpenFile(filepath.Join(s.dir, "objects", hex[:2], hex[2:]), os.O_RDONLY, 0)
	if SHA(hex) == emptyTree && errors.Is(err, fs.ErrNotExist) { // stock git knows it without having it
		return &gitObject{id: id, kind: plumbing.TreeObject}, nil
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
			return &gitObject{id: id, kind: kind, size: size, data: data}, r.Close()
		}
	}
	return nil, &DamagedError{Path: f.Name(), Why: "the object cannot be read", Err: firstOf(err, r.Close())}
}

// reread lists the packs anew: they are added and merged by somebody else. The
// writer knows its packs, and with it mostly the list that was looked through is
// old; but stock git may have put others in their place. False means that there
// is no list.
func (s *DB) reread() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	packs, err := s.listPacks(s.packs)
	if err != nil {
		return false
	}
	if s.opts.ReadOnly {
		s.packs = packs
		return true
	}
	known := slices.Concat(s.packs, s.replaced)
	strangers := slices.DeleteFunc(slices.Clone(packs), func(p *pack) bool {
		return slices.ContainsFunc(known, func(k *pack) bool { return k.base == p.base })
	})
	if len(strangers) > 0 {
		left := slices.DeleteFunc(slices.Clone(s.packs), func(p *pack) bool { return !slices.Contains(packs, p) })
		s.packs = append(left, strangers...)
	}
	return true
}

// tables returns the indexes of all finished packs. One that is gone was
// merged since the packs were listed.
func (s *DB) tables() ([]packIndex, error) {
	for again := 0; ; again++ {
		_, packs := s.sources()
		tables := make([]packIndex, len(packs))
		var err error
		for i, p := range packs {
			if tables[i], err = p.table(); err != nil {
				break
			}
		}
		if err == nil {
			return tables, nil
		}
		if again == maxLooks || !missing(err) || !s.reread() {
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

// CommitInfo reads a commit.
func (s *DB) CommitInfo(sha SHA) (Info, error) {
	id := plumbing.NewHash(string(sha))
	c, err := s.commit(id)
	if err != nil {
		return Info{}, fmt.Errorf("commit %.12s: %w", sha, err)
	}
	return Info{SHA: sha, Tree: SHA(c.TreeHash.String()), Parents: parentsOf(c), Cut: s.endsAt(id), Message: c.Message, When: c.Committer.When}, nil
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

// Has tells whether the store has an object, and can read it.
func (s *DB) Has(sha SHA) bool {
	_, err := s.object(plumbing.NewHash(string(sha)))
	return err == nil
}

// EachCommit shows every commit in the packs that can be read, whether anything
// leads to it or not, in no order. Complexity: the objects of the store.
func (s *DB) EachCommit(fn func(Info) error) error {
	_, packs := s.sources()
	for _, p := range packs {
		x, err := p.table()
		if err != nil {
			continue
		}
		r, release, err := p.reader()
		if err != nil {
			continue
		}
		var commits []plumbing.Hash
		for i := range x.count {
			if h, err := readPackedHeader(r, x.offset(i)); err == nil && h.kind != plumbing.BlobObject && h.kind != plumbing.TreeObject {
				commits = append(commits, plumbing.Hash(x.id(i))) // or a delta: only others make those
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
		x.from(first, func(id plumbing.Hash) bool {
			if !strings.HasPrefix(id.String(), prefix) {
				return false
			}
			if o, err := s.object(id); err == nil && o.kind == plumbing.CommitObject {
				found[SHA(id.String())] = true
			}
			return true
		})
	}
	list, err := s.fs.ReadDir(filepath.Join(s.dir, "objects", prefix[:2])) // stock git may have written it
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range list {
		name := prefix[:2] + e.Name()
		if len(name) != 40 || !strings.HasPrefix(name, prefix) {
			continue
		}
		if o, err := s.object(plumbing.NewHash(name)); err == nil && o.kind == plumbing.CommitObject {
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
	entry, err := s.find(tree, path)
	if err != nil {
		return nil, 0, err
	}
	o, err := s.object(entry.Hash)
	if err != nil {
		return nil, 0, err
	}
	r, err := o.Reader()
	return r, o.size, err
}

// HasFile tells whether a tree has a file, not a folder, at a path.
func (s *DB) HasFile(tree SHA, path string) bool {
	entry, err := s.find(tree, path)
	return err == nil && entry.Mode != filemode.Dir
}

// HasLink is HasFile for symbolic links alone.
func (s *DB) HasLink(tree SHA, path string) bool {
	entry, err := s.find(tree, path)
	return err == nil && entry.Mode == filemode.Symlink
}

// HasExecutable is HasFile for executable files alone.
func (s *DB) HasExecutable(tree SHA, path string) bool {
	entry, err := s.find(tree, path)
	return err == nil && entry.Mode == filemode.Executable
}

func (s *DB) find(tree SHA, path string) (gitobject.TreeEntry, error) {
	at := plumbing.NewHash(string(tree))
	for {
		first, rest, below := strings.Cut(path, "/")
		t, err := readTree(s, at)
		if err != nil {
			return gitobject.TreeEntry{}, err
		}
		i := slices.IndexFunc(t, func(e gitobject.TreeEntry) bool { return unescapeName(e.Name) == first })
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
	t, err := readTree(s, tree)
	if err != nil {
		return err
	}
	for _, e := range t {
		name := prefix + unescapeName(e.Name)
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
		for i := range x.count {
			id := plumbing.Hash(x.id(i))
			if kind != plumbing.AnyObject {
				if o, err := s.object(id); err != nil || o.kind != kind {
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
