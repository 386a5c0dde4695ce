package page

import (
	"context"
	"slices"
	"sync"
	"time"

	"hank/internal/shell"
	"hank/runtime/lines"
	"hank/runtime/liveview"
	"hank/runtime/report"
	"hank/runtime/why"
)

// open is what is kept between two looks, so that each reads only what has come since. All
// viewers share it.
type open struct {
	mu     sync.Mutex
	list   *liveview.List
	listed *liveview.Executions
	read   time.Time // when list was
	follow []*followed
	files  []*opened
}

// followed is an execution that was looked at.
type followed struct {
	root string
	mu   sync.Mutex
	f    *liveview.Follower
	at   time.Time // when its files were looked at
}

// opened is a transcript that was looked at.
type opened struct {
	path string
	mu   sync.Mutex
	f    *lines.File
}

// How many are kept; the one that was not used for the longest time goes first.
const (
	mostFollowed = 16
	mostOpened   = 32
)

// executions are those of the list, read again at most twice a second.
func (o *open) executions() (*liveview.Executions, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.listed != nil && time.Since(o.read) < time.Second/2 {
		return o.listed, nil
	}
	list, err := o.list.Read()
	if err != nil {
		return nil, err
	}
	o.listed, o.read = list, time.Now()
	return list, nil
}

func (o *open) followed(root string) *followed {
	return kept(&o.mu, &o.follow, mostFollowed, func(e *followed) bool { return e.root == root }, func() *followed { return &followed{root: root} }, func(*followed) {})
}

// look brings an execution up to date, as far as another viewer has not just done so.
func (o *open) look(ctx context.Context, root string, in report.Settings) (v *liveview.View, err error) {
	e := o.followed(root)
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.f == nil:
		if e.f, err = liveview.Open(ctx, root, in, " -e "+shell.Quote(root)); err != nil {
			return nil, err
		}
		if _, err = e.f.Poll(ctx); err != nil { // of a run in progress the state may be older than the journal
			e.f = nil
			return nil, err
		}
		e.at = time.Now()
	case time.Since(e.at) >= liveview.Every/2:
		if _, err = e.f.Poll(ctx); err != nil {
			e.f = nil // it is read again from the beginning
			return nil, err
		}
		e.at = time.Now()
	}
	return e.f.View(), nil
}

// moves are those of an execution that was looked at.
func (o *open) moves(root string) []why.Move {
	e := o.followed(root)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.f == nil { // it is gone meanwhile
		return nil
	}
	return slices.Clone(e.f.Moves())
}

// file calls fn with a transcript, whose lines are indexed as far as it is written.
func (o *open) file(path string, fn func(*lines.File) error) error {
	e := kept(&o.mu, &o.files, mostOpened, func(e *opened) bool { return e.path == path }, func() *opened { return &opened{path: path} }, func(e *opened) {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.f != nil {
			_ = e.f.Close() // it was only read
			e.f = nil
		}
	})
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.f != nil && e.f.Replaced() { // a journal has begun another segment, was repaired, or is another execution's
		_ = e.f.Close()
		e.f = nil
	}
	if e.f == nil {
		f, err := lines.Open(path, "")
		if err != nil {
			return err
		}
		e.f = f
	}
	if _, _, err := e.f.Refresh(0); err != nil {
		return err
	}
	return fn(e.f)
}

// kept is the one of a list that is wanted, or a new one; the list is in the order of use.
func kept[T any](mu *sync.Mutex, list *[]*T, most int, is func(*T) bool, make func() *T, drop func(*T)) *T {
	mu.Lock()
	i := slices.IndexFunc(*list, is)
	var e, gone *T
	if i >= 0 {
		e = (*list)[i]
		*list = slices.Delete(*list, i, i+1)
	} else {
		e = make()
	}
	if *list = append(*list, e); len(*list) > most {
		gone = (*list)[0]
		*list = slices.Delete(*list, 0, 1)
	}
	mu.Unlock()
	if gone != nil {
		drop(gone)
	}
	return e
}
