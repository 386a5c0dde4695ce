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

// StateWriter writes state.json in the background. The journal is what acknowledges;
// state.json follows. Requests coalesce: only the newest state is written.
//
//   - After Record the state is written at once, but not earlier than MinInterval after the
//     previous time: of transitions in a row the last is written.
//   - After RecordLater, as of costs, it is written after idleDelay.
//   - Both wait longer where writing is slow, so that at most a tenth of the time is
//     spent on it: it takes longer the longer the history is, and the transitions that
//     are acknowledged meanwhile use the same disk. So state.json is behind the journal
//     by MinInterval, or by ten times what writing it takes.
type StateWriter struct {
	Store       *snapshot.Store
	MinInterval time.Duration // between two urgent writes
	IdleFactor  time.Duration // how many times as long as a write the pause after it is
	Held        func() error  // an error: the directory is not the one that is locked
	Failed      func(error)   // told of a save that failed, while Disk is held; the next one tries again
	// Saved is told of a state that state.json holds now.
	Saved func(*state.State, journal.Place)
	// tampered is told that somebody else had changed what a save replaces.
	tampered func(error)

	Disk   sync.Mutex   // held while state.json is written; guards OnDisk, Serial and mark
	OnDisk *state.State // what opening has found in state.json; nil: something else, or it was written since
	Serial uint64       // of the last save
	mark   fs.FileInfo  // of state.json as this process wrote it; nil: not yet

	Mu     sync.Mutex // guards the request
	wake   *sync.Cond
	latest *state.State  // nil: nothing is asked for
	end    journal.Place // of the events that latest reflects
	asked  time.Time     // when a state was first asked for, since the last was taken
	urgent bool
	closed bool

	ended chan struct{} // closed when run returns
	last  error         // of the last save; for Close, when ended is closed
}

const (
	minInterval = 100 * time.Millisecond
	idleDelay   = 500 * time.Millisecond
	idleFactor  = 9
)

// Start begins to save.
func (w *StateWriter) Start() *StateWriter {
	w.ended = make(chan struct{})
	w.MinInterval, w.IdleFactor = minInterval, idleFactor
	w.Store.Replacing = w.replacing
	w.wake = sync.NewCond(&w.Mu)
	go w.run()
	return w
}

// Request wants a state to be saved, whose events end at a place of the journal.
// Before there is a writer, opening the execution will ask for itself.
func (w *StateWriter) Request(s *state.State, end journal.Place, urgent bool) {
	if w == nil {
		return
	}
	w.Mu.Lock()
	defer w.Mu.Unlock()
	if w.latest == nil {
		w.asked = time.Now()
	}
	w.latest, w.end = s, end
	w.urgent = w.urgent || urgent
	w.wake.Broadcast()
}

// Close writes what is left and ends. It returns the error of the last save.
func (w *StateWriter) Close() error {
	w.Mu.Lock()
	w.closed = true
	w.wake.Broadcast()
	w.Mu.Unlock()
	<-w.ended
	return w.last
}

func (w *StateWriter) run() {
	defer close(w.ended)
	var took time.Duration
	for {
		s, end := w.next(took)
		if s == nil {
			return
		}
		began := time.Now()
		err := w.Save(s)
		if w.last = err; err == nil {
			w.Saved(s, end)
		}
		took = time.Since(began)
	}
}

// next waits for a state that is due, after a save that took so long; nil means
// that the writer is closed and has nothing left to write.
func (w *StateWriter) next(took time.Duration) (*state.State, journal.Place) {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	saved := time.Now()
	for !w.closed {
		var due time.Time
		switch {
		case w.latest == nil:
			w.wake.Wait()
			continue
		case w.urgent:
			due = saved.Add(max(w.MinInterval, w.IdleFactor*took))
		default:
			due = w.asked.Add(max(idleDelay, w.IdleFactor*took))
		}
		wait := time.Until(due)
		if wait <= 0 {
			break
		}
		timer := time.AfterFunc(wait, func() { // under the lock, so that it cannot come before the wait
			w.Mu.Lock()
			defer w.Mu.Unlock()
			w.wake.Broadcast()
		})
		w.wake.Wait()
		timer.Stop()
	}
	s := w.latest
	w.latest, w.urgent = nil, false
	return s, w.end
}

// Save writes a state at once, whatever was requested; Failed is told of an error.
// The state that opening has found in state.json is not written again.
func (w *StateWriter) Save(s *state.State) error {
	w.Disk.Lock()
	defer w.Disk.Unlock()
	err := w.write(s)
	if err != nil {
		w.Failed(err)
	}
	return err
}

// write is Save for a caller that holds Disk.
func (w *StateWriter) write(s *state.State) error {
	if s == w.OnDisk {
		return nil
	}
	w.OnDisk = nil
	w.Serial++
	numbered := *s
	numbered.Serial = w.Serial
	text, err := numbered.Marshal()
	if err != nil {
		return err
	}
	if err := w.Held(); err != nil {
		return err
	}
	if err := w.Store.Save(text); err != nil {
		w.mark = nil // which of the two it is, is not known
		return fmt.Errorf("saving state.json: %w", err)
	}
	// A file system may give a file a new number when it is renamed.
	if there, err := w.Store.FS.Lstat(w.Store.Path); err == nil && there.Size() == w.mark.Size() && there.ModTime().Equal(w.mark.ModTime()) {
		w.mark = there
	}
	return nil
}

// replacing looks at what a save is about to replace. What takes its place is
// noted before it has the name, for somebody may change it at once.
func (w *StateWriter) replacing(next fs.FileInfo) {
	if err := w.differs(); err != nil && w.tampered != nil {
		w.tampered(err)
	}
	w.mark = next
}

// Changed reports whether somebody else has changed state.json since it was
// written here, and forgets that it was: the next state that is asked for is
// written whatever is on the disk. A save that is under way looks at what it
// replaces, and tells tampered.
func (w *StateWriter) Changed() error {
	if !w.Disk.TryLock() {
		return nil
	}
	defer w.Disk.Unlock()
	return w.differs()
}

// differs is Changed for a caller that holds Disk.
func (w *StateWriter) differs() error {
	if w.mark == nil {
		return nil
	}
	there, err := w.Store.FS.Lstat(w.Store.Path)
	if err == nil && !(os.SameFile(there, w.mark) && there.Size() == w.mark.Size() && there.ModTime().Equal(w.mark.ModTime())) {
		err = errors.New("it is not what was written")
	}
	if err != nil {
		w.mark = nil
	}
	return err
}
