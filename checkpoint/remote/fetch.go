package remote

import (
	"context"
	"errors"
	"slices"
	"strings"

	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"

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
		if refs, err = fetched.Refs("refs/"); err == nil {
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
		if strings.HasPrefix(name, from.theirs(packdb.Branches)) {
			here[from.ours(name)] = sha
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
