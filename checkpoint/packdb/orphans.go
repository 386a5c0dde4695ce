package packdb

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"

	"hank/checkpoint/packindex"
	"hank/internal/vfs"
)

// IndexOrphans makes the index of packs that have none: a crash came between
// the two renames of Flush, or the index was lost. So no object is lost, and
// no pack takes room that nobody can read. A pack that is not whole is left to
// Check.
func (s *DB) IndexOrphans() error {
	names, err := s.Orphans()
	if err != nil {
		return err
	}
	for _, pack := range names {
		index, err := s.IndexOf(pack)
		if err != nil {
			continue
		}
		tmp := filepath.Join(filepath.Dir(pack), temporary+filepath.Base(pack)+indexTemporary)
		if err := writeSynced(s.FS, tmp, index, 0o444); err != nil {
			return err
		}
		if err := s.FS.Rename(tmp, strings.TrimSuffix(pack, ".pack")+".idx"); err != nil {
			return err
		}
		if err := s.FS.SyncDir(filepath.Dir(pack)); err != nil {
			return err
		}
	}
	return nil
}

// Orphans returns the packs without index.
func (s *DB) Orphans() ([]string, error) {
	dir := filepath.Join(s.Dir, "objects", "pack")
	list, err := s.FS.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range list {
		name := filepath.Join(dir, e.Name())
		base, isPack := strings.CutSuffix(name, ".pack")
		if !isPack || !strings.HasPrefix(e.Name(), "pack-") {
			continue
		}
		if _, err := s.FS.Lstat(base + ".idx"); errors.Is(err, fs.ErrNotExist) {
			names = append(names, name)
		}
	}
	return names, nil
}

// IndexOf computes the index of a pack by reading all of it.
func (s *DB) IndexOf(pack string) ([]byte, error) {
	f, err := s.FS.OpenFile(pack, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := CheckPackSum(f); err != nil {
		return nil, err
	}
	w := new(idxfile.Writer)
	parser, err := packfile.NewParser(packfile.NewScanner(f), w)
	if err != nil {
		return nil, err
	}
	if _, err := parser.Parse(); err != nil {
		return nil, err
	}
	table, err := w.Index()
	if err != nil {
		return nil, err
	}
	entries, err := table.Entries()
	if err != nil {
		return nil, err
	}
	var list []packindex.Entry
	for {
		e, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return packindex.Encode(list, table.PackfileChecksum[:]), nil
		}
		if err != nil {
			return nil, err
		}
		list = append(list, packindex.Entry{ID: e.Hash, CRC: e.CRC32, Offset: int64(e.Offset)})
	}
}

// CheckPackSum compares a pack with the checksum at its end, and returns that.
func CheckPackSum(f vfs.File) ([]byte, error) {
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	body := fi.Size() - HashSize
	if body < packHeader {
		return nil, errors.New("it is too short")
	}
	sum, err := sumOf(f, body)
	if err != nil {
		return nil, err
	}
	end := make([]byte, HashSize)
	if _, err := f.ReadAt(end, body); err != nil && err != io.EOF {
		return nil, err
	}
	if !bytes.Equal(sum, end) {
		return nil, errors.New("its checksum is wrong")
	}
	return sum, nil
}
