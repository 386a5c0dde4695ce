package packdb

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/index"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage"

	"hank/internal/vfs"
)

// This file makes a Store a storage of go-git, on which go-git's trees,
// commits, diffs and transport work. Its work-tree commands do not: there is
// no index.

var _ storage.Storer = (*DB)(nil)

// NewEncodedObject implements storer.EncodedObjectStorer.
func (s *DB) NewEncodedObject() plumbing.EncodedObject { return &plumbing.MemoryObject{} }

// EncodedObject implements storer.EncodedObjectStorer.
func (s *DB) EncodedObject(kind plumbing.ObjectType, id plumbing.Hash) (plumbing.EncodedObject, error) {
	if kind == plumbing.TreeObject {
		if o, ok := s.trees.get(id); ok {
			return o, nil
		}
	}
	o, err := s.Object(id)
	if err != nil {
		return nil, err
	}
	if kind != plumbing.AnyObject && kind != o.Kind {
		return nil, plumbing.ErrObjectNotFound
	}
	if kind == plumbing.TreeObject {
		s.trees.put(o)
	}
	return o, nil
}

// HasEncodedObject implements storer.EncodedObjectStorer.
func (s *DB) HasEncodedObject(id plumbing.Hash) error {
	if s.HasObject(id) {
		return nil
	}
	_, err := s.Object(id)
	return err
}

// EncodedObjectSize implements storer.EncodedObjectStorer.
func (s *DB) EncodedObjectSize(id plumbing.Hash) (int64, error) {
	return s.BlobSize(SHA(id.String()))
}

var errNotHere = errors.New("not supported by hank's checkpoint store")

// AddAlternate is refused: a checkpoint must not depend on another repository.
func (s *DB) AddAlternate(string) error { return errNotHere }

// SetReference moves a reference wherever it is now.
func (s *DB) SetReference(ref *plumbing.Reference) error {
	return s.CheckAndSetReference(ref, nil)
}

// CheckAndSetReference moves a reference if it is where old says.
func (s *DB) CheckAndSetReference(ref, old *plumbing.Reference) error {
	if ref.Type() != plumbing.HashReference {
		return errNotHere // HEAD is made by Init and stays
	}
	name := ref.Name().String()
	var want SHA
	if old != nil {
		want = SHA(old.Hash().String())
	} else {
		have, err := s.Ref(name)
		if err != nil {
			return err
		}
		want = have
	}
	err := s.SetRef(name, want, SHA(ref.Hash().String()))
	var conflict *RefConflictError
	if errors.As(err, &conflict) {
		return fmt.Errorf("%w: %w", storage.ErrReferenceHasChanged, err)
	}
	return err
}

// Reference implements storer.ReferenceStorer.
func (s *DB) Reference(name plumbing.ReferenceName) (*plumbing.Reference, error) {
	if name == plumbing.HEAD {
		text, err := vfs.ReadFile(s.FS, filepath.Join(s.Dir, "HEAD"))
		if err != nil {
			return nil, err
		}
		return plumbing.NewReferenceFromStrings("HEAD", strings.TrimSpace(string(text))), nil
	}
	sha, err := s.Ref(name.String())
	if err != nil {
		return nil, err
	}
	if sha == "" {
		return nil, plumbing.ErrReferenceNotFound
	}
	return plumbing.NewHashReference(name, plumbing.NewHash(string(sha))), nil
}

// IterReferences implements storer.ReferenceStorer.
func (s *DB) IterReferences() (storer.ReferenceIter, error) {
	refs, err := s.Refs("refs/")
	if err != nil {
		return nil, err
	}
	var list []*plumbing.Reference
	if head, err := s.Reference(plumbing.HEAD); err == nil {
		list = append(list, head)
	}
	for name, sha := range refs {
		list = append(list, plumbing.NewHashReference(plumbing.ReferenceName(name), plumbing.NewHash(string(sha))))
	}
	return storer.NewReferenceSliceIter(list), nil
}

// RemoveReference implements storer.ReferenceStorer.
func (s *DB) RemoveReference(name plumbing.ReferenceName) error {
	have, err := s.Ref(name.String())
	if err != nil || have == "" {
		return err
	}
	return s.SetRef(name.String(), have, "")
}

// CountLooseRefs implements storer.ReferenceStorer.
func (s *DB) CountLooseRefs() (int, error) {
	n := 0
	err := s.walkRefs("refs", func(string) error { n++; return nil })
	return n, err
}

// PackRefs does nothing: hank's references are few.
func (s *DB) PackRefs() error { return nil }

// SetIndex implements storer.IndexStorer: there is no index.
func (s *DB) SetIndex(*index.Index) error { return errNotHere }

// Index returns an empty index.
func (s *DB) Index() (*index.Index, error) { return &index.Index{Version: 2}, nil }

// Config reads the store's own configuration, and no other.
func (s *DB) Config() (*config.Config, error) {
	text, err := vfs.ReadFile(s.FS, filepath.Join(s.Dir, "config"))
	if err != nil {
		return nil, err
	}
	cfg := config.NewConfig()
	return cfg, cfg.Unmarshal(text)
}

// SetConfig implements config.ConfigStorer: the configuration stays as Init
// made it.
func (s *DB) SetConfig(*config.Config) error { return errNotHere }

// Module implements storage.ModuleStorer: there are no submodules.
func (s *DB) Module(string) (storage.Storer, error) { return nil, errNotHere }
