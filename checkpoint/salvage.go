package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
)

// Salvaged is what became of a damaged pack.
type Salvaged struct {
	Pack        string // path
	Why         error
	Saved, Lost int // objects; Lost is -1 if nobody knows which there were
}

// Salvage puts packs that are damaged out of the way, so that nothing that is
// stored from now on leans on them: an object that only a damaged pack has
// counts as stored as long as the pack's index is there.
//
//  1. Every pack is compared with its checksum, and its index with its own. An
//     index that is damaged is set aside, and made anew if its pack is whole.
//  2. What can still be read of a damaged pack is copied into a new one, which
//     is made durable.
//  3. The damaged pack and its index are given to setAside, which moves them.
//
// A crash in between leaves the damaged pack beside the new one, for the next
// call. The stat cache is forgotten. Complexity: bytes in the store.
func (s *DB) Salvage(ctx context.Context, setAside func(name string, why error) error) ([]Salvaged, error) {
	if s.opts.ReadOnly {
		return nil, errReadOnly
	}
	s.merging.Lock()
	defer s.merging.Unlock()
	s.vouched.DropCache()
	var found []Salvaged
	_, packs := s.sources()
	for _, p := range packs {
		why := s.damage(p)
		if why == nil {
			continue
		}
		result, err := s.salvage(ctx, p, why, setAside)
		found = append(found, result)
		if err != nil {
			return found, fmt.Errorf("salvaging %s: %w", p, err)
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	err := s.indexOrphans()
	if err == nil {
		s.mu.Lock()
		s.packs, err = s.listPacks(s.packs)
		s.mu.Unlock()
	}
	return found, err
}

// damage says what is wrong with a pack; nil if nothing is.
func (s *DB) damage(p *pack) error {
	x, err := p.table()
	if err == nil && !x.intact() {
		err = &DamagedError{Path: p.base + ".idx", Why: "its checksum is wrong"}
	}
	if err == nil {
		if sum := p.checksum(x); sum != nil {
			err = &DamagedError{Path: p.String(), Why: "it is not what its index was made for", Err: sum}
		}
	}
	return err
}

func (s *DB) salvage(ctx context.Context, p *pack, why error, setAside func(string, error) error) (Salvaged, error) {
	result := Salvaged{Pack: p.String(), Why: why, Lost: -1}
	if x, err := p.table(); err == nil && x.intact() {
		if result.Saved, result.Lost, err = s.saveReadable(ctx, p, x); err != nil {
			return result, err
		}
	}
	s.mu.Lock()
	kept := make([]*pack, 0, len(s.packs))
	for _, other := range s.packs {
		if other != p {
			kept = append(kept, other)
		}
	}
	s.packs = kept
	s.mu.Unlock()
	err := p.close()
	names := []string{p.base + ".idx"}
	if result.Lost >= 0 || p.whole() != nil {
		names = append(names, p.String())
	}
	for _, name := range names {
		if _, there := s.fs.Lstat(name); there == nil {
			err = errors.Join(err, setAside(name, why))
		}
	}
	return result, err
}

// saveReadable copies the objects of a damaged pack that can be read into a new
// one.
func (s *DB) saveReadable(ctx context.Context, p *pack, x packIndex) (saved, lost int, err error) {
	out, err := newPendingPack(s.fs, s.temporaryPack())
	if err != nil {
		return 0, 0, err
	}
	for i := range x.count {
		if err := ctx.Err(); err != nil {
			_ = out.discard()
			return 0, 0, err
		}
		switch err := s.copyObject(plumbing.Hash(x.id(i)), out); {
		case out.err != nil:
			_ = out.discard() // the disk is full
			return 0, 0, out.err
		case err != nil:
			if _, packs := s.sources(); !slices.ContainsFunc(packs, func(other *pack) bool { return other != p && inPacks([]*pack{other}, plumbing.Hash(x.id(i))) }) {
				lost++
			}
		default:
			saved++
		}
	}
	if saved == 0 {
		return 0, lost, out.discard()
	}
	base, err := s.flush(out)
	if err != nil {
		_ = out.discard()
		return 0, 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.packs = append([]*pack{s.newPack(base, out.written+hashSize)}, s.packs...)
	return saved, lost, nil
}

// copyObject reads an object, verified, and packs it into another pack.
func (s *DB) copyObject(id plumbing.Hash, out *pendingPack) error {
	o, err := s.object(id)
	if err != nil {
		return err
	}
	r, err := o.Reader()
	if err != nil {
		return err
	}
	defer r.Close()
	header := appendPackedHeader(nil, o.kind, o.size)
	if o.size <= inMemory {
		var packed bytes.Buffer
		if err := deflate(&packed, r); err != nil {
			return err
		}
		_, err := out.add(id, header, packed.Bytes())
		return err
	}
	_, err = out.stream(func(plumbing.Hash) bool { return false }, func(w io.Writer) (plumbing.Hash, error) {
		if _, err := w.Write(header); err != nil {
			return id, err
		}
		return id, deflate(w, r)
	})
	return err
}

// checksum compares a pack with the checksum at its end and that in its index.
func (p *pack) checksum(x packIndex) error {
	sum, err := p.sum()
	if err == nil && !bytes.Equal(sum, x.packChecksum()) {
		err = errors.New("its index was made for another pack")
	}
	return err
}

// whole compares a pack with the checksum at its end.
func (p *pack) whole() error {
	_, err := p.sum()
	return err
}

func (p *pack) sum() ([]byte, error) {
	f, err := p.fs.OpenFile(p.String(), os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return checkPackSum(f)
}
