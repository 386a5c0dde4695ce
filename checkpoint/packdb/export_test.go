package packdb

import "github.com/go-git/go-git/v5/plumbing"

// What only the tests outside of the package need.

const (
	IndexTemporary = indexTemporary
	KeepMark       = keepMark
	LockMarkText   = lockMarkText
	MergeWidth     = mergeWidth
	OldTemporary   = oldTemporary
	Temporary      = temporary
)

var (
	ParseTree = parseTree
)

func (s *DB) Lock(name string) (unlock func() error, err error) { return s.lock(name) }

func (s *DB) RemoveReplaced() error { return s.removeReplaced() }

func (s *DB) Reread() bool { return s.reread() }

func (p *PendingPack) Add(id plumbing.Hash, parts ...[]byte) (added bool, err error) {
	return p.add(id, parts...)
}

func (p *PendingPack) PackBase(sum []byte) string { return p.packBase(sum) }

func (p *PendingPack) Seal() ([]byte, error) { return p.seal() }
