package breaker

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hank/internal/flock"
	"hank/internal/proc"
	"hank/internal/registry"
	"hank/internal/vfs"
)

// Store is the directory with a user's breakers. It may be used by several goroutines, and
// by several processes.
type Store struct {
	dir string
	now func() time.Time
}

// User is the store of the user: breakers, beside the registry of executions. Where there is
// no such directory, nothing is remembered.
func User() *Store {
	s := &Store{now: time.Now}
	if dir, err := registry.Dir(); err == nil {
		s.dir = filepath.Join(filepath.Dir(dir), "breakers")
	}
	return s
}

// patience is how long an update waits for others.
const patience = 2 * time.Second

// update changes a breaker while nobody else does.
func (s *Store) update(k Key, change func(Breaker) Breaker) error {
	if s.dir == "" {
		return errors.New("there is no directory for breakers")
	}
	if err := vfs.MkdirAll(vfs.OS, s.dir, 0o700); err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(s.dir, ".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	for last := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if err = flock.Exclusive(lock); !errors.Is(err, flock.ErrHeld) || time.Now().After(last) {
			break
		}
	}
	if err != nil {
		return errors.Join(err, lock.Close())
	}
	defer func() { _ = flock.Close(lock) }()
	before, err := s.read(k)
	if err != nil {
		return err
	}
	after := change(before)
	if after.isEmpty() {
		if err := os.Remove(s.path(k)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	text, err := json.Marshal(after, jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	return vfs.ReplaceFile(vfs.OS, s.path(k), append(text, '\n'), 0o600, vfs.Volatile)
}

func (s *Store) path(k Key) string { return filepath.Join(s.dir, k.file()) }

// read reads a breaker; one that is not there is closed. A file that says nothing that can be
// understood is set aside, under a name that is not read.
func (s *Store) read(k Key) (Breaker, error) {
	b, err := parse(s.path(k))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Breaker{Key: k}, nil
	case errors.Is(err, errUnreadable) || err == nil && b.Key != k:
		return Breaker{Key: k}, os.Rename(s.path(k), strings.TrimSuffix(s.path(k), ".json")+".unreadable")
	}
	return b, err
}

var errUnreadable = errors.New("no breaker")

func parse(path string) (Breaker, error) {
	if info, err := os.Lstat(path); err != nil {
		return Breaker{}, err
	} else if !info.Mode().IsRegular() { // a FIFO would not be opened before somebody writes to it
		return Breaker{}, fmt.Errorf("%s is no regular file: %w", path, errUnreadable)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return Breaker{}, err
	}
	var b Breaker
	if err := json.Unmarshal(text, &b); err != nil || b.Provider == "" {
		return Breaker{}, fmt.Errorf("%s: %w: %w", path, errUnreadable, err)
	}
	return b, nil
}

// admit asks whether an attempt may ask the provider. It may where that cannot be found out.
func (s *Store) admit(k Key, who Holder) (b Breaker, a answer) {
	if _, err := os.Lstat(s.path(k)); err != nil {
		return Breaker{Key: k}, answer{} // as it nearly always is
	}
	if err := s.update(k, func(now Breaker) Breaker {
		b, a = now.admit(s.now(), who, isDead)
		return b
	}); err != nil {
		return Breaker{Key: k}, answer{}
	}
	return b, a
}

func isDead(id proc.Identity) bool {
	verdict, _ := id.Check()
	return verdict == proc.Dead
}

// isOpen reports whether the breaker of a key is open.
func (s *Store) isOpen(k Key) bool {
	b, err := parse(s.path(k))
	return err == nil && b.Key == k && b.isOpen(s.now())
}

// failed remembers a failure: see Breaker.
func (s *Store) failed(k Key, who Holder, class string, ends func(n int) (time.Time, bool)) {
	_ = s.update(k, func(b Breaker) Breaker { return b.failed(s.now(), who, class, ends) })
	s.forget()
}

// forget removes the files of breakers that are of no interest any more.
func (s *Store) forget() {
	names, _ := filepath.Glob(filepath.Join(s.dir, "*.json"))
	for _, name := range names {
		b, err := parse(name)
		if last := b.Until; err == nil && !b.isOpen(s.now()) && s.now().After(b.Last.Add(forgotten)) && s.now().After(last) {
			_ = s.update(b.Key, func(b Breaker) Breaker {
				if b.isOpen(s.now()) || b.Last.Add(forgotten).After(s.now()) {
					return b
				}
				return Breaker{Key: b.Key}
			})
		}
	}
}

// answered remembers that the model has answered.
func (s *Store) answered(k Key, entered time.Time) {
	s.change(k, func(b Breaker) Breaker { return b.answered(s.now(), entered) })
}

// left remembers that an attempt is over, and nothing is known by it.
func (s *Store) left(k Key, who Holder) {
	s.change(k, func(b Breaker) Breaker { return b.left(who) })
}

// change is update of a breaker of which something is known.
func (s *Store) change(k Key, change func(Breaker) Breaker) {
	if _, err := os.Lstat(s.path(k)); err == nil {
		_ = s.update(k, change)
	}
}

// Open lists the breakers that are open, by their keys. It changes nothing.
func (s *Store) Open() []Breaker {
	if s.dir == "" {
		return nil
	}
	names, _ := filepath.Glob(filepath.Join(s.dir, "*.json"))
	var all []Breaker
	for _, name := range names {
		if b, err := parse(name); err == nil && b.isOpen(s.now()) {
			if p := b.Probe; p != nil && (isDead(p.By.Process) || !s.now().Before(p.Expires)) {
				b.Probe = nil
			}
			all = append(all, b)
		}
	}
	slices.SortFunc(all, func(a, b Breaker) int {
		return strings.Compare(a.Provider+"\x00"+a.BaseURL+"\x00"+a.Credential, b.Provider+"\x00"+b.BaseURL+"\x00"+b.Credential)
	})
	return all
}
