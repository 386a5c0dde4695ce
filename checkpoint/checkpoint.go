package checkpoint

import (
	"context"

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

// Init makes a store: see Init.
func Init(o Options) (*Store, error) {
	db, err := packdb.Init(o)
	if err != nil {
		return nil, err
	}
	return &Store{db, scan.New(db)}, nil
}

// Open opens a store: see Open.
func Open(o Options) (*Store, error) {
	db, err := packdb.Open(o)
	if err != nil {
		return nil, err
	}
	return &Store{db, scan.New(db)}, nil
}

// Judge begins to judge the commits of the store.
func (s *Store) Judge(ctx context.Context) *repair.Verifier { return repair.NewVerifier(ctx, s.DB) }

// Whole is Judge for a single commit.
func (s *Store) Whole(ctx context.Context, sha SHA) (bool, error) { return s.Judge(ctx).Whole(sha) }
