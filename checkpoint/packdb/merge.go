package packdb

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/bits"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/shirou/gopsutil/v3/disk"

	"hank/checkpoint/packindex"
	"hank/internal/failpoint"
)

// Every checkpoint adds a pack. Packs of about one size are merged into one of
// the next: so a store with n bytes has at most mergeWidth-1 packs of each of
// log(n) sizes, and a byte is copied once for each size that it passes.
const (
	mergeWidth = 8       // packs of one size that are merged, and the factor between sizes
	smallest   = 8 << 10 // bytes; all smaller packs are of one size
	// largest bounds the packs that are merged, and with it what one merge has
	// to copy; above it there is one more pack for so many bytes.
	largest = 256 << 20
	// spare is what a merge leaves free on the disk: it must never be what
	// stops a run.
	spare = 256 << 20
)

// sizeClass numbers the sizes of packs.
func sizeClass(bytes int64) int {
	return bits.Len64(uint64(bytes)/smallest) / bits.Len(mergeWidth-1)
}

// mergeable returns the packs that are to be merged next: the smallest class
// that is full, oldest first; nil if there is none.
func mergeable(packs []*Pack) []*Pack {
	classes := map[int][]*Pack{}
	full := -1
	for _, p := range packs {
		if p.apart.Load() || p.size > largest {
			continue
		}
		n := sizeClass(p.size)
		classes[n] = append(classes[n], p)
		if len(classes[n]) >= mergeWidth && (full < 0 || n < full) {
			full = n
		}
	}
	list := classes[full]
	slices.Reverse(list)
	return list
}

// MergeDue reports whether Merge has something to do. It costs next to nothing.
func (s *DB) MergeDue() bool {
	_, packs := s.Sources()
	return !s.Opts.ReadOnly && mergeable(packs) != nil
}

// Merge merges packs until none of the same size are so many that it is worth
// it. It may run while another goroutine reads or makes checkpoints; only one
// may merge. One step:
//
//  1. The packs that the step before has replaced are removed. Nobody needs
//     them: their objects are in a pack that is durable, this process has it in
//     their place, the kept stat cache names it, and a reader that comes too
//     late for one looks again.
//  2. The objects of the new step's packs are copied as they are, each against
//     the checksum that its index has, into one pack under a temporary name.
//  3. It is made durable and named as every pack is, see Flush.
//  4. It takes the place of the packs that it was made of.
//  5. The stat cache on disk, which names packs, is written again.
//
// A crash leaves at worst objects that stand in two packs, which the next
// merge of their size makes one (see exchange); and a temporary file, which Open removes. What
// cannot be read is left where it is, for Check; the error says so. Complexity:
// bytes of the packs that are merged; memory: 100 bytes for each object.
func (s *DB) Merge(ctx context.Context) error {
	if s.Opts.ReadOnly {
		return ErrReadOnly
	}
	s.Merging.Lock()
	defer s.Merging.Unlock()
	for {
		if err := s.removeReplaced(); err != nil {
			return fmt.Errorf("removing packs that were merged: %w", err)
		}
		_, packs := s.Sources()
		old := mergeable(packs)
		if old == nil {
			return nil
		}
		if !s.roomFor(old) {
			return nil
		}
		merged, err := s.mergePacks(ctx, old)
		if errors.Is(err, errDeltas) {
			continue // one of them does not take part any more
		}
		if err != nil {
			return fmt.Errorf("merging packs of checkpoints: %w", err)
		}
		failpoint.Hit("merge.written")
		s.exchange(old, merged)
		failpoint.Hit("merge.exchanged")
		if err := s.Vouched.RewriteCache(); err != nil {
			return err
		}
	}
}

// errDeltas says that a pack has deltas, which hank does not write. Such a
// pack is as good as a merged one, and stays as it is.
var errDeltas = errors.New("the pack holds deltas")

// mergePacks copies the objects of some packs into a new one and makes it
// durable.
func (s *DB) mergePacks(ctx context.Context, old []*Pack) (*Pack, error) {
	out, err := NewPendingPack(s.FS, s.TemporaryPack())
	if err != nil {
		return nil, err
	}
	for _, p := range old {
		if err := p.copyInto(ctx, out); err != nil {
			_ = out.Discard() // if the file stays, Open removes it
			return nil, err
		}
	}
	base, err := s.FlushPack(out)
	if err != nil {
		_ = out.Discard()
		return nil, err
	}
	return s.NewPack(base, out.Written+HashSize), nil
}

// roomFor reports whether the disk has room for the packs once more. What cannot
// be asked is tried.
func (s *DB) roomFor(packs []*Pack) bool {
	var need uint64 = spare
	for _, p := range packs {
		need += uint64(p.size)
	}
	usage, err := disk.Usage(s.Dir)
	return err != nil || usage.Free > need
}

// copyInto appends the pack's objects to another in the order that they have,
// except those that it has already. Each is compared with its checksum in the
// index, and the index with its own, so that damage does not travel.
func (p *Pack) copyInto(ctx context.Context, out *PendingPack) error {
	x, err := p.Table()
	if err != nil {
		return err
	}
	if !x.Intact() {
		return &DamagedError{Path: p.Base + ".idx", Why: "its checksum is wrong"}
	}
	r, release, err := p.reader()
	if err != nil {
		return err
	}
	defer release()
	objects, err := p.inOrder(x)
	if err != nil {
		return err
	}
	for i, o := range objects[:len(objects)-1] {
		if err := ctx.Err(); err != nil {
			return err
		}
		h, err := readPackedHeader(r, o.Offset)
		if err != nil {
			return &DamagedError{Path: p.String(), Why: fmt.Sprintf("object %s cannot be read", o.ID), Err: err}
		}
		if h.kind == plumbing.OFSDeltaObject || h.kind == plumbing.REFDeltaObject {
			p.apart.Store(true)
			return errDeltas
		}
		if err := copyPacked(out, o, io.NewSectionReader(r, o.Offset, objects[i+1].Offset-o.Offset)); err != nil {
			return fmt.Errorf("%s: object %s: %w", p, o.ID, err)
		}
	}
	return nil
}

// copyPacked appends one packed object.
func copyPacked(out *PendingPack, o packindex.Entry, packed *io.SectionReader) error {
	if packed.Size() > InMemory {
		crc := crc32.NewIEEE()
		_, err := out.stream(func(plumbing.Hash) bool { return false }, func(w io.Writer) (plumbing.Hash, error) {
			if _, err := io.Copy(w, io.TeeReader(packed, crc)); err != nil {
				return o.ID, err
			}
			return o.ID, sameChecksum(crc.Sum32(), o)
		})
		return err
	}
	data := make([]byte, packed.Size())
	if _, err := io.ReadFull(packed, data); err != nil {
		return err
	}
	if err := sameChecksum(crc32.ChecksumIEEE(data), o); err != nil {
		return err
	}
	_, err := out.add(o.ID, data)
	return err
}

func sameChecksum(crc uint32, o packindex.Entry) error {
	if crc != o.CRC {
		return &DamagedError{Why: "its bytes are not those that the index was made for"}
	}
	return nil
}

// inOrder returns the pack's objects by their offsets, and after them the end
// of the last one.
func (p *Pack) inOrder(x packindex.Index) ([]packindex.Entry, error) {
	fi, err := p.FS.Lstat(p.String())
	if err != nil {
		return nil, err
	}
	list := make([]packindex.Entry, x.Count, x.Count+1)
	for i := range list {
		list[i] = packindex.Entry{ID: plumbing.Hash(x.ID(i)), CRC: x.CRC(i), Offset: x.Offset(i)}
	}
	slices.SortFunc(list, func(a, b packindex.Entry) int { return int(min(1, max(-1, a.Offset-b.Offset))) })
	end := fi.Size() - HashSize
	if len(list) > 0 && (list[0].Offset < packHeader || list[len(list)-1].Offset >= end) {
		return nil, &DamagedError{Path: p.Base + ".idx", Why: "an offset leads out of its pack"}
	}
	return append(list, packindex.Entry{Offset: end}), nil
}

// exchange puts a pack, or nothing, into the place of those that it was made of. A pack
// is named by its content: where a crash has left packs beside the one that they were
// merged into, merging all of them makes that one again. It is among the old ones then,
// and its files are the new one's, too: they are not replaced.
func (s *DB) exchange(old []*Pack, made *Pack) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	packs := make([]*Pack, 0, len(s.Packs))
	for _, p := range s.Packs { // there may be newer ones by now
		switch {
		case p == old[len(old)-1] && made != nil: // the newest of them
			packs = append(packs, made)
		case !slices.Contains(old, p):
			packs = append(packs, p)
		}
	}
	s.Packs = packs
	for _, p := range old {
		if !slices.ContainsFunc(packs, func(q *Pack) bool { return q.Base == p.Base }) {
			s.Replaced = append(s.Replaced, p)
		}
	}
}

// removeReplaced deletes the packs that merged ones have replaced: the index
// first, without which a pack does not count. Each is known as replaced until it is
// gone, so that nobody who looks for new packs meanwhile takes it for one.
func (s *DB) removeReplaced() error {
	s.Mu.RLock()
	gone := slices.Clone(s.Replaced)
	s.Mu.RUnlock()
	var err error
	for _, p := range gone {
		err = errors.Join(err, p.Close())
		for _, end := range []string{".idx", ".pack", keepMark} {
			err = errors.Join(err, IgnoreMissing(s.FS.Remove(p.Base+end)))
		}
		failpoint.Hit("merge.removed")
	}
	s.Mu.Lock()
	s.Replaced = slices.DeleteFunc(s.Replaced, func(p *Pack) bool { return slices.Contains(gone, p) })
	s.Mu.Unlock()
	return err
}
