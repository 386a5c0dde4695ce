package packdb

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"hank/internal/flock"
	"hank/internal/vfs"
)

// HEAD tells others that this is a repository, and which branch to show. Hank
// never reads it.
const (
	headName = "HEAD"
	mainHead = "ref: refs/heads/main\n"
)

// readHead puts into HeadWas what is in the place of a HEAD that leads somewhere.
// Without one git takes the store for no repository.
func (s *DB) readHead() error {
	text, err := vfs.ReadFile(s.FS, filepath.Join(s.Dir, headName))
	switch {
	case err == nil && s.leadsSomewhere(strings.TrimSuffix(string(text), "\n")):
	case err == nil:
		s.HeadWas = fmt.Sprintf("%.40q", text)
	case errors.Is(err, fs.ErrNotExist):
		s.HeadWas = "gone"
	case errors.Is(err, vfs.ErrNotRegular):
		s.HeadWas = "no file"
	default:
		return err
	}
	return nil
}

// repairHead writes a HEAD that leads somewhere where there is none.
func (s *DB) repairHead() error {
	if err := s.readHead(); err != nil || s.HeadWas == "" {
		return err
	}
	name := filepath.Join(s.Dir, headName)
	if fi, err := s.FS.Lstat(name); err == nil && !fi.Mode().IsRegular() {
		if err := s.FS.Remove(name); err != nil {
			return err
		}
	}
	return vfs.ReplaceFile(s.FS, name, []byte(mainHead), 0o600, vfs.Durable)
}

// leadsSomewhere reports whether a HEAD is one that git takes, and not truncated.
func (s *DB) leadsSomewhere(head string) bool {
	name, symbolic := strings.CutPrefix(head, "ref: ")
	if !symbolic || head+"\n" == mainHead {
		return symbolic || isSHA(head)
	}
	if !strings.HasPrefix(name, Branches) || CheckRefName(name) != nil {
		return false
	}
	at, err := s.Ref(name)
	return err == nil && at != ""
}

// storeFiles are the files of an empty store. gc.auto is off because merging
// packs is hank's; autocrlf is off because a checkpoint holds bytes. For the
// same reason info/attributes outranks what .gitattributes a workspace has:
// stock git checks out what was recorded, unconverted.
var storeFiles = []struct{ name, text string }{
	{"config", "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n\tautocrlf = false\n\tlogallrefupdates = false\n[gc]\n\tauto = 0\n"},
	{"info/exclude", "# hank never records .git, .hankweave* and the data; other rules may be added here\n"},
	{"info/attributes", "* -text -eol -ident -filter -working-tree-encoding -export-subst -export-ignore\n"},
	{lockMark, lockMarkText},
	{headName, mainHead},
}

// Init makes a store. It is built under a temporary name in the same directory
// and renamed into place when it is whole and synced, so that a crash leaves
// no half of one.
func Init(o Options) (*DB, error) {
	s := New(o)
	if _, err := s.FS.Lstat(s.Dir); err == nil {
		return nil, &fs.PathError{Op: "make checkpoint store", Path: s.Dir, Err: fs.ErrExist}
	}
	tmp := s.Dir + ".tmp"
	if err := vfs.RemoveTree(s.FS, tmp); err != nil {
		return nil, fmt.Errorf("clearing away a half-made checkpoint store: %w", err)
	}
	for _, dir := range []string{"", "objects", "objects/pack", "objects/info", "refs", "refs/heads", "refs/tags", "info"} {
		if err := vfs.MkdirAll(s.FS, filepath.Join(tmp, dir), 0o700); err != nil {
			return nil, fmt.Errorf("making the checkpoint store: %w", err)
		}
	}
	for _, f := range storeFiles {
		if err := vfs.ReplaceFile(s.FS, filepath.Join(tmp, f.name), []byte(f.text), 0o600, vfs.Durable); err != nil {
			return nil, fmt.Errorf("making the checkpoint store: %w", err)
		}
	}
	if err := s.FS.Rename(tmp, s.Dir); err != nil {
		return nil, fmt.Errorf("making the checkpoint store: %w", err)
	}
	if err := s.FS.SyncDir(filepath.Dir(s.Dir)); err != nil {
		return nil, fmt.Errorf("making the checkpoint store: %w", err)
	}
	return s, nil
}

// Open opens a store. One that is not there matches fs.ErrNotExist; one that
// is no repository is a *DamagedError. What an interrupted write has left
// (temporary packs, locks) is removed: the caller holds the execution's lock,
// so nobody else is writing.
func Open(o Options) (*DB, error) {
	s := New(o)
	if _, err := s.FS.Lstat(s.Dir); err != nil {
		return nil, err
	}
	for _, name := range []string{"objects/pack", "refs/heads"} {
		_, err := s.FS.Lstat(filepath.Join(s.Dir, name))
		switch own := name == "refs/heads" && !o.Shared; {
		case own && s.inPlaceOfRefs() != nil:
			err = nil // who reads the references says so
		case own && errors.Is(err, fs.ErrNotExist):
			if err = nil; !o.ReadOnly { // the references are lost, and no object is; or a copy has left out what was empty
				err = vfs.MkdirAll(s.FS, filepath.Join(s.Dir, name), 0o700)
			}
		}
		if err != nil {
			return nil, &DamagedError{Path: s.Dir, Why: name + " cannot be found", Err: err}
		}
	}
	if o.Shared { // anybody's, so that it is one only with a HEAD
		if _, err := s.FS.Lstat(filepath.Join(s.Dir, headName)); err != nil {
			return nil, &DamagedError{Path: s.Dir, Why: headName + " cannot be found", Err: err}
		}
	}
	if o.ReadOnly && !o.Shared {
		_ = s.readHead() // nobody needs it for reading
	}
	if !o.ReadOnly && !o.Shared {
		if err := s.repairHead(); err != nil {
			return nil, fmt.Errorf("repairing the checkpoint store: %w", err)
		}
	}
	if o.Shared && !o.ReadOnly {
		s.LockAlone()
	}
	if !o.ReadOnly && (!o.Shared || s.alone != nil) {
		if err := s.sweep(); err != nil {
			s.release()
			return nil, fmt.Errorf("clearing up the checkpoint store: %w", err)
		}
	}
	if err := s.readShallow(); err != nil {
		s.release()
		return nil, err
	}
	var err error
	if s.Packs, err = s.listPacks(nil); err != nil {
		s.release()
	}
	return s, err
}

// LockAlone takes a shared repository for this process, unless another hank
// has it, or there are no locks.
func (s *DB) LockAlone() {
	dir, err := flock.OpenDir(s.Dir)
	if err != nil {
		return
	}
	if flock.Exclusive(dir) != nil {
		dir.Close()
		return
	}
	s.alone = dir
}

// release gives a shared repository free.
func (s *DB) release() {
	if s.alone != nil {
		_ = flock.Close(s.alone) // it was only locked
		s.alone = nil
	}
}

// sweep removes what only an interrupted write of hank's leaves behind: also
// an index without its pack, which holds nothing. A power cut may keep the one
// name and not the other, of a pack that was just made or just merged. In a
// shared repository such a half may be somebody's who is making the other. In
// hank's own each pack gets its mark, see keepMark: stock git may have made it.
func (s *DB) sweep() error {
	dir := filepath.Join(s.Dir, "objects", "pack")
	list, err := s.FS.ReadDir(dir)
	if err != nil {
		return err
	}
	names := map[string]bool{}
	for _, e := range list {
		names[e.Name()] = true
	}
	for _, e := range list {
		if name := e.Name(); s.isLeftOver(e, names) {
			if err := s.FS.Remove(filepath.Join(dir, name)); err != nil {
				return err
			}
		} else if base, isPack := strings.CutSuffix(name, ".pack"); isPack && strings.HasPrefix(name, "pack-") && !names[base+keepMark] {
			if err := s.keep(filepath.Join(dir, base)); err != nil {
				return err
			}
		}
	}
	return s.sweepRefs()
}

// oldTemporary began the names of packs that were being written by older versions of hank;
// what is left of them is removed.
const oldTemporary = "tmp_hank_"

// isLeftOver reports whether a file among the packs is of no use.
func (s *DB) isLeftOver(e fs.DirEntry, names map[string]bool) bool {
	if strings.HasPrefix(e.Name(), temporary) || strings.HasPrefix(e.Name(), oldTemporary) {
		return true
	}
	base, isIndex := strings.CutSuffix(e.Name(), ".idx")
	if !isIndex {
		var isMark bool
		if base, isMark = strings.CutSuffix(e.Name(), keepMark); !isMark {
			return false
		}
	}
	return !s.Opts.Shared && e.Type().IsRegular() && !names[base+".pack"]
}

// Close drops what is pending, keeps the stat cache, and closes the packs.
func (s *DB) Close() error {
	s.Abort()
	return errors.Join(s.Vouched.KeepCache(), s.removeReplaced(), s.closePacks())
}

// Abandon is Close for a store whose directory is not the one any more that has its
// name: nothing is written or removed by that.
func (s *DB) Abandon() {
	s.Abort()
	s.Vouched.DropCache()
	_ = s.closePacks() // they were read
}

func (s *DB) closePacks() error {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	var err error
	for _, p := range s.Packs {
		err = errors.Join(err, p.Close())
	}
	s.Packs = nil
	s.release()
	return err
}

// Size returns how many bytes the store takes on disk.
func (s *DB) Size() (int64, error) {
	var sum int64
	err := filepath.WalkDir(s.Dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		fi, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			sum += fi.Size()
		}
		return err
	})
	return sum, err
}

// PackBytes returns how many bytes the packs take, which is nearly all of the
// store: with their indexes, those that a merge has replaced and nobody has
// removed yet, and what others are writing. This store's own pending pack is not
// counted: see SnapshotRequest.Room. It costs one look at each file; one that is
// gone by then counts nothing.
func (s *DB) PackBytes() int64 {
	dir := filepath.Join(s.Dir, "objects", "pack")
	list, err := s.FS.ReadDir(dir)
	if err != nil {
		return 0 // whoever reads a pack says why
	}
	own := ""
	s.Mu.RLock()
	if s.Pending != nil {
		own = filepath.Base(s.Pending.Path)
	}
	s.Mu.RUnlock()
	var sum int64
	for _, e := range list {
		if fi, err := s.FS.Lstat(filepath.Join(dir, e.Name())); err == nil && e.Name() != own {
			sum += fi.Size()
		}
	}
	return sum
}
