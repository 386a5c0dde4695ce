package packdb

import (
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"

	"hank/checkpoint/packindex"
	"hank/internal/vfs"
)

// PendingPack is the one pack that new objects go into until they are made
// durable. Objects in it can be read at once. Its methods may be called by
// several goroutines.
type PendingPack struct {
	fs   vfs.FS
	Path string // temporary name
	File vfs.File

	mu      sync.Mutex
	buf     []byte // follows what is in the file
	Written int64  // bytes in the file
	limit   int64  // no more bytes than these, with the index; 0 is any number
	Entries []packindex.Entry
	index   map[plumbing.Hash]int // into Entries
	Err     error                 // of an earlier write: the pack is lost
}

const (
	packHeader   = 12
	pendingChunk = 1 << 20
)

// NewPendingPack creates the file of a pack under a temporary name and begins it.
func NewPendingPack(fsys vfs.FS, path string) (*PendingPack, error) {
	f, err := fsys.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return nil, fmt.Errorf("create pack: %w", err)
	}
	p := &PendingPack{fs: fsys, Path: path, File: f, index: map[plumbing.Hash]int{}}
	p.buf = append(make([]byte, 0, 64<<10), "PACK\x00\x00\x00\x02\x00\x00\x00\x00"...)
	return p, nil
}

func (p *PendingPack) String() string { return p.Path }

// find returns the offset of id in the pack.
func (p *PendingPack) find(id plumbing.Hash) (int64, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i, ok := p.index[id]
	if !ok {
		return 0, false
	}
	return p.Entries[i].Offset, true
}

// reader writes out what is buffered, so that readers find it in the file.
func (p *PendingPack) reader() (io.ReaderAt, func(), error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.drain(); err != nil {
		return nil, nil, err
	}
	return p.File, func() {}, nil
}

// add appends an object whose packed form (header and deflated data) is given
// in parts, unless the pack has it already.
func (p *PendingPack) add(id plumbing.Hash, parts ...[]byte) (added bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, have := p.index[id]; have || p.Err != nil {
		return false, p.Err
	}
	start, crc := p.end(), uint32(0)
	for _, part := range parts {
		crc = crc32.Update(crc, crc32.IEEETable, part)
		if err := p.write(part); err != nil {
			return false, err
		}
	}
	p.note(packindex.Entry{ID: id, CRC: crc, Offset: start})
	return true, nil
}

// stream appends an object that is too large for memory: write sends its
// packed form and returns its id. Other writers wait meanwhile. If write
// fails, or the object is there already (known), the pack is as before.
func (p *PendingPack) stream(known func(plumbing.Hash) bool, write func(io.Writer) (plumbing.Hash, error)) (added bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.drain(); err != nil {
		return false, err
	}
	start := p.Written
	w := &pendingWriter{p: p}
	id, err := write(w)
	_, have := p.index[id]
	have = have || err == nil && known(id)
	if err == nil && !have && w.over {
		p.Err = ErrNoRoom
	}
	if err != nil || have || p.Err != nil {
		// What reached the file is overwritten by the next object, and truncated
		// in the end if none comes.
		p.buf, p.Written = p.buf[:0], start
		return false, errors.Join(err, p.Err)
	}
	p.note(packindex.Entry{ID: id, CRC: w.crc, Offset: start})
	return true, nil
}

// pendingWriter writes an object that may turn out to be there already. Only
// when it is not, it matters that there is no room for it.
type pendingWriter struct {
	p    *PendingPack
	crc  uint32
	over bool
}

func (w *pendingWriter) Write(b []byte) (int, error) {
	if w.over = w.over || w.p.isFull(len(b)); w.over {
		return len(b), nil
	}
	w.crc = crc32.Update(w.crc, crc32.IEEETable, b)
	if err := w.p.write(b); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (p *PendingPack) end() int64 { return p.Written + int64(len(p.buf)) }

func (p *PendingPack) note(e packindex.Entry) {
	p.index[e.ID] = len(p.Entries)
	p.Entries = append(p.Entries, e)
}

// isFull reports whether there is no room for n more bytes, of a further object.
func (p *PendingPack) isFull(n int) bool {
	return p.limit > 0 && p.end()+int64(n)+HashSize+packindex.Size(len(p.Entries)+1) > p.limit
}

func (p *PendingPack) write(b []byte) error {
	if p.Err == nil && p.isFull(len(b)) {
		p.Err = ErrNoRoom
	}
	if p.Err != nil {
		return p.Err
	}
	p.buf = append(p.buf, b...)
	if len(p.buf) >= pendingChunk {
		return p.drain()
	}
	return p.Err
}

func (p *PendingPack) drain() error {
	if p.Err != nil || len(p.buf) == 0 {
		return p.Err
	}
	if _, err := p.File.WriteAt(p.buf, p.Written); err != nil {
		p.Err = fmt.Errorf("write pack: %w", err)
		return p.Err
	}
	p.Written += int64(len(p.buf))
	p.buf = p.buf[:0]
	return nil
}

// Count returns the number of objects.
func (p *PendingPack) Count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.Entries)
}

// Discard closes the pack and removes its temporary file.
func (p *PendingPack) Discard() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Err = os.ErrClosed
	return errors.Join(p.File.Close(), p.fs.Remove(p.Path))
}

// seal completes the pack's bytes: the count of objects in the header, and the
// checksum at the end, which it returns. What is written is not synced.
func (p *PendingPack) seal() ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.drain(); err != nil {
		return nil, err
	}
	var count [4]byte
	binary.BigEndian.PutUint32(count[:], uint32(len(p.Entries)))
	if _, err := p.File.WriteAt(count[:], 8); err != nil {
		return nil, fmt.Errorf("write pack: %w", err)
	}
	sum, err := sumOf(p.File, p.Written)
	if err != nil {
		return nil, fmt.Errorf("read pack back: %w", err)
	}
	if _, err := p.File.WriteAt(sum, p.Written); err != nil {
		return nil, fmt.Errorf("write pack: %w", err)
	}
	if err := p.File.Truncate(p.Written + HashSize); err != nil {
		return nil, fmt.Errorf("cut pack: %w", err)
	}
	return sum, nil
}

// packBase returns the final path, without extension, of a pack with this
// checksum, in the directory of the temporary name.
func (p *PendingPack) packBase(sum []byte) string {
	return filepath.Join(filepath.Dir(p.Path), fmt.Sprintf("pack-%x", sum))
}

// sumOf returns the SHA-1 of the first n bytes of a file.
func sumOf(r io.ReaderAt, n int64) ([]byte, error) {
	h := sha1.New()
	_, err := io.Copy(h, io.NewSectionReader(r, 0, n))
	return h.Sum(nil), err
}
