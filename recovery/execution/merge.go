package execution

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"hank/checkpoint"
)

// merger merges the packs of the store beside the work, so that their number
// stays small and no checkpoint waits for it. It is a service to later: what
// goes wrong with it is said once, and left to the next process.
type merger struct {
	store *checkpoint.Store
	warn  func(string)

	ctx     context.Context
	cancel  context.CancelFunc
	running atomic.Bool
	failed  atomic.Bool
	Ended   sync.WaitGroup
}

// NewMerger returns a merger that has not begun to merge. warn is told why one failed.
func NewMerger(store *checkpoint.Store, warn func(string)) *merger {
	m := &merger{store: store, warn: warn}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	return m
}

// ask begins a merge if one is due, none is under way and the directory is held still: what
// is merged is removed by its path.
func (m *merger) ask(held func() error) {
	if m == nil || m.failed.Load() || !m.store.MergeDue() || held() != nil || !m.running.CompareAndSwap(false, true) {
		return
	}
	m.Ended.Go(func() {
		defer m.running.Store(false)
		if err := m.store.Merge(m.ctx); err != nil && m.ctx.Err() == nil {
			m.failed.Store(true)
			m.warn(fmt.Sprintf("%v; no checkpoint is lost by that, they only take more files than they need", err))
		}
	})
}

// patience is how long a process that ends waits for a merge. One that takes
// longer is given up, and started over by the next process.
const patience = 2 * time.Second

// stop gives up a merge that is under way.
func (m *merger) stop() {
	if m != nil {
		m.cancel()
	}
}

func (m *merger) close() {
	if m == nil {
		return
	}
	timer := time.AfterFunc(patience, m.cancel)
	m.Ended.Wait()
	timer.Stop()
	m.cancel()
}
