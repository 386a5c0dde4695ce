package checkpoint

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-git/go-git/v5/plumbing"

	"hank/internal/vfs"
)

// pack is a finished pack on disk with its index. The index is read when the
// pack is first asked for an object, and stays in memory.
type pack struct {
	fs    vfs.FS
	base  string // absolute path without extension
	keeps *atomic.Int32

	load  sync.Once
	index packIndex
	bad   error

	mu   sync.Mutex
	file vfs.File // nil: opened for each use
}

// maxOpenPacks bounds the packs of one store whose files stay open.
const maxOpenPacks = 128

func (p *pack) String() string { return p.base + ".pack" }

// table returns the pack's index.
func (p *pack) table() (packIndex, error) {
	p.load.Do(func() {
		name := p.base + ".idx"
		data, err := vfs.ReadFile(p.fs, name)
		if err != nil {
			p.bad = fmt.Errorf("read pack index: %w", err)
			return
		}
		if p.index, err = parseIndex(data); err != nil {
			p.bad = &DamagedError{Path: name, Why: "it cannot be read as a pack index", Err: err}
		}
	})
	return p.index, p.bad
}

func (p *pack) reader() (io.ReaderAt, func(), error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.file != nil {
		return p.file, func() {}, nil
	}
	f, err := p.fs.OpenFile(p.String(), os.O_RDONLY, 0)
	if err != nil {
		return nil, nil, err
	}
	if p.keeps.Add(1) <= maxOpenPacks {
		p.file = f
		return f, func() {}, nil
	}
	p.keeps.Add(-1)
	return f, func() { _ = f.Close() }, nil
}

func (p *pack) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.file == nil {
		return nil
	}
	f := p.file
	p.file = nil
	p.keeps.Add(-1)
	return f.Close()
}

// find returns the offset of id in the pack.
func (p *pack) find(id *plumbing.Hash) (int64, bool, error) {
	x, err := p.table()
	if err != nil {
		return 0, false, err
	}
	i, ok := x.find(id)
	if !ok {
		return 0, false, nil
	}
	off := x.offset(i)
	if off < 0 {
		return 0, false, &DamagedError{Path: p.base + ".idx", Why: "an offset leads out of its table"}
	}
	return off, true, nil
}

// listPacks returns the finished packs in a store's pack folder. A pack counts
// once it has its index; what has only one of the two is of no use to a reader.
func (s *Store) listPacks(known []*pack) ([]*pack, error) {
	dir := filepath.Join(s.dir, "objects", "pack")
	list, err := s.fs.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list packs: %w", err)
	}
	have := make(map[string]*pack, len(known))
	for _, p := range known {
		have[p.base] = p
	}
	whole := make(map[string]bool)
	for _, e := range list {
		if name, ok := strings.CutSuffix(e.Name(), ".pack"); ok {
			whole[name] = true
		}
	}
	var packs []*pack
	for _, e := range list {
		name, ok := strings.CutSuffix(e.Name(), ".idx")
		if !ok || !whole[name] || !strings.HasPrefix(name, "pack-") {
			continue
		}
		base := filepath.Join(dir, name)
		if have[base] == nil {
			have[base] = &pack{fs: s.fs, base: base, keeps: &s.openPacks}
		}
		packs = append(packs, have[base])
	}
	return packs, nil
}
