package execution

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"hank/state"
	"hank/state/journal"
	"hank/state/snapshot"
)

// Saver writes state.json behind the runtime's back. The journal is what
// acknowledges; state.json follows. Requests coalesce: only the newest state
// is written.
//
//   - After a transition a save begins at once, but for a breath after the one
//     before it: of transitions in a row the last is saved.
//   - Updates of costs wait for idleDelay.
//   - Both wait longer if saving is slow, so that at most a tenth of the time is
//     spent on it: it costs what the history holds, and the transitions that are
//     acknowledged meanwhile share the disk with it. So state.json is behind the
//     journal by a breath, or by ten times what saving it takes.
type Saver struct {
	Store  *snapshot.Store
	Breath time.Duration // between saves that are in a hurry
	Share  time.Duration // how many times as long as saving not saving is
	Held   func() error  // an error: the folder is not the one that is locked
	Failed func(error)   // told of a save that failed, under disk; the next one tries again
	// saved is told of a state that state.json holds now.
	Saved func(*state.State, journal.Place)
	// tampered is told that somebody else had changed what a save replaces.
	tampered func(error)
	// OnDisk is what state.json says already; nil: something else.
	OnDisk *state.State

	Disk sync.Mutex  // held while state.json is written; guards mark
	mark fs.FileInfo // of state.json as this process wrote it; nil: not yet

	Mu     sync.Mutex
	wake   *sync.Cond
	latest *state.State
	end    journal.Place // of the events that latest reflects
	asked  time.Time     // when latest was first asked for
	urgent bool
	closed bool
	Serial uint64
	last   error
	ended  chan struct{}
}

const (
	breath    = 100 * time.Millisecond
	idleDelay = 500 * time.Millisecond
	share     = 9
)

// Start begins to save.
func (v *Saver) Start() *Saver {
	v.ended = make(chan struct{})
	v.Breath, v.Share = breath, share
	v.Store.Replacing = v.replacing
	v.wake = sync.NewCond(&v.Mu)
	go v.run()
	return v
}

// Ask wants a state to be saved, whose events end at a place of the journal.
// Before there is a saver, opening the execution will ask for itself.
func (v *Saver) Ask(s *state.State, end journal.Place, urgent bool) {
	if v == nil {
		return
	}
	v.Mu.Lock()
	defer v.Mu.Unlock()
	if v.latest == nil {
		v.asked = time.Now()
	}
	v.latest, v.end = s, end
	v.urgent = v.urgent || urgent
	v.wake.Broadcast()
}

// Close writes what is left and ends. It returns the error of the last save.
func (v *Saver) Close() error {
	v.Mu.Lock()
	v.closed = true
	v.wake.Broadcast()
	v.Mu.Unlock()
	<-v.ended
	return v.last
}

func (v *Saver) run() {
	defer close(v.ended)
	var took time.Duration
	for {
		s, end := v.next(took)
		if s == nil {
			return
		}
		began := time.Now()
		err := v.Save(s)
		if v.last = err; err == nil {
			v.Saved(s, end)
		}
		took = time.Since(began)
	}
}

// next waits for a state that is due, after a save that took so long; nil means
// that the saver is closed and has nothing left to write.
func (v *Saver) next(took time.Duration) (*state.State, journal.Place) {
	v.Mu.Lock()
	defer v.Mu.Unlock()
	saved := time.Now()
	for !v.closed {
		var due time.Time
		switch {
		case v.latest == nil:
			v.wake.Wait()
			continue
		case v.urgent:
			due = saved.Add(max(v.Breath, v.Share*took))
		default:
			due = v.asked.Add(max(idleDelay, v.Share*took))
		}
		wait := time.Until(due)
		if wait <= 0 {
			break
		}
		timer := time.AfterFunc(wait, func() { // under the lock, so that it cannot come before the wait
			v.Mu.Lock()
			defer v.Mu.Unlock()
			v.wake.Broadcast()
		})
		v.wake.Wait()
		timer.Stop()
	}
	s := v.latest
	v.latest, v.urgent = nil, false
	return s, v.end
}

func (v *Saver) Save(s *state.State) error {
	v.Disk.Lock()
	defer v.Disk.Unlock()
	err := v.write(s)
	if err != nil {
		v.Failed(err)
	}
	return err
}

// write is save for one who holds disk.
func (v *Saver) write(s *state.State) error {
	if s == v.OnDisk {
		return nil
	}
	v.OnDisk = nil
	v.Serial++
	numbered := *s
	numbered.Serial = v.Serial
	text, err := numbered.Marshal()
	if err != nil {
		return err
	}
	if err := v.Held(); err != nil {
		return err
	}
	if err := v.Store.Save(text); err != nil {
		v.mark = nil // which of the two it is, is not known
		return fmt.Errorf("saving state.json: %w", err)
	}
	// A file system may number a file anew when it is renamed.
	if there, err := v.Store.FS.Lstat(v.Store.Path); err == nil && there.Size() == v.mark.Size() && there.ModTime().Equal(v.mark.ModTime()) {
		v.mark = there
	}
	return nil
}

// replacing looks at what a save is about to replace. What takes its place is
// noted before it has the name, for somebody may change it at once.
func (v *Saver) replacing(next fs.FileInfo) {
	if err := v.differs(); err != nil && v.tampered != nil {
		v.tampered(err)
	}
	v.mark = next
}

// Changed tells whether somebody else has changed state.json since it was
// written here, and forgets that it was: the next state that is asked for is
// written whatever is on the disk. A save that is under way looks at what it
// replaces, and tells tampered.
func (v *Saver) Changed() error {
	if !v.Disk.TryLock() {
		return nil
	}
	defer v.Disk.Unlock()
	return v.differs()
}

// differs is changed for one who holds disk.
func (v *Saver) differs() error {
	if v.mark == nil {
		return nil
	}
	there, err := v.Store.FS.Lstat(v.Store.Path)
	if err == nil && !(os.SameFile(there, v.mark) && there.Size() == v.mark.Size() && there.ModTime().Equal(v.mark.ModTime())) {
		err = errors.New("it is not what was written")
	}
	if err != nil {
		v.OnDisk, v.mark = nil, nil
	}
	return err
}
