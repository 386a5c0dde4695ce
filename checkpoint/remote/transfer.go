package remote

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"hank/checkpoint/packdb"
)

// Export brings all branches and what they lead to into another repository, and the
// sessions of agents if they are asked for. A
// directory that is not there, or is empty, becomes a bare one. A branch there is
// only ever made or moved forward; nothing is deleted.
//
// Into a directory objects are copied into one pack, which is durable before a
// reference moves; to any other address they are pushed. The error is a
// *RemoteError, or a *CutError, where that is the other side's.
//
// The store may be written to meanwhile: what is sent is what the branches led
// to at one moment. Where gc removes some of it on the way, the export begins
// again with what is left.
func Export(ctx context.Context, s *packdb.DB, to Remote) (*Transfer, error) {
	if err := to.check(); err != nil {
		return nil, err
	}
	for again := 0; ; again++ {
		refs, err := to.exported(s)
		if err != nil {
			return nil, err
		}
		t, err := export(ctx, s, to, refs)
		if again < packdb.MaxLooks && packdb.IsMissing(err) {
			if now, nerr := to.exported(s); nerr == nil && !maps.Equal(refs, now) {
				continue
			}
		}
		return t, err
	}
}

// exported are the references of a store that are sent.
func (r Remote) exported(s *packdb.DB) (map[string]packdb.SHA, error) {
	refs, err := s.Refs(packdb.Branches)
	if err != nil || !r.Sessions {
		return refs, err
	}
	sessions, err := s.Refs(packdb.Sessions)
	maps.Copy(refs, sessions)
	return refs, err
}

func export(ctx context.Context, s *packdb.DB, to Remote, refs map[string]packdb.SHA) (*Transfer, error) {
	if !to.isDirectory() {
		return push(ctx, s, to, refs)
	}
	other, err := openOther(to.Address, true)
	if err != nil {
		return nil, err
	}
	defer other.Close()
	want := map[string]packdb.SHA{}
	for name, sha := range refs {
		want[to.theirs(name)] = sha
	}
	t, err := copyBranches(ctx, s, other, want)
	if err != nil {
		return nil, fmt.Errorf("exporting to %s: %w", to.Address, err)
	}
	for _, names := range [][]string{t.Moved, t.Refused} {
		for i, name := range names {
			names[i] = to.ours(name)
		}
	}
	return t, nil
}

// Import brings the branches that an Export has put into another repository
// back into this store, with what is lost here behind them. A branch here is
// only ever made or moved forward.
func Import(ctx context.Context, s *packdb.DB, from Remote) (*Transfer, error) {
	if err := from.check(); err != nil {
		return nil, err
	}
	if !from.isDirectory() {
		return fetch(ctx, s, from)
	}
	other, err := openOther(from.Address, false)
	if err != nil {
		return nil, err
	}
	defer other.Close()
	refs, err := other.Refs(from.theirs(packdb.Branches))
	if err != nil {
		return nil, err
	}
	want := map[string]packdb.SHA{}
	for name, sha := range refs {
		want[from.ours(name)] = sha
	}
	t, err := copyBranches(ctx, other, s, want)
	if err != nil {
		return nil, fmt.Errorf("importing from %s: %w", from.Address, err)
	}
	return t, nil
}

// Prefixes lists under which prefixes a repository has the branches of an
// execution.
func Prefixes(ctx context.Context, address string) ([]string, error) {
	r := Remote{Address: address}
	var refs map[string]packdb.SHA
	if r.isDirectory() {
		other, err := openOther(address, false)
		if err != nil {
			return nil, err
		}
		defer other.Close()
		if refs, err = other.Refs(packdb.Branches); err != nil {
			return nil, err
		}
	} else {
		var err error
		if refs, err = remoteRefs(ctx, address); err != nil {
			return nil, err
		}
	}
	var list, runs []string
	for name := range refs {
		switch prefix, last := path.Split(strings.TrimPrefix(name, packdb.Branches)); {
		case prefix == "":
		case last == "main":
			list = append(list, strings.TrimSuffix(prefix, "/"))
		case strings.HasPrefix(last, "run-"):
			runs = append(runs, strings.TrimSuffix(prefix, "/"))
		}
	}
	if len(list) == 0 {
		list = runs // of one whose beginning is lost
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}
