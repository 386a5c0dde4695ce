package checkpoint

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
)

// push sends branches by go-git's transport.
func (s *Store) push(ctx context.Context, to Remote, refs map[string]SHA) (*Transfer, error) {
	there, err := remoteRefs(ctx, to.Address)
	if err != nil {
		return nil, err
	}
	t := &Transfer{}
	var specs []config.RefSpec
	for name, sha := range refs {
		old := there[to.theirs(name)]
		forward := old == ""
		if !forward && s.has(plumbing.NewHash(string(old))) {
			if forward, err = s.leadsTo(sha, old); err != nil {
				return nil, err
			}
		}
		switch {
		case old == sha:
			t.Same++
		case !forward:
			t.Refused = append(t.Refused, name)
		default:
			t.Moved = append(t.Moved, name)
			specs = append(specs, config.RefSpec(name+":"+to.theirs(name)))
		}
	}
	slices.Sort(t.Moved)
	slices.Sort(t.Refused)
	if len(specs) == 0 {
		return t, nil
	}
	remote, err := newRemote(&transferStore{Store: s}, to.Address)
	if err == nil {
		err = remote.PushContext(ctx, &gogit.PushOptions{RemoteName: remoteName, RefSpecs: specs})
	}
	if err != nil && !errors.Is(err, gogit.NoErrAlreadyUpToDate) {
		return nil, fmt.Errorf("pushing to %s: %w", WithoutSecrets(to.Address), discreet(to.Address, err))
	}
	return t, nil
}

// fetch receives branches by go-git's transport. What comes is durable before
// a reference leads to it.
func (s *Store) fetch(ctx context.Context, from Remote) (*Transfer, error) {
	theirs, err := remoteRefs(ctx, from.Address)
	if err != nil {
		return nil, err
	}
	into := &transferStore{Store: s}
	remote, err := newRemote(into, from.Address)
	if err == nil {
		all := config.RefSpec(from.theirs(branches) + "*:" + branches + "*")
		err = remote.FetchContext(ctx, &gogit.FetchOptions{RemoteName: remoteName, RefSpecs: []config.RefSpec{all}, Tags: gogit.NoTags})
	}
	if err != nil && !errors.Is(err, gogit.NoErrAlreadyUpToDate) {
		s.Abort()
		return nil, fmt.Errorf("fetching from %s: %w", WithoutSecrets(from.Address), discreet(from.Address, err))
	}
	if err := s.Flush(ctx); err != nil {
		return nil, err
	}
	t := &Transfer{}
	for name, sha := range theirs {
		below, ok := strings.CutPrefix(name, from.theirs(branches))
		if !ok {
			continue
		}
		name = branches + below
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
func remoteRefs(ctx context.Context, address string) (map[string]SHA, error) {
	remote, err := newRemote(nil, address)
	if err != nil {
		return nil, err
	}
	list, err := remote.ListContext(ctx, &gogit.ListOptions{})
	if err != nil && !errors.Is(err, transport.ErrEmptyRemoteRepository) {
		return nil, fmt.Errorf("asking %s for its branches: %w", WithoutSecrets(address), discreet(address, err))
	}
	refs := map[string]SHA{}
	for _, ref := range list {
		if ref.Type() == plumbing.HashReference {
			refs[ref.Name().String()] = SHA(ref.Hash().String())
		}
	}
	return refs, nil
}

// transferStore is a store whose references go-git must not move: it would do
// so before the objects are durable, and keep copies of the other side's.
type transferStore struct{ *Store }

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
