package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"

	"hank/internal/vfs"
)

// pendingPack is the one pack that new objects go into until they are made
// durable. Objects in it can be read at once. Its methods may be called by
// several goroutines.
type pendingPack struct {
	fs   vfs.FS
	path string // temporary name
	file vfs.File

	mu      sync.Mutex
	buf     []byte // follows what is in the file
	written int64  // bytes in the file
	limit   int64  // no more bytes than these, with the index; 0 is any number
	entries []packEntry
	index   map[plumbing.Hash]int // into entries
	err     error                 // of an earlier write: the pack is lost
}

const (
	packHeader   = 12
	pendingChunk = 1 << 20
)

func newPendingPack(fsys vfs.FS, path string) (*pendingPack, error) {
	f, err := fsys.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return nil, fmt.Errorf("create pack: %w", err)
	}
	p := &pendingPack{fs: fsys, path: path, file: f, index: map[plumbing.Hash]int{}}
	p.buf = append(make([]byte, 0, 64<<10), "PACK\x00\x00\x00\x02\x00\x00\x00\x00"...)
	return p, nil
}

func (p *pendingPack) String() string { return p.path }

// find returns the offset of id in the pack.
func (p *pendingPack) find(id plumbing.Hash) (int64, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i, ok := p.index[id]
	if !ok {
		return 0, false
	}
	return p.entries[i].offset, true
}

// reader writes out what is buffered, so that readers find it in the file.
func (p *pendingPack) reader() (io.ReaderAt, func(), error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.drain(); err != nil {
		return nil, nil, err
	}
	return p.file, func() {}, nil
}

// add appends an object whose packed form (header and deflated data) is given
// in parts, unless the pack has it already.
func (p *pendingPack) add(id plumbing.Hash, parts ...[]byte) (added bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, have := p.index[id]; have || p.err != nil {
		return false, p.err
	}
	start, crc := p.end(), uint32(0)
	for _, part := range parts {
		crc = crc32.Update(crc, crc32.IEEETable, part)
		if err := p.write(part); err != nil {
			return false, err
		}
	}
	p.note(packEntry{id: id, crc: crc, offset: start})
	return true, nil
}

// stream appends an object that is too large for memory: write sends its
// packed form and returns its id. Other writers wait meanwhile. If write
// fails, or the object is there already (known), the pack is as before.
func (p *pendingPack) stream(known func(plumbing.Hash) bool, write func(io.Writer) (plumbing.Hash, error)) (added bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.drain(); err != nil {
		return false, err
	}
	start := p.written
	w := &pendingWriter{p: p}
	id, err := write(w)
	_, have := p.index[id]
	have = have || err == nil && known(id)
	if err == nil && !have && w.over {
		p.err = ErrNoRoom
	}
	if err != nil || have || p.err != nil {
		// What reached the file is overwritten by the next object, and cut off
		// in the end if none comes.
		p.buf, p.written = p.buf[:0], start
		return false, errors.Join(err, p.err)
	}
	p.note(packEntry{id: id, crc: w.crc, offset: start})
	return true, nil
}

// pendingWriter writes an object that may turn out to be there already. Only
// when it is not, it matters that there is no room for it.
type pendingWriter struct {
	p    *pendingPack
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

func (p *pendingPack) end() int64 { return p.written + int64(len(p.buf)) }

func (p *pendingPack) note(e packEntry) {
	p.index[e.id] = len(p.entries)
	p.entries = append(p.entries, e)
}

// isFull tells whether there is no room for n more bytes, of a further object.
func (p *pendingPack) isFull(n int) bool {
	return p.limit > 0 && p.end()+int64(n)+hashSize+indexSize(len(p.entries)+1) > p.limit
}

func (p *pendingPack) write(b []byte) error {
	if p.err == nil && p.isFull(len(b)) {
		p.err = ErrNoRoom
	}
	if p.err != nil {
		return p.err
	}
	p.buf = append(p.buf, b...)
	if len(p.buf) >= pendingChunk {
		return p.drain()
	}
	return p.err
}

func (p *pendingPack) drain() error {
	if p.err != nil || len(p.buf) == 0 {
		return p.err
	}
	if _, err := p.file.WriteAt(p.buf, p.written); err != nil {
		p.err = fmt.Errorf("write pack: %w", err)
		return p.err
	}
	p.written += int64(len(p.buf))
	p.buf = p.buf[:0]
	return nil
}

// count returns the number of objects.
func (p *pendingPack) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.entries)
}

// discard closes the pack and removes its temporary file.
func (p *pendingPack) discard() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = os.ErrClosed
	return errors.Join(p.file.Close(), p.fs.Remove(p.path))
}

// seal completes the pack's bytes: the count of objects in the header, and the
// checksum at the end, which it returns. What is written is not synced.
func (p *pendingPack) seal() ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.drain(); err != nil {
		return nil, err
	}
	var count [4]byte
	binary.BigEndian.PutUint32(count[:], uint32(len(p.entries)))
	if _, err := p.file.WriteAt(count[:], 8); err != nil {
		return nil, fmt.Errorf("write pack: %w", err)
	}
	sum, err := sumOf(p.file, p.written)
	if err != nil {
		return nil, fmt.Errorf("read pack back: %w", err)
	}
	if _, err := p.file.WriteAt(sum, p.written); err != nil {
		return nil, fmt.Errorf("write pack: %w", err)
	}
	if err := p.file.Truncate(p.written + hashSize); err != nil {
		return nil, fmt.Errorf("cut pack: %w", err)
	}
	return sum, nil
}

// packBase returns the final path, without extension, of a pack with this
// checksum, in the folder of the temporary name.
func (p *pendingPack) packBase(sum []byte) string {
	return filepath.Join(filepath.Dir(p.path), fmt.Sprintf("pack-%x", sum))
}
