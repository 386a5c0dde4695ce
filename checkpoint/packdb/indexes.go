package packdb

import (
	"bytes"
	"errors"
	"fmt"
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

// Unindexed returns the packs of a store of hank's own whose index is missing or damaged,
// and that are whole: see Pack.Table.
func (s *DB) Unindexed() (packs []*Pack) {
	_, all := s.Sources()
	for _, p := range all {
		if _, err := p.Table(); err == nil && p.unfit != nil {
			packs = append(packs, p)
		}
	}
	return packs
}

// Unfit says what is wrong with the index of a pack that Unindexed returns. It matches
// fs.ErrNotExist, or is a *DamagedError.
func (p *Pack) Unfit() error { return p.unfit }

// WriteIndex writes the index that was made of a pack. A damaged one is replaced: the
// caller has moved it away, unless nobody needs it.
func (s *DB) WriteIndex(p *Pack) error {
	if s.Opts.ReadOnly {
		return ErrReadOnly
	}
	x, err := p.Table()
	if err != nil {
		return err
	}
	tmp := filepath.Join(filepath.Dir(p.Base), temporary+filepath.Base(p.Base)+indexTemporary)
	if err := vfs.WriteSynced(s.FS, tmp, x.Bytes(), os.O_EXCL, 0o444); err != nil {
		return err
	}
	if err := s.FS.Rename(tmp, p.Base+".idx"); err != nil {
		return err
	}
	p.unfit = nil
	return s.FS.SyncDir(filepath.Dir(p.Base))
}

// remakeIndex makes the index from the pack where its file is missing, damaged or made for
// another pack, if the pack is whole. Otherwise what could be read of the index stays.
func (p *Pack) remakeIndex() {
	why := p.bad
	switch {
	case why == nil:
		why = p.misfit()
	case errors.Is(why, vfs.ErrNotRegular):
		why = &DamagedError{Path: p.Base + ".idx", Why: "it is no file"}
	}
	if !IsMissing(why) {
		return // it is as it must be, or cannot be read at the moment
	}
	made, err := p.makeIndex()
	unread := new(fs.PathError)
	switch {
	case err == nil:
		p.index, p.bad, p.unfit = made, nil, why
	case p.bad == nil || IsAbsent(err): // a merge has removed the pack
	case errors.As(err, &unread):
		p.bad = fmt.Errorf("read pack: %w", err)
	case IsAbsent(why):
		p.bad = &DamagedError{Path: p.String(), Why: "its index is gone, and none can be made of it", Err: err}
	default:
		p.bad = &DamagedError{Path: p.String(), Why: "its index is damaged, and none can be made of it", Err: err}
	}
}

// misfit says why an index that can be read is not the pack's; nil: it is. A pack that is
// named by its checksum is not opened for that.
func (p *Pack) misfit() error {
	if !p.index.Intact() {
		return &DamagedError{Path: p.Base + ".idx", Why: "its checksum is wrong"}
	}
	if strings.HasSuffix(p.Base, fmt.Sprintf("-%x", p.index.PackChecksum())) {
		return nil
	}
	f, err := p.FS.OpenFile(p.String(), os.O_RDONLY, 0)
	if err != nil {
		return nil // who reads an object says why
	}
	defer f.Close()
	if sum, _, err := lastSum(f); err != nil || bytes.Equal(sum, p.index.PackChecksum()) {
		return nil
	}
	return &DamagedError{Path: p.Base + ".idx", Why: "it was made for another pack"}
}

// makeIndex computes the index of the pack by reading all of it.
func (p *Pack) makeIndex() (x packindex.Index, err error) {
	f, err := p.FS.OpenFile(p.String(), os.O_RDONLY, 0)
	if err != nil {
		return x, err
	}
	defer f.Close()
	if _, err := CheckPackSum(f); err != nil {
		return x, err
	}
	w := new(idxfile.Writer)
	parser, err := packfile.NewParser(packfile.NewScanner(f), w)
	if err != nil {
		return x, err
	}
	if _, err := parser.Parse(); err != nil {
		return x, err
	}
	table, err := w.Index()
	if err != nil {
		return x, err
	}
	entries, err := table.Entries()
	if err != nil {
		return x, err
	}
	var list []packindex.Entry
	for {
		e, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return packindex.Parse(packindex.Encode(list, table.PackfileChecksum[:]))
		}
		if err != nil {
			return x, err
		}
		list = append(list, packindex.Entry{ID: e.Hash, CRC: e.CRC32, Offset: int64(e.Offset)})
	}
}

// CheckPackSum compares a pack with the checksum at its end, and returns that.
func CheckPackSum(f vfs.File) ([]byte, error) {
	end, body, err := lastSum(f)
	if err != nil {
		return nil, err
	}
	sum, err := sumOf(f, body)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(sum, end) {
		return nil, errors.New("its checksum is wrong")
	}
	return sum, nil
}

// lastSum returns the checksum at the end of a pack, and how many bytes come before it.
func lastSum(f vfs.File) (sum []byte, body int64, err error) {
	fi, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	if body = fi.Size() - HashSize; body < packHeader {
		return nil, 0, errors.New("it is too short")
	}
	sum = make([]byte, HashSize)
	if _, err := f.ReadAt(sum, body); err != nil && err != io.EOF {
		return nil, 0, err
	}
	return sum, body, nil
}
