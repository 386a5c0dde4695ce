package packdb

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	gitobject "github.com/go-git/go-git/v5/plumbing/object"
	"github.com/klauspost/compress/zlib"

	"hank/checkpoint/packindex"
	"hank/internal/failpoint"
	"hank/internal/vfs"
)

// temporary begins the names of packs and indexes that are being written. Stock
// git's prune deletes what begins with tmp_, and its gc an .idx without a .pack:
// neither may be called so.
const temporary = "hank-writing-"

// indexTemporary ends the name of an index that is being written.
const indexTemporary = "-index"

// keepMark ends the name of an empty file beside a pack. Stock git's repack and
// gc leave a pack that has one alone; else they would delete what no reference
// leads to yet, or what a running hank has open.
const keepMark = ".keep"

// keep marks a pack. Packs of a repository that is somebody's are theirs.
func (s *DB) keep(base string) error {
	if s.Opts.Shared {
		return nil
	}
	f, err := s.FS.OpenFile(base+keepMark, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// deflaters are reused: a new one costs more than most objects.
var deflaters = sync.Pool{New: func() any {
	z, err := zlib.NewWriterLevel(io.Discard, zlib.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	return z
}}

// deflated are the buffers of objects on their way into the pack, which copies
// them.
var deflated = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// Deflate writes what r has to w, compressed as the objects of a pack are.
func Deflate(w io.Writer, r io.Reader) error {
	z := deflaters.Get().(*zlib.Writer)
	defer deflaters.Put(z)
	z.Reset(w)
	_, err := io.Copy(z, r)
	return errors.Join(err, z.Close())
}

// PutObject stores an object, unless the store has it. It returns whether it
// is new.
func (s *DB) PutObject(kind plumbing.ObjectType, data []byte) (plumbing.Hash, bool, error) {
	id := objectID(kind, data)
	if s.HasObject(id) {
		return id, false, nil
	}
	p, err := s.Pack()
	if err != nil {
		return id, false, err
	}
	packed := deflated.Get().(*bytes.Buffer)
	defer deflated.Put(packed)
	packed.Reset()
	if err := Deflate(packed, bytes.NewReader(data)); err != nil {
		return id, false, err
	}
	added, err := p.add(id, AppendPackedHeader(nil, kind, int64(len(data))), packed.Bytes())
	return id, added, err
}

// PutStream stores an object that does not fit in memory.
func (s *DB) PutStream(kind plumbing.ObjectType, size int64, r io.Reader) (id plumbing.Hash, added bool, err error) {
	p, err := s.Pack()
	if err != nil {
		return id, false, err
	}
	finished := func(id plumbing.Hash) bool {
		_, packs := s.Sources()
		return InPacks(packs, id)
	}
	added, err = p.stream(finished, func(w io.Writer) (plumbing.Hash, error) {
		if _, err := w.Write(AppendPackedHeader(nil, kind, size)); err != nil {
			return id, err
		}
		h := NewObjectHash(kind, size)
		if err := Deflate(w, io.TeeReader(r, h)); err != nil {
			return id, err
		}
		h.Sum(id[:0])
		return id, nil
	})
	return id, added, err
}

// Pack returns the pending pack, and begins one if there is none.
func (s *DB) Pack() (*PendingPack, error) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if s.Pending != nil {
		return s.Pending, nil
	}
	fsys, name := s.FS, s.TemporaryPack()
	if s.Opts.ReadOnly { // what is found is not kept, and nothing is written here
		fsys, name = vfs.OS, filepath.Join(os.TempDir(), filepath.Base(name))
	}
	p, err := NewPendingPack(fsys, name)
	if err != nil {
		return nil, err
	}
	p.limit = s.room
	if s.Opts.ReadOnly {
		// Where the system lets it have no name from now on, a reader that is
		// killed leaves nothing behind.
		_ = fsys.Remove(name)
	}
	s.Pending = p
	return p, nil
}

// LimitPending lets the pending pack, the present one or the next, not become
// larger than room until lift is called.
func (s *DB) LimitPending(room int64) (lift func()) {
	set := func(limit int64) {
		s.Mu.Lock()
		defer s.Mu.Unlock()
		if s.room = limit; s.Pending != nil {
			s.Pending.mu.Lock()
			s.Pending.limit = limit
			s.Pending.mu.Unlock()
		}
	}
	set(room)
	return func() { set(0) }
}

// TemporaryPack returns a name for a pack that is being written.
func (s *DB) TemporaryPack() string {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails (crypto/rand)
	return filepath.Join(s.Dir, "objects", "pack", temporary+hex.EncodeToString(random[:]))
}

// Abort drops the objects that are not durable yet.
func (s *DB) Abort() {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.drop()
}

// drop is Abort for who holds the lock.
func (s *DB) drop() {
	if s.Pending != nil {
		// The file has a temporary name: if it cannot be removed, Open does.
		_ = s.Pending.Discard()
		s.Pending = nil
	}
	s.Vouched.DropPending()
}

// Flush makes all pending objects durable:
//
//  1. The pack gets its count and checksum, and is synced.
//  2. The index is written beside it under a temporary name, and synced.
//  3. The pack gets its mark, see keepMark, then its name, then the index its
//     own: a pack counts once it has an index, so that a crash in between leaves
//     only unused files.
//  4. The directory is synced.
//
// If it fails, the pending objects are dropped as by Abort: after a failed
// sync nobody knows what the disk holds.
func (s *DB) Flush(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.flushPending(); err != nil {
		return err
	}
	s.Vouched.KeepLargeCache()
	return nil
}

func (s *DB) flushPending() error {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	p := s.Pending
	if p == nil || p.Count() == 0 {
		s.Vouched.SettleCache()
		return nil
	}
	if s.Opts.ReadOnly {
		return ErrReadOnly
	}
	base, err := s.FlushPack(p)
	if err != nil {
		s.drop()
		return fmt.Errorf("writing a pack of checkpoints: %w", err)
	}
	s.Pending = nil
	s.Packs = append([]*Pack{s.NewPack(base, p.Written+HashSize)}, s.Packs...)
	s.Vouched.SettleCache()
	return nil
}

// FlushPack makes a pack durable and gives it its name: the pack and its index are
// synced, the pack is renamed before the index (without an index Git reads no pack), and
// the directory is synced. base is its path without an extension.
func (s *DB) FlushPack(p *PendingPack) (base string, err error) {
	sum, err := p.seal()
	if err != nil {
		return "", err
	}
	failpoint.Hit("pack.written")
	if err := errors.Join(p.File.Sync(), p.File.Close()); err != nil {
		return "", err
	}
	index := p.Path + indexTemporary
	if err := vfs.WriteSynced(s.FS, index, packindex.Encode(p.Entries, sum), os.O_EXCL, 0o444); err != nil {
		return "", err
	}
	base = p.packBase(sum)
	if fi, err := s.FS.Lstat(p.Path); err != nil {
		return "", err
	} else if fi.Size() != p.Written+HashSize { // somebody has put another directory there
		return "", fmt.Errorf("%s has %d bytes, and %d were written", p.Path, fi.Size(), p.Written+HashSize)
	}
	if err := s.keep(base); err != nil {
		return "", err
	}
	if err := s.FS.Rename(p.Path, base+".pack"); err != nil {
		return "", err
	}
	failpoint.Hit("pack.renamed")
	if err := s.FS.Rename(index, base+".idx"); err != nil {
		return "", err
	}
	failpoint.Hit("pack.indexed")
	return base, s.FS.SyncDir(filepath.Dir(base))
}

// CommitRequest is a commit to be made.
type CommitRequest struct {
	Tree    SHA
	Parents []SHA
	Message string
	When    time.Time
}

// Commit adds a commit to the pending pack and makes the pack durable. No
// reference leads to it yet: see SetRef.
func (s *DB) Commit(ctx context.Context, r CommitRequest) (SHA, error) {
	who := gitobject.Signature{Name: "hank", Email: "hank@localhost", When: r.When.UTC()}
	c := gitobject.Commit{Author: who, Committer: who, Message: r.Message, TreeHash: plumbing.NewHash(string(r.Tree))}
	for _, p := range r.Parents {
		c.ParentHashes = append(c.ParentHashes, plumbing.NewHash(string(p)))
	}
	var o plumbing.MemoryObject
	if err := c.Encode(&o); err != nil {
		return "", fmt.Errorf("encoding a commit: %w", err)
	}
	id, err := s.SetEncodedObject(&o)
	if err != nil {
		return "", fmt.Errorf("storing a commit: %w", err)
	}
	return SHA(id.String()), s.Flush(ctx)
}

// SetEncodedObject puts an object into the pending pack.
func (s *DB) SetEncodedObject(o plumbing.EncodedObject) (plumbing.Hash, error) {
	r, err := o.Reader()
	if err != nil {
		return plumbing.ZeroHash, err
	}
	defer r.Close()
	if o.Size() > InMemory {
		id, _, err := s.PutStream(o.Type(), o.Size(), &ExactReader{R: r, Left: o.Size()})
		return id, err
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	id, _, err := s.PutObject(o.Type(), data)
	return id, err
}
