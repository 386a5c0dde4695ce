//go:build unix

package checkpoint

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	gitobject "github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// leaf is a file, symlink or (in trees only) submodule of a layout.
type leaf struct {
	mode filemode.FileMode
	data string
}

// layout is a workspace as a map from path to leaf: the oracle's view, which
// shares no code with the restore.
type layout map[string]leaf

func file(data string) leaf { return leaf{filemode.Regular, data} }
func exe(data string) leaf  { return leaf{filemode.Executable, data} }
func link(to string) leaf   { return leaf{filemode.Symlink, to} }

// fataler is a *testing.T or a *rapid.T.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func must(t fataler, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

func putObject(t fataler, st storer.EncodedObjectStorer, kind plumbing.ObjectType, data []byte) plumbing.Hash {
	t.Helper()
	o := st.NewEncodedObject()
	o.SetType(kind)
	w, err := o.Writer()
	must(t, err)
	_, err = w.Write(data)
	must(t, err)
	must(t, w.Close())
	h, err := st.SetEncodedObject(o)
	must(t, err)
	return h
}

// putTree stores l as git trees and blobs.
func putTree(t fataler, st storer.EncodedObjectStorer, l layout) SHA {
	t.Helper()
	var entries []gitobject.TreeEntry
	subs := map[string]layout{}
	for path, f := range l {
		if dir, rest, ok := strings.Cut(path, "/"); ok {
			if subs[dir] == nil {
				subs[dir] = layout{}
			}
			subs[dir][rest] = f
		} else if f.mode == filemode.Submodule {
			entries = append(entries, gitobject.TreeEntry{Name: path, Mode: f.mode, Hash: plumbing.NewHash(f.data)})
		} else {
			entries = append(entries, gitobject.TreeEntry{Name: path, Mode: f.mode, Hash: putObject(t, st, plumbing.BlobObject, []byte(f.data))})
		}
	}
	for dir, sub := range subs {
		entries = append(entries, gitobject.TreeEntry{Name: dir, Mode: filemode.Dir, Hash: plumbing.NewHash(string(putTree(t, st, sub)))})
	}
	sort.Sort(gitobject.TreeEntrySorter(entries))
	return putRawTree(t, st, entries...)
}

// putRawTree stores a tree as it stands, however wrong.
func putRawTree(t fataler, st storer.EncodedObjectStorer, entries ...gitobject.TreeEntry) SHA {
	t.Helper()
	var b bytes.Buffer
	for _, e := range entries {
		fmt.Fprintf(&b, "%o %s\x00", uint32(e.Mode), e.Name)
		b.Write(e.Hash[:])
	}
	return SHA(putObject(t, st, plumbing.TreeObject, b.Bytes()).String())
}

// layDown makes the files of l below root.
func layDown(t fataler, root string, l layout) {
	t.Helper()
	for path, f := range l {
		full := filepath.Join(root, path)
		must(t, os.MkdirAll(filepath.Dir(full), 0o777))
		switch f.mode {
		case filemode.Symlink:
			must(t, os.Symlink(f.data, full))
		case filemode.Executable:
			must(t, os.WriteFile(full, []byte(f.data), 0o755))
		default:
			must(t, os.WriteFile(full, []byte(f.data), 0o644))
		}
	}
}

// readBack reads everything below root; directories without anything in them
// have the mode Dir.
func readBack(t fataler, root string) layout {
	t.Helper()
	l := layout{}
	must(t, filepath.WalkDir(root, func(full string, d fs.DirEntry, err error) error {
		if err != nil || full == root {
			return err
		}
		path, info := full[len(root)+1:], fs.FileInfo(nil)
		if info, err = d.Info(); err != nil {
			return err
		}
		switch {
		case d.IsDir():
			names, err := os.ReadDir(full)
			if len(names) == 0 {
				l[path] = leaf{mode: filemode.Dir}
			}
			return err
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(full)
			l[path] = link(to)
			return err
		case !info.Mode().IsRegular():
			l[path] = leaf{data: info.Mode().String()}
			return nil
		}
		data, err := os.ReadFile(full)
		l[path] = file(string(data))
		if info.Mode()&0o100 != 0 {
			l[path] = exe(string(data))
		}
		return err
	}))
	return l
}

func sameLayout(t fataler, what string, got, want layout) {
	t.Helper()
	if maps.Equal(got, want) {
		return
	}
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(got)) {
		if w, ok := want[path]; !ok {
			fmt.Fprintf(&b, "\n  %q is there: %v", path, got[path])
		} else if w != got[path] {
			fmt.Fprintf(&b, "\n  %q is %v, want %v", path, got[path], w)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(want)) {
		if _, ok := got[path]; !ok {
			fmt.Fprintf(&b, "\n  %q is missing, want %v", path, want[path])
		}
	}
	t.Fatalf("%s: the workspace is not as it should be:%s", what, b.String())
}

func openWS(t fataler, root string) *Workspace {
	t.Helper()
	ws, err := OpenWorkspace(root)
	must(t, err)
	return ws
}

func anything(string) bool { return true }

// site is a workspace on disk with a store and the tree of what is in it.
type site struct {
	t    *testing.T
	root string
	st   storer.EncodedObjectStorer
	ws   *Workspace
}

func newSite(t *testing.T, st storer.EncodedObjectStorer, l layout) *site {
	t.Helper()
	root := t.TempDir()
	layDown(t, root, l)
	ws := openWS(t, root)
	t.Cleanup(func() {
		ws.Close()
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				err = os.Chmod(path, 0o755) // so that TempDir can remove it
			}
			return err
		})
	})
	return &site{t, root, st, ws}
}

// request is a restore between two layouts that may delete anything.
func (s *site) request(from, to layout) RestoreRequest {
	s.t.Helper()
	return RestoreRequest{Store: s.st, Workspace: s.ws, From: putTree(s.t, s.st, from), To: putTree(s.t, s.st, to), Removable: anything}
}

func (s *site) restore(from, to layout) (*RestoreReport, error) {
	s.t.Helper()
	return Restore(s.t.Context(), s.request(from, to))
}

func (s *site) path(name string) string { return filepath.Join(s.root, name) }
