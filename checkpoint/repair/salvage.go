package repair

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"hank/checkpoint/packdb"
	"hank/checkpoint/packindex"
)

// Salvaged is what became of a damaged pack.
type Salvaged struct {
	Pack        string // path
	Why         error
	Saved, Lost int // objects; Lost is -1 if nobody knows which there were, and none was saved
}

// Salvage puts packs that are damaged out of the way, so that nothing that is
// stored from now on leans on them: an object that only a damaged pack has
// counts as stored as long as the pack's index is there.
//
//  1. Every pack is compared with its checksum, and its index with its own. A pack
//     that is whole has one: see packdb.Pack.Table.
//  2. What can still be read of a damaged pack is copied into a new one, which
//     is made durable.
//  3. The damaged pack and its index are given to quarantine, which moves them.
//
// A crash in between leaves the damaged pack beside the new one, for the next
// call. The stat cache is forgotten. Complexity: bytes in the store.
func Salvage(ctx context.Context, s *packdb.DB, quarantine func(name string, why error) error) ([]Salvaged, error) {
	if s.Opts.ReadOnly {
		return nil, packdb.ErrReadOnly
	}
	s.Merging.Lock()
	defer s.Merging.Unlock()
	s.Vouched.DropCache()
	var found []Salvaged
	_, packs := s.Sources()
	for _, p := range packs {
		why := damage(s, p)
		if why == nil {
			continue
		}
		if !packdb.IsMissing(why) { // the disk cannot be read at the moment
			return found, why
		}
		result, err := salvage(ctx, s, p, why, quarantine)
		found = append(found, result)
		if err != nil {
			return found, fmt.Errorf("salvaging %s: %w", p, err)
		}
	}
	return found, nil
}

// damage says what is wrong with a pack; nil if nothing is.
func damage(s *packdb.DB, p *packdb.Pack) error {
	x, err := p.Table()
	if err == nil && !x.Intact() {
		err = &packdb.DamagedError{Path: p.Base + ".idx", Why: "its checksum is wrong"}
	}
	if err == nil {
		if sum := checksum(p, x); sum != nil {
			err = &packdb.DamagedError{Path: p.String(), Why: "it is not what its index was made for", Err: sum}
		}
	}
	return err
}

func salvage(ctx context.Context, s *packdb.DB, p *packdb.Pack, why error, quarantine func(string, error) error) (Salvaged, error) {
	result := Salvaged{Pack: p.String(), Why: why, Lost: -1}
	if x, err := p.Table(); err == nil && x.Intact() {
		if result.Saved, result.Lost, err = saveReadable(ctx, s, p, x); err != nil {
			return result, err
		}
	}
	s.Mu.Lock()
	kept := make([]*packdb.Pack, 0, len(s.Packs))
	for _, other := range s.Packs {
		if other != p {
			kept = append(kept, other)
		}
	}
	s.Packs = kept
	s.Mu.Unlock()
	err := p.Close()
	for _, name := range []string{p.Base + ".idx", p.String()} {
		if _, there := s.FS.Lstat(name); there == nil {
			err = errors.Join(err, quarantine(name, why))
		}
	}
	return result, err
}

// saveReadable copies the objects of a damaged pack that can be read into a new
// one.
func saveReadable(ctx context.Context, s *packdb.DB, p *packdb.Pack, x packindex.Index) (saved, lost int, err error) {
	out, err := packdb.NewPendingPack(s.FS, s.TemporaryPack())
	if err != nil {
		return 0, 0, err
	}
	for i := range x.Count {
		if err := ctx.Err(); err != nil {
			_ = out.Discard()
			return 0, 0, err
		}
		switch err := s.CopyObject(plumbing.Hash(x.ID(i)), out); {
		case out.Err != nil:
			_ = out.Discard() // the disk is full
			return 0, 0, out.Err
		case err != nil:
			if _, packs := s.Sources(); !slices.ContainsFunc(packs, func(other *packdb.Pack) bool {
				return other != p && packdb.InPacks([]*packdb.Pack{other}, plumbing.Hash(x.ID(i)))
			}) {
				lost++
			}
		default:
			saved++
		}
	}
	if saved == 0 {
		return 0, lost, out.Discard()
	}
	base, err := s.FlushPack(out)
	if err != nil {
		_ = out.Discard()
		return 0, 0, err
	}
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.Packs = append([]*packdb.Pack{s.NewPack(base, out.Written+packdb.HashSize)}, s.Packs...)
	return saved, lost, nil
}

// checksum compares a pack with the checksum at its end and that in its index.
func checksum(p *packdb.Pack, x packindex.Index) error {
	f, err := p.FS.OpenFile(p.String(), os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	sum, err := packdb.CheckPackSum(f)
	if err == nil && !bytes.Equal(sum, x.PackChecksum()) {
		err = errors.New("its index was made for another pack")
	}
	return err
}
