package githistory

import (
	"hank/checkpoint"
	"hank/state"
)

// Adopt makes a foreign state one that hank can continue from. The branches of
// the store say where its runs stand.
func (g History) Adopt(s *state.State) (*state.State, error) {
	if g.Store == nil {
		return s.Adopt("", nil)
	}
	tips, _, err := g.heads()
	if err != nil {
		return nil, err
	}
	return s.Adopt(tips["main"], tips)
}

// ByHankweave reports whether a checkpoint is one of Hankweave's: it has no
// record.
func ByHankweave(store *checkpoint.Store, sha state.SHA) bool {
	info, err := store.CommitInfo(checkpoint.SHA(sha))
	if err != nil {
		return false
	}
	_, found, err := ReadRecord(info)
	return err == nil && !found
}

// IsHankweaves reports whether a checkpoint is one of Hankweave's. They leave out
// links and nested repositories, so that what one has not is no edit.
func IsHankweaves(s *state.State, store *checkpoint.Store, sha state.SHA) bool {
	return s.Adopted && ByHankweave(store, sha)
}
