package packdb

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/go-git/go-git/v5/plumbing"
)

// ErrMissing is the error of an object that the store does not have.
var ErrMissing = plumbing.ErrObjectNotFound

// IsAbsent reports whether an error means that an object, or the pack that it was in,
// is not there.
func IsAbsent(err error) bool {
	return errors.Is(err, ErrMissing) || errors.Is(err, fs.ErrNotExist)
}

// IsMissing reports whether an error means that an object is absent or damaged, and not
// that the disk cannot be read at the moment.
func IsMissing(err error) bool {
	var damaged *DamagedError
	return IsAbsent(err) || errors.As(err, &damaged)
}

// NotCommitError says that an object is there and is no commit. As a commit it is missing.
type NotCommitError struct {
	SHA  SHA
	Kind string // as git calls it: tag, tree or blob
	Of   SHA    // the commit that a tag leads to; empty: none
}

func (e *NotCommitError) Error() string {
	if e.Of != "" {
		return fmt.Sprintf("%s is an annotated tag of commit %.12s", e.SHA, e.Of)
	}
	return fmt.Sprintf("%s is a %s and not a commit", e.SHA, e.Kind)
}

// Unwrap returns ErrMissing.
func (e *NotCommitError) Unwrap() error { return ErrMissing }

// DamagedError says that a file of the store is not what hank or git wrote.
// Nothing was changed; `hank doctor` shows what can be rebuilt.
type DamagedError struct {
	Path string // absolute; of the file, or of the store
	Why  string
	Err  error // the cause, or nil
}

func (e *DamagedError) Error() string {
	cause := ""
	if e.Err != nil {
		cause = ": " + e.Err.Error()
	}
	return fmt.Sprintf("%s is damaged: %s%s; nothing was changed, run `hank doctor`", e.Path, e.Why, cause)
}

// Unwrap returns the cause.
func (e *DamagedError) Unwrap() error { return e.Err }

// RefConflictError says that a reference is not what the caller took it for.
// Nothing was changed.
type RefConflictError struct {
	Name       string
	Want, Have SHA // "" is absent
}

func (e *RefConflictError) Error() string {
	return fmt.Sprintf("reference %s is %s, not %s: something else moved it; read it again before deciding", e.Name, orAbsent(e.Have), orAbsent(e.Want))
}

func orAbsent(sha SHA) string {
	if sha == "" {
		return "absent"
	}
	return string(sha)
}

// LockedError says that another git process holds the lock of a file of the
// store, or left it behind. hank's own left-over locks are removed by Open.
type LockedError struct{ Path string }

func (e *LockedError) Error() string {
	return fmt.Sprintf("%s exists: another git process is running in the checkpoint store; wait for it, or remove that file if there is none", e.Path)
}

// ErrNoRoom ends a scan whose new objects are more than SnapshotRequest.Room.
var ErrNoRoom = errors.New("the checkpoint is larger than the room that is left for it")

// RefNameError is a name that no reference can have, such as one below a prefix
// that somebody has chosen.
type RefNameError struct{ Name string }

func (e *RefNameError) Error() string {
	return fmt.Sprintf("%q cannot be the name of a git reference", e.Name)
}

// UnsafeTreeError says that a tree holds a name that hank never writes into a
// tree and that could lead out of the workspace or into a repository's own
// files. Such a tree was made by hand or is damaged; nothing was touched.
type UnsafeTreeError struct {
	Tree SHA
	Path string // as far as it was followed
	Why  string
}

func (e *UnsafeTreeError) Error() string {
	return fmt.Sprintf("tree %s is not safe to use: %q: %s; it was not made by hank, restore from another checkpoint", e.Tree, e.Path, e.Why)
}

// ErrChanging is why a file is not in a checkpoint: it was not the same for as long as
// it took to read it.
var ErrChanging = errors.New("it changed while it was read")

// ErrReadOnly refuses writes to a store that was opened for reading.
var ErrReadOnly = errors.New("the checkpoint store was opened for reading")

// IgnoreMissing returns nil for a file that is not there, and any other error as it is.
func IgnoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// firstOf returns the first of two errors: a reader that has failed says so once
// more when it is closed.
func firstOf(err, closing error) error {
	if err != nil {
		return err
	}
	return closing
}
