// Package events lets others follow a run without being in its way.
//
// The writer of an execution tells a Bus of each event when it is appended to the
// journal, and of each sync. Neither call waits for anybody or touches the disk, so
// no follower can delay a transition. What is not synced is delivered only to those
// who ask for it early: a power cut could remove it.
//
// The journal itself is the queue. The bus keeps the newest events in memory, at
// most keptEvents and keptBytes together, for all followers; one that needs
// older ones reads the journal's files until it has caught up. So a follower that
// is slow, or comes late, misses nothing, and costs the run nothing but its own
// reading.
//
// At the end of a run, in this order: the last transition is synced, Close is
// called, and each follower gets what is left before its Follow returns. Close does
// not wait for them. Whoever runs followers ends them in a time of its own, by
// their context; what they miss then is in the journal.
package events

import (
	"context"
	"errors"
	"io/fs"
	"sync"

	"hank/state/journal"
)

// What the bus keeps in memory.
const (
	keptEvents = 256
	keptBytes  = 1 << 20
)

// Bus hands the events of one journal to its followers.
type Bus struct {
	// read reads the journal from a number on, as journal.Read does.
	read func(from uint64, fn func(journal.Event) error) error

	mu       sync.Mutex
	recent   []journal.Event // the newest ones, their numbers without a gap
	bytes    int             // of their data
	appended uint64          // the newest event
	synced   uint64          // the newest event that is durable
	closed   bool
	news     chan struct{} // closed when one of the last three changes
}

// New returns a bus for a journal that read reads, as journal.Read does with its
// first arguments.
func New(read func(from uint64, fn func(journal.Event) error) error) *Bus {
	return &Bus{read: read, news: make(chan struct{})}
}

// Appended takes the next event of the journal.
func (b *Bus) Appended(e journal.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := len(b.recent); n > 0 && b.recent[n-1].Seq+1 != e.Seq {
		b.recent, b.bytes = nil, 0 // what is between them is in the journal alone
	}
	b.recent = append(b.recent, e)
	b.bytes += len(e.Data)
	for len(b.recent) > keptEvents || b.bytes > keptBytes && len(b.recent) > 0 {
		b.bytes -= len(b.recent[0].Data)
		b.recent[0] = journal.Event{} // its data is not held any longer
		b.recent = b.recent[1:]
	}
	if !b.closed {
		b.appended = e.Seq
		b.tell()
	}
}

// Synced says that the events up to a number are durable.
func (b *Bus) Synced(last uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if last > b.synced && !b.closed {
		b.synced, b.appended = last, max(b.appended, last)
		b.tell()
	}
}

// Close says that no more events come.
func (b *Bus) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.closed = true
		b.tell()
	}
}

// tell wakes the followers.
func (b *Bus) tell() {
	close(b.news)
	b.news = make(chan struct{})
}

// Last returns the number of the newest durable event.
func (b *Bus) Last() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.synced
}

// Follow calls fn for each durable event from a number on, in order and each once,
// until the bus is closed and all were delivered. It returns the error of ctx, or
// that of fn, when either ends it. Damage of the journal is a *journal.GapError:
// Follow from its Next continues after it. Followers share nothing: each has a
// goroutine, its caller's.
func (b *Bus) Follow(ctx context.Context, from uint64, fn func(journal.Event) error) error {
	return b.follow(ctx, from, func() uint64 { return b.synced }, fn)
}

// FollowEarly is Follow that does not wait until events are durable.
func (b *Bus) FollowEarly(ctx context.Context, from uint64, fn func(journal.Event) error) error {
	return b.follow(ctx, from, func() uint64 { return b.appended }, fn)
}

// follow is Follow up to a limit, which is asked under the lock.
func (b *Bus) follow(ctx context.Context, from uint64, limit func() uint64, fn func(journal.Event) error) error {
	next := max(from, 1)
	for {
		batch, last, closed, news := b.since(next, limit)
		switch {
		case len(batch) > 0:
			for _, e := range batch {
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := fn(e); err != nil {
					return err
				}
				next = e.Seq + 1
			}
		case next <= last:
			reached, err := b.catchUp(ctx, next, last, fn)
			if err != nil {
				return err
			}
			next = reached
		case closed:
			return nil
		default:
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-news:
			}
		}
	}
}

// since returns the events from a number on, up to the limit, if they are in memory,
// and what it takes to wait for more.
func (b *Bus) since(next uint64, limit func() uint64) (batch []journal.Event, last uint64, closed bool, news <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	last = limit()
	if len(b.recent) > 0 && b.recent[0].Seq <= next && next <= last {
		first := b.recent[0].Seq
		from, to := min(next-first, uint64(len(b.recent))), min(last+1-first, uint64(len(b.recent)))
		batch = append(batch, b.recent[from:to]...)
	}
	return batch, last, b.closed, b.news
}

// errEnough ends a reading at the limit.
var errEnough = errors.New("enough")

// catchUp delivers from the files of the journal what is not in memory, and returns
// the number that comes next.
func (b *Bus) catchUp(ctx context.Context, next, last uint64, fn func(journal.Event) error) (uint64, error) {
	from := next
	var stopped error
	err := b.read(next, func(e journal.Event) error {
		if stopped = ctx.Err(); stopped != nil {
			return stopped
		}
		if e.Seq > last {
			return errEnough
		}
		next = e.Seq + 1
		stopped = fn(e)
		return stopped
	})
	var gap *journal.GapError
	switch {
	case stopped != nil:
		return next, stopped
	case errors.As(err, &gap):
		if gap.Next <= gap.After { // nothing is readable after the damage yet
			gap.Next = b.after(next)
		}
		return next, gap
	case err != nil && !errors.Is(err, errEnough) && !errors.Is(err, fs.ErrNotExist):
		return next, err
	case next == from: // the events are in no file: somebody deleted the journal
		return next, &journal.GapError{After: from - 1, Next: b.after(from)}
	}
	return next, nil
}

// after returns the first number from which on there are events if that one and
// those after it are lost.
func (b *Bus) after(lost uint64) uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.recent) > 0 && b.recent[0].Seq > lost {
		return b.recent[0].Seq
	}
	return max(b.synced, lost) + 1
}
