package checkpoint

import (
	"context"

	"github.com/go-git/go-git/v5/plumbing"

	"hank/checkpoint/packdb"
	"hank/checkpoint/repair"
	"hank/checkpoint/scan"
)

// Store holds the checkpoints of one execution: a DB that keeps their objects, and
// a Scanner that makes them of a workspace.
type Store struct {
	*packdb.DB
	*scan.Scanner
}

// Init makes a store: see packdb.Init.
func Init(o Options) (*Store, error) {
	db, err := packdb.Init(o)
	if err != nil {
		return nil, err
	}
	return &Store{db, scan.New(db)}, nil
}

// Open opens a store: see packdb.Open.
func Open(o Options) (*Store, error) {
	db, err := packdb.Open(o)
	if err != nil {
		return nil, err
	}
	return &Store{db, scan.New(db)}, nil
}

// Verifier returns a verifier of the commits of the store.
func (s *Store) Verifier(ctx context.Context) *repair.Verifier { return repair.NewVerifier(ctx, s.DB) }

// IsComplete reports whether a commit can be read with everything in it. Who asks about
// many uses one Verifier.
func (s *Store) IsComplete(ctx context.Context, sha SHA) (bool, error) {
	return s.Verifier(ctx).IsComplete(sha)
}

// Indexes reports whether a pack has an object, which may be damaged there. It reads no object,
// and does not look for packs that have come since.
func (s *Store) Indexes(sha SHA) bool { return s.HasObject(plumbing.NewHash(string(sha))) }
