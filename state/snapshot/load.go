package snapshot

import (
	"errors"
	"fmt"
	"sync"

	"hank/internal/vfs"
)

// Source says which of the two versions a candidate is.
type Source string

// The sources, in the order in which they are to be preferred.
const (
	Primary Source = "primary"
	Backup  Source = "backup"
)

// Candidate is a version found on disk: Data, or Err with the reason why it
// cannot be used. A version that is not there has an Err that matches
// fs.ErrNotExist.
type Candidate struct {
	Source Source
	Path   string
	Data   []byte
	Err    error
}

// DamagedError is content that Verify refused.
type DamagedError struct {
	Path string
	Err  error
}

func (e *DamagedError) Error() string { return fmt.Sprintf("%s is damaged: %v", e.Path, e.Err) }
func (e *DamagedError) Unwrap() error { return e.Err }

// Load reads the primary and the backup, and verifies them side by side. It writes nothing.
func (s *Store) Load() []Candidate {
	list := []Candidate{s.candidate(Primary, s.Path), s.candidate(Backup, s.backup())}
	var verified sync.WaitGroup
	for i := range list {
		verified.Go(func() { s.verify(&list[i]) })
	}
	verified.Wait()
	return list
}

// candidate reads a version, which is not verified yet.
func (s *Store) candidate(source Source, path string) Candidate {
	data, err := vfs.ReadFile(s.FS, path)
	if errors.Is(err, vfs.ErrNotRegular) {
		err = &DamagedError{path, err}
	}
	return Candidate{source, path, data, err}
}

// verify leaves the content of a candidate only where it is whole.
func (s *Store) verify(c *Candidate) {
	if c.Err != nil {
		return
	}
	if err := s.Verify(c.Data); err != nil {
		c.Data, c.Err = nil, &DamagedError{c.Path, err}
	}
}
