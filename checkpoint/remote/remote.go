package remote

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/transport"

	"hank/checkpoint/packdb"
	"hank/internal/failpoint"
	"hank/internal/vfs"
)

// fetch receives branches by go-git's transport. What comes is durable before
// a reference leads to it. A store that is not whole is given to nobody as what
// it has: all is fetched into a new one, and copied from there.
func fetch(ctx context.Context, s *packdb.DB, from Remote) (*Transfer, error) {
	whole, err := isWhole(ctx, s)
	if err != nil {
		return nil, err
	}
	if whole {
		return fetchInto(ctx, s, from)
	}
	o := packdb.Options{FS: s.FS, Dir: s.Dir + fetchedSuffix, Now: s.Opts.Now}
	if err := vfs.RemoveTree(s.FS, o.Dir); err != nil {
		return nil, err
	}
	fetched, err := packdb.Init(o)
	if err != nil {
		return nil, err
	}
	t, err := fetchInto(ctx, fetched, from)
	if err == nil {
		var refs map[string]packdb.SHA
		if refs, err = fetched.Refs(packdb.Branches); err == nil {
			t, err = copyBranches(ctx, fetched, s, refs)
		}
	}
	return t, errors.Join(err, fetched.Close(), vfs.RemoveTree(s.FS, o.Dir))
}

// fetchedSuffix ends the name of the store that fetch uses. What a crash has
// left of it the next fetch removes.
const fetchedSuffix = ".fetched"

func fetchInto(ctx context.Context, s *packdb.DB, from Remote) (*Transfer, error) {
	theirs, err := remoteRefs(ctx, from.Address)
	if err != nil {
		return nil, err
	}
	remote, err := newRemote(&transferStore{DB: s}, from.Address)
	if err == nil {
		all := config.RefSpec(from.theirs(packdb.Branches) + "*:" + packdb.Branches + "*")
		err = remote.FetchContext(ctx, &gogit.FetchOptions{RemoteName: remoteName, RefSpecs: []config.RefSpec{all}, Tags: gogit.NoTags})
	}
	if err != nil && !errors.Is(err, gogit.NoErrAlreadyUpToDate) {
		s.Abort()
		return nil, remoteError("fetching from", from.Address, err)
	}
	t := &Transfer{Objects: pendingObjects(s)}
	if err := s.Flush(ctx); err != nil {
		return nil, err
	}
	failpoint.Hit("transfer.copied")
	here := map[string]packdb.SHA{}
	for name, sha := range theirs {
		if below, ok := strings.CutPrefix(name, from.theirs(packdb.Branches)); ok {
			here[packdb.Branches+below] = sha
		}
	}
	if err := endWhereNothingIs(ctx, s, here); err != nil {
		return nil, err
	}
	for name, sha := range here {
		old, err := s.Ref(name)
		if err != nil {
			return nil, err
		}
		forward, behind, err := compare(s, sha, s, old)
		switch {
		case err != nil:
			return nil, err
		case behind:
			t.Same++
		case !forward:
			t.Refused = append(t.Refused, name)
		default:
			if err := s.SetRef(name, old, sha); err != nil {
				return nil, err
			}
			failpoint.Hit("transfer.moved")
			t.Moved = append(t.Moved, name)
		}
	}
	slices.Sort(t.Moved)
	slices.Sort(t.Refused)
	return t, nil
}

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
	return fmt.Sprintf("%s does not take all branches (%v): a part of the history is lost, and a git server takes only what leads back to a beginning that it has; export to a folder (`hank checkpoints export DIR`), or to a repository that had that part before", e.Address, e.Err)
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
