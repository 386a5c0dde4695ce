package packdb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"

	"hank/internal/vfs"
)

// Options say where a store is and what it may use.
type Options struct {
	FS  vfs.FS // nil is the real one
	Dir string // the git directory, absolute
	// CacheFile is where the stat cache is kept between processes; "" is
	// nowhere. BootID is the machine's present boot; "" trusts no kept cache.
	CacheFile string
	BootID    string
	Now       func() time.Time // nil is time.Now
	// ReadOnly promises that nothing is written: what a snapshot finds is
	// thrown away by Close. It may be opened while another process writes.
	ReadOnly bool
	// Shared says that others may write to the repository too, so that what
	// looks like left over is only cleared away while no other hank has it open
	// for writing.
	Shared bool
}

// DB is the git repository that holds the checkpoints of one execution. It
// is a bare repository that stock git reads. It implements go-git's
// storage.Storer, so that trees, commits, diffs and transport are go-git's.
//
// New objects go into one pending pack, which Commit and Flush make durable.
// Reading is safe from several goroutines; writing is for one at a time.
type DB struct {
	// HeadWas is what Open found in the place of HEAD, which it writes again unless the
	// store is ReadOnly; empty if that was right.
	HeadWas string

	FS        vfs.FS
	Dir       string
	Opts      Options
	openPacks atomic.Int32

	Mu      sync.RWMutex
	Packs   []*Pack // newest first, as far as this process has made them
	Pending *PendingPack
	room    int64           // what the pending pack may come to; 0 is any size
	shallow []plumbing.Hash // commits that count as having no parents
	// replaced are packs whose objects are in a merged one too; they are
	// removed by the next merge, or by Close.
	Replaced []*Pack

	trees treeCache

	Merging sync.Mutex // held while packs are merged

	refs sync.Mutex // held while a reference moves

	alone *os.File // a shared repository, locked against other hanks; or nil

	Vouched Vouched // by the packs; never nil
}

// Vouched is what holds as long as the packs have what they have: the stat cache
// of whoever scans. A DB tells it what becomes of its packs.
type Vouched interface {
	// SettleCache is called when everything pending is durable; the DB is locked.
	SettleCache()
	// DropPending is called when everything pending is dropped; the DB is locked.
	DropPending()
	// KeepLargeCache is called after a Flush; the DB is not locked.
	KeepLargeCache()
	// KeepCache is called by Close.
	KeepCache() error
	// RewriteCache is called when packs were merged.
	RewriteCache() error
	// DropCache forgets everything, DistrustCache on disk too.
	DropCache()
	DistrustCache() error
}

// nothingVouched is for a DB that nobody scans into.
type nothingVouched struct{}

func (nothingVouched) SettleCache()         {}
func (nothingVouched) DropPending()         {}
func (nothingVouched) KeepLargeCache()      {}
func (nothingVouched) KeepCache() error     { return nil }
func (nothingVouched) RewriteCache() error  { return nil }
func (nothingVouched) DropCache()           {}
func (nothingVouched) DistrustCache() error { return nil }

// New returns the database in a directory. It reads nothing yet.
func New(o Options) *DB {
	if o.FS == nil {
		o.FS = vfs.OS
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &DB{FS: o.FS, Dir: o.Dir, Opts: o, Vouched: nothingVouched{}}
}

// SetVouched says who is told what becomes of the packs.
func (s *DB) SetVouched(v Vouched) { s.Vouched = v }

// Sources returns what objects are read from at the moment. No lock is held
// while they are asked: a pack that is being written has one of its own.
func (s *DB) Sources() (*PendingPack, []*Pack) {
	s.Mu.RLock()
	defer s.Mu.RUnlock()
	return s.Pending, s.Packs // the list is replaced, never changed
}

// IsPending reports whether there is a pending pack.
func (s *DB) IsPending() bool {
	pending, _ := s.Sources()
	return pending != nil
}

// WithPackNames calls f with the names of the packs, and of those that merged ones
// have replaced, while none comes or goes.
func (s *DB) WithPackNames(f func(packs, replaced []string)) {
	s.Mu.RLock()
	defer s.Mu.RUnlock()
	f(packNames(s.Packs), packNames(s.Replaced))
}

func packNames(packs []*Pack) []string {
	names := make([]string, len(packs))
	for i, p := range packs {
		names[i] = filepath.Base(p.Base)
	}
	return names
}

// NewPack describes a finished pack of so many bytes.
func (s *DB) NewPack(base string, size int64) *Pack {
	return &Pack{FS: s.FS, Base: base, size: size, own: !s.Opts.Shared, keeps: &s.openPacks}
}

// listPacks returns the finished packs in a store's pack directory. In a repository that
// is somebody's, a pack counts once it has its index, as for stock git. In hank's own it
// always does: it was synced before it got its name, and the index comes next. What is
// only an index is of no use to a reader.
func (s *DB) listPacks(known []*Pack) ([]*Pack, error) {
	dir := filepath.Join(s.Dir, "objects", "pack")
	list, err := s.FS.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list packs: %w", err)
	}
	have := make(map[string]*Pack, len(known))
	for _, p := range known {
		have[p.Base] = p
	}
	indexed := make(map[string]bool)
	for _, e := range list {
		if name, ok := strings.CutSuffix(e.Name(), ".idx"); ok {
			indexed[name] = true
		}
	}
	var packs []*Pack
	for _, e := range list {
		name, ok := strings.CutSuffix(e.Name(), ".pack")
		if !ok || !strings.HasPrefix(name, "pack-") || s.Opts.Shared && !indexed[name] {
			continue
		}
		base := filepath.Join(dir, name)
		if have[base] == nil {
			fi, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) { // it was merged since the directory was listed
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("list packs: %w", err)
			}
			have[base] = s.NewPack(base, fi.Size())
		}
		packs = append(packs, have[base])
	}
	return packs, nil
}

// CacheTrees keeps the trees that are read in memory, up to a bound, and how the
// last two of them differ, until release is called; it may be called while they
// are held already. Who moves a workspace asks for the same ones for each file,
// and compares them before the safety checkpoint and after it.
func (s *DB) CacheTrees() (release func()) {
	h := &s.trees
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.wanted++; h.wanted == 1 {
		h.objects = cache.NewObjectLRU(maxCachedTrees)
	}
	return sync.OnceFunc(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.wanted--; h.wanted == 0 {
			h.objects, h.memo = nil, nil
		}
	})
}

// CachesTrees reports whether trees are held in memory.
func (s *DB) CachesTrees() bool { return s.trees.list() != nil }

// Memo returns what Memorize was given since trees are held.
func (s *DB) Memo() any {
	s.trees.mu.Lock()
	defer s.trees.mu.Unlock()
	return s.trees.memo
}

// Memorize keeps a value as long as trees are held.
func (s *DB) Memorize(memo any) {
	s.trees.mu.Lock()
	defer s.trees.mu.Unlock()
	if s.trees.wanted > 0 {
		s.trees.memo = memo
	}
}
