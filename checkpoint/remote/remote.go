package remote

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"

	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/transport"

	"hank/checkpoint/packdb"
)

const remoteName = "hank"

func newRemote(s *transferStore, address string) (*gogit.Remote, error) {
	c := &config.RemoteConfig{Name: remoteName, URLs: []string{address}}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return gogit.NewRemote(s, c), nil
}

// remoteRefs asks another repository for its branches.
func remoteRefs(ctx context.Context, address string) (map[string]packdb.SHA, error) {
	remote, err := newRemote(nil, address)
	if err != nil {
		return nil, err
	}
	list, err := remote.ListContext(ctx, &gogit.ListOptions{})
	if err != nil && !errors.Is(err, transport.ErrEmptyRemoteRepository) {
		return nil, remoteError("asking for its branches", address, err)
	}
	refs := map[string]packdb.SHA{}
	for _, ref := range list {
		if ref.Type() == plumbing.HashReference {
			refs[ref.Name().String()] = packdb.SHA(ref.Hash().String())
		}
	}
	return refs, nil
}

// RemoteError is a failure of another repository, or of the way there. Nothing
// was changed here.
type RemoteError struct {
	Doing   string
	Address string // as it may be shown
	Err     error  // may be shown too
}

func (e *RemoteError) Error() string {
	why := e.Err.Error()
	switch {
	case errors.Is(e.Err, transport.ErrAuthenticationRequired), errors.Is(e.Err, transport.ErrAuthorizationFailed), errors.Is(e.Err, transport.ErrInvalidAuthMethod):
		why += "; give a name and a token in the address (https://NAME:TOKEN@...), or use ssh with a key of its agent"
	case errors.Is(e.Err, transport.ErrRepositoryNotFound):
		why += "; make it there first (an empty bare one), or see whether the address is right"
	}
	return fmt.Sprintf("%s %s: %s", e.Doing, e.Address, why)
}

// Unwrap returns the cause.
func (e *RemoteError) Unwrap() error { return e.Err }

func remoteError(doing, address string, err error) error {
	if errors.Is(err, context.Canceled) {
		return context.Canceled
	}
	return &RemoteError{doing, WithoutSecrets(address), discreet(address, err)}
}

// CutError is a repository that does not take what this store has: a git server
// wants whole histories, or has what came before itself. Branches that lead back
// to a beginning may have gone there.
type CutError struct {
	Address string
	Err     error
}

func (e *CutError) Error() string {
	return fmt.Sprintf("%s does not take all branches (%v): a part of the history is lost, and a git server takes only what leads back to a beginning that it has; export to a directory (`hank checkpoints export DIR`), or to a repository that had that part before", e.Address, e.Err)
}

// Unwrap returns what the other side said.
func (e *CutError) Unwrap() error { return e.Err }

// transferStore is a store whose references go-git must not move: it would do
// so before the objects are durable, and keep copies of the other side's.
type transferStore struct{ *packdb.DB }

// SetReference does nothing.
func (*transferStore) SetReference(*plumbing.Reference) error { return nil }

// CheckAndSetReference does nothing.
func (*transferStore) CheckAndSetReference(_, _ *plumbing.Reference) error { return nil }

// secret finds what of an address must not be shown: all before the @ of a URL,
// but for the user's name of ssh, which is none; and what is asked of it.
var secret = regexp.MustCompile(`^([a-z+]+://)([^/]*@)`)

// WithoutSecrets returns the address of a repository as it may be shown.
func WithoutSecrets(address string) string {
	if strings.HasPrefix(address, "ssh://") {
		return regexp.MustCompile(`^(ssh://[^/:@]*)(:[^/]*)?@`).ReplaceAllString(address, "$1@")
	}
	if secret.MatchString(address) || strings.Contains(address, "://") {
		address, _, _ = strings.Cut(address, "?")
	}
	return secret.ReplaceAllString(address, "$1")
}

// discreetError is an error of a transport that may quote an address.
type discreetError struct {
	err     error
	address string
}

func (e *discreetError) Unwrap() error { return e.err }

func (e *discreetError) Error() string {
	text := strings.ReplaceAll(e.err.Error(), e.address, WithoutSecrets(e.address))
	if m := secret.FindStringSubmatch(e.address); m != nil && !strings.HasPrefix(e.address, "ssh://") {
		name, password, _ := strings.Cut(strings.TrimSuffix(m[2], "@"), ":")
		for _, part := range []string{m[2], name + ":***@", url.QueryEscape(password), password, name} {
			if part != "" {
				text = strings.ReplaceAll(text, part, "")
			}
		}
	}
	return text
}

func discreet(address string, err error) error { return &discreetError{err, address} }

// Remote is another repository, by a directory or by an address that git knows.
// The references of one execution lie below refs/heads/<Prefix>/ there, so that
// many executions, and the user's own branches, have room in one.
type Remote struct {
	Address string
	Prefix  string // without slashes at its ends
	// Sessions exports what agents remember, too. An import takes what is there.
	Sessions bool
}

// session begins the names of branches that have sessions there.
const session = "session-"

// theirs is the name of a reference of this store there, or of all that begin so.
func (r Remote) theirs(name string) string {
	if run, is := strings.CutPrefix(name, packdb.Sessions); is {
		return r.theirs(packdb.Branches) + session + run
	}
	return packdb.Branches + r.Prefix + "/" + strings.TrimPrefix(name, packdb.Branches)
}

// ours is the name of a reference of the other side here.
func (r Remote) ours(name string) string {
	return local(packdb.Branches + strings.TrimPrefix(name, r.theirs(packdb.Branches)))
}

// local is what a branch of an import becomes.
func local(branch string) string {
	if run, is := strings.CutPrefix(branch, packdb.Branches+session); is {
		return packdb.Sessions + run
	}
	return branch
}

func (r Remote) check() error {
	return packdb.CheckRefName(packdb.Branches + r.Prefix + "/main")
}

// isDirectory reports whether the address is a path here.
func (r Remote) isDirectory() bool {
	if filepath.IsAbs(r.Address) || strings.HasPrefix(r.Address, ".") {
		return true
	}
	e, err := transport.NewEndpoint(r.Address)
	return err != nil || e.Protocol == "file" && !strings.HasPrefix(r.Address, "file:")
}

// Transfer is what an Export or Import has moved. References are by their name
// in this store.
type Transfer struct {
	Moved   []string // made or moved forward
	Same    int      // were where they are to be, or further
	Refused []string // the other side has something else there; they stay
	Objects int      // commits, directories and files that were sent
}
