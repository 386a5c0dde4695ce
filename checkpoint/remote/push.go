package remote

import (
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	gitobject "github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/plumbing/transport/client"

	"hank/checkpoint/packdb"
)

// push sends branches over go-git's transport, in one session: what the other
// side says that it has is what is compared, and each branch moves there only
// from where it was said to be. go-git's own push is not used: it takes commits
// in the shallow file for those of the other side, and packs in memory.
func push(ctx context.Context, s *packdb.DB, to Remote, refs map[string]packdb.SHA) (*Transfer, error) {
	end, err := transport.NewEndpoint(to.Address)
	if err != nil {
		return nil, remoteError("pushing to", to.Address, err)
	}
	c, err := client.NewClient(end)
	if err != nil {
		return nil, remoteError("pushing to", to.Address, err)
	}
	session, err := c.NewReceivePackSession(end, nil)
	if err != nil {
		return nil, remoteError("pushing to", to.Address, err)
	}
	defer session.Close() // what it was for is known by then
	said, err := session.AdvertisedReferencesContext(ctx)
	if err != nil && !errors.Is(err, transport.ErrEmptyRemoteRepository) {
		return nil, remoteError("pushing to", to.Address, err)
	}
	there := map[string]packdb.SHA{}
	for name, id := range said.References {
		there[name] = packdb.SHA(id.String())
	}
	t, commands, err := commands(s, to, refs, there)
	if err != nil || len(commands) == 0 {
		return t, err
	}
	objects, err := objectsBeyond(ctx, s, commands, there)
	if err != nil {
		return nil, err
	}
	t.Objects = len(objects)
	request := packp.NewReferenceUpdateRequestFromCapabilities(said.Capabilities)
	request.Commands = commands
	r, w := io.Pipe()
	request.Packfile = r
	packed := make(chan error, 1)
	go func() {
		err := writePack(ctx, s, w, objects)
		_ = w.CloseWithError(err) // the reader gets it
		packed <- err
	}()
	status, err := session.ReceivePack(ctx, request)
	_ = r.Close() // where it was not read to its end
	if own := <-packed; own != nil && !errors.Is(own, io.ErrClosedPipe) {
		return nil, own
	}
	if err == nil && status != nil {
		err = status.Error()
	}
	if cuts, _ := s.Shallow(); err != nil && slices.ContainsFunc(cuts, func(id plumbing.Hash) bool { return slices.Contains(objects, id) }) {
		return nil, &CutError{Address: WithoutSecrets(to.Address), Err: discreet(to.Address, err)}
	}
	if err != nil {
		return nil, remoteError("pushing to", to.Address, err)
	}
	return t, nil
}

// commands are what is to move on the other side.
func commands(s *packdb.DB, to Remote, refs, there map[string]packdb.SHA) (*Transfer, []*packp.Command, error) {
	t := &Transfer{}
	var list []*packp.Command
	for name, sha := range refs {
		old := there[to.theirs(name)]
		forward := old == ""
		if !forward {
			var err error
			if forward, err = leadsTo(s, sha, old); err != nil {
				return nil, nil, err
			}
		}
		switch {
		case old == sha:
			t.Same++
		case !forward:
			t.Refused = append(t.Refused, name)
		default:
			t.Moved = append(t.Moved, name)
			list = append(list, &packp.Command{Name: plumbing.ReferenceName(to.theirs(name)), Old: plumbing.NewHash(string(old)), New: plumbing.NewHash(string(sha))})
		}
	}
	slices.Sort(t.Moved)
	slices.Sort(t.Refused)
	return t, list, nil
}

// objectsBeyond lists what the new places of branches lead to, and what the
// other side does not have: it has all that is behind its branches.
func objectsBeyond(ctx context.Context, s *packdb.DB, commands []*packp.Command, there map[string]packdb.SHA) ([]plumbing.Hash, error) {
	w := &packdb.Walker{S: s, Ctx: ctx, Seen: map[plumbing.Hash]bool{}}
	for _, sha := range there {
		if err := pass(w, plumbing.NewHash(string(sha))); err != nil {
			return nil, err
		}
	}
	var list []plumbing.Hash
	w.Found = func(id plumbing.Hash) error {
		list = append(list, id)
		return nil
	}
	for _, c := range commands {
		if err := w.From(c.New); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// pass takes a commit, all behind it that is here, and its own tree for seen.
func pass(w *packdb.Walker, tip plumbing.Hash) error {
	for todo := []plumbing.Hash{tip}; len(todo) > 0; {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if w.Seen[id] {
			continue
		}
		if err := w.Ctx.Err(); err != nil {
			return err
		}
		commit, err := gitobject.GetCommit(w.S, id)
		if packdb.IsMissing(err) {
			continue // somebody else's, a tag, or behind where this store begins
		}
		if err != nil {
			return err
		}
		w.Seen[id] = true
		if id == tip {
			if err := w.Object(commit.TreeHash, plumbing.TreeObject); err != nil && !packdb.IsMissing(err) {
				return err
			}
		}
		todo = append(todo, commit.ParentHashes...)
	}
	return nil
}

// writePack writes objects as a pack, one after the other.
func writePack(ctx context.Context, s *packdb.DB, to io.Writer, objects []plumbing.Hash) error {
	sum := sha1.New()
	out := io.MultiWriter(to, sum)
	header := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(len(objects)))
	if _, err := out.Write(header); err != nil {
		return err
	}
	for _, id := range objects {
		if err := ctx.Err(); err != nil {
			return err
		}
		o, err := s.Object(id)
		if err != nil {
			return err
		}
		if _, err := out.Write(packdb.AppendPackedHeader(nil, o.Kind, o.Bytes)); err != nil {
			return err
		}
		r, err := o.Reader()
		if err != nil {
			return err
		}
		if err := errors.Join(packdb.Deflate(out, r), r.Close()); err != nil {
			return err
		}
	}
	_, err := to.Write(sum.Sum(nil))
	return err
}
