package packdb

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"

	"github.com/go-git/go-git/v5/plumbing"

	"hank/checkpoint/packindex"
	"hank/internal/vfs"
)

// Pack is a finished pack on disk with its index. The index is read when the
// pack is first asked for an object, and stays in memory.
type Pack struct {
	FS    vfs.FS
	Base  string // absolute path without extension
	size  int64  // bytes on disk, without the index
	own   bool   // of a store of hank's own
	keeps *atomic.Int32
	apart atomic.Bool // it holds deltas: merges leave it alone

	load  sync.Once
	index packindex.Index
	bad   error
	unfit error // why the index was made from the pack; nil: it is that of the file

	mu     sync.Mutex
	file   vfs.File // nil: opened for each use
	users  int      // who read the file at the moment
	closed bool     // the file is not kept open any more
}

// maxOpenPacks bounds the packs of one store whose files stay open.
const maxOpenPacks = 128

func (p *Pack) String() string { return p.Base + ".pack" }

// Table returns the pack's index. In a store of hank's own, one that is missing or damaged
// is made from the pack, if that is whole. That takes as long as reading the pack, and
// nothing is written: see WriteIndex.
func (p *Pack) Table() (packindex.Index, error) {
	p.load.Do(func() {
		if p.index, p.bad = p.readIndex(); p.own {
			p.remakeIndex()
		}
	})
	return p.index, p.bad
}

func (p *Pack) readIndex() (x packindex.Index, err error) {
	name := p.Base + ".idx"
	data, err := vfs.ReadFile(p.FS, name)
	if err != nil {
		return x, fmt.Errorf("read pack index: %w", err)
	}
	if x, err = packindex.Parse(data); err != nil {
		err = &DamagedError{Path: name, Why: "it cannot be read as a pack index", Err: err}
	}
	return x, err
}

// reader opens the pack, or uses the file that is open already.
func (p *Pack) reader() (io.ReaderAt, func(), error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.file != nil {
		p.users++
		return p.file, p.release, nil
	}
	f, err := p.FS.OpenFile(p.String(), os.O_RDONLY, 0)
	if err != nil {
		return nil, nil, err
	}
	if !p.closed && p.keeps.Add(1) <= maxOpenPacks {
		p.file, p.users = f, 1
		return f, p.release, nil
	}
	if !p.closed {
		p.keeps.Add(-1)
	}
	return f, func() { _ = f.Close() }, nil
}

func (p *Pack) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.users--; p.users == 0 && p.closed {
		_ = p.shut()
	}
}

// Close closes the file, or lets the last that reads it do so.
func (p *Pack) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.file == nil || p.users > 0 {
		return nil
	}
	return p.shut()
}

func (p *Pack) shut() error {
	f := p.file
	p.file = nil
	p.keeps.Add(-1)
	return f.Close()
}

// Gone reports that pack and index were removed, as a merge does.
func (p *Pack) Gone() bool {
	_, pack := p.FS.Lstat(p.String())
	_, index := p.FS.Lstat(p.Base + ".idx")
	return errors.Is(pack, fs.ErrNotExist) && errors.Is(index, fs.ErrNotExist)
}

// find returns the offset of id in the pack. A pack that was cut off before the object
// does not have it: what is stored from then on must not lean on it.
func (p *Pack) find(id *plumbing.Hash) (int64, bool, error) {
	x, err := p.Table()
	if err != nil {
		return 0, false, err
	}
	i, ok := x.Find(id)
	if !ok {
		return 0, false, nil
	}
	off := x.Offset(i)
	if off < 0 {
		return 0, false, &DamagedError{Path: p.Base + ".idx", Why: "an offset leads out of its table"}
	}
	if off >= p.size {
		return 0, false, &DamagedError{Path: p.String(), Why: "it is shorter than its index says"}
	}
	return off, true, nil
}

// InPacks reports whether one of the packs has an object. An index that cannot be read
// has none, and neither has a pack that ends before it.
func InPacks(packs []*Pack, id plumbing.Hash) bool {
	for _, p := range packs {
		if _, ok, err := p.find(&id); ok && err == nil {
			return true
		}
	}
	return false
}
