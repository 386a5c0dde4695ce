package checkpoint

import "context"

// Store holds the checkpoints of one execution: a DB that keeps their objects, and
// a Scanner that makes them of a workspace.
type Store struct {
	*DB
	*Scanner
}

// Init makes a store: see initDB.
func Init(o Options) (*Store, error) {
	db, err := initDB(o)
	if err != nil {
		return nil, err
	}
	return &Store{db, newScanner(db)}, nil
}

// Open opens a store: see openDB.
func Open(o Options) (*Store, error) {
	db, err := openDB(o)
	if err != nil {
		return nil, err
	}
	return &Store{db, newScanner(db)}, nil
}

// Judge begins to judge the commits of the store.
func (s *Store) Judge(ctx context.Context) *Judge { return newJudge(ctx, s.DB) }

// Whole is Judge for a single commit.
func (s *Store) Whole(ctx context.Context, sha SHA) (bool, error) { return s.Judge(ctx).Whole(sha) }
