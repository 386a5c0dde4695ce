//go:build unix

package layouttest

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

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	gitobject "github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"pgregory.net/rapid"

	"hank/checkpoint/internal/testkit"
	"hank/checkpoint/packdb"
	"hank/checkpoint/worktree"
)

// Leaf is a file, symlink or (in trees only) submodule of a layout.
type Leaf struct {
	Mode filemode.FileMode
	Data string
}

// Layout is a workspace as a map from path to leaf: the oracle's view, which
// shares no code with the restore.
type Layout map[string]Leaf

func File(data string) Leaf { return Leaf{filemode.Regular, data} }

func Exe(data string) Leaf { return Leaf{filemode.Executable, data} }

func Link(to string) Leaf { return Leaf{filemode.Symlink, to} }

func PutObject(t testkit.Fataler, st storer.EncodedObjectStorer, kind plumbing.ObjectType, data []byte) plumbing.Hash {
	t.Helper()
	o := st.NewEncodedObject()
	o.SetType(kind)
	w, err := o.Writer()
	testkit.Must(t, err)
	_, err = w.Write(data)
	testkit.Must(t, err)
	testkit.Must(t, w.Close())
	h, err := st.SetEncodedObject(o)
	testkit.Must(t, err)
	return h
}

// PutTree stores l as git trees and blobs.
func PutTree(t testkit.Fataler, st storer.EncodedObjectStorer, l Layout) packdb.SHA {
	t.Helper()
	var entries []gitobject.TreeEntry
	subs := map[string]Layout{}
	for path, f := range l {
		if dir, rest, ok := strings.Cut(path, "/"); ok {
			if subs[dir] == nil {
				subs[dir] = Layout{}
			}
			subs[dir][rest] = f
		} else if f.Mode == filemode.Submodule {
			entries = append(entries, gitobject.TreeEntry{Name: path, Mode: f.Mode, Hash: plumbing.NewHash(f.Data)})
		} else {
			entries = append(entries, gitobject.TreeEntry{Name: path, Mode: f.Mode, Hash: PutObject(t, st, plumbing.BlobObject, []byte(f.Data))})
		}
	}
	for dir, sub := range subs {
		entries = append(entries, gitobject.TreeEntry{Name: dir, Mode: filemode.Dir, Hash: plumbing.NewHash(string(PutTree(t, st, sub)))})
	}
	sort.Sort(gitobject.TreeEntrySorter(entries))
	return PutRawTree(t, st, entries...)
}

// PutRawTree stores a tree as it stands, however wrong.
func PutRawTree(t testkit.Fataler, st storer.EncodedObjectStorer, entries ...gitobject.TreeEntry) packdb.SHA {
	t.Helper()
	var b bytes.Buffer
	for _, e := range entries {
		fmt.Fprintf(&b, "%o %s\x00", uint32(e.Mode), e.Name)
		b.Write(e.Hash[:])
	}
	return packdb.SHA(PutObject(t, st, plumbing.TreeObject, b.Bytes()).String())
}

// LayDown makes the files of l below root.
func LayDown(t testkit.Fataler, root string, l Layout) {
	t.Helper()
	for path, f := range l {
		full := filepath.Join(root, path)
		testkit.Must(t, os.MkdirAll(filepath.Dir(full), 0o777))
		switch f.Mode {
		case filemode.Symlink:
			testkit.Must(t, os.Symlink(f.Data, full))
		case filemode.Executable:
			testkit.Must(t, os.WriteFile(full, []byte(f.Data), 0o755))
		default:
			testkit.Must(t, os.WriteFile(full, []byte(f.Data), 0o644))
		}
	}
}

// ReadBack reads everything below root; directories without anything in them
// have the mode Dir.
func ReadBack(t testkit.Fataler, root string) Layout {
	t.Helper()
	l := Layout{}
	testkit.Must(t, filepath.WalkDir(root, func(full string, d fs.DirEntry, err error) error {
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
				l[path] = Leaf{Mode: filemode.Dir}
			}
			return err
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(full)
			l[path] = Link(to)
			return err
		case !info.Mode().IsRegular():
			l[path] = Leaf{Data: info.Mode().String()}
			return nil
		}
		data, err := os.ReadFile(full)
		l[path] = File(string(data))
		if info.Mode()&0o100 != 0 {
			l[path] = Exe(string(data))
		}
		return err
	}))
	return l
}

func SameLayout(t testkit.Fataler, what string, got, want Layout) {
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

func OpenWS(t testkit.Fataler, root string) *worktree.Workspace {
	t.Helper()
	ws, err := worktree.OpenWorkspace(root)
	testkit.Must(t, err)
	return ws
}

// DrawLayout draws a small workspace whose names often collide with those of
// another one: files, symlinks and directories swap places.
func DrawLayout(t *rapid.T, label string) Layout {
	name := rapid.SampledFrom([]string{"a", "b", "c", "a.b", "B", "-n", "new\nline", "\xff\xfe", "ü"})
	path := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(name, 1, 4).Draw(t, "components"), "/")
	})
	content := rapid.Custom(func(t *rapid.T) Leaf {
		data := rapid.SampledFrom([]string{"", "x", "y\n", "x\x00", strings.Repeat("long ", 40000)}).Draw(t, "data")
		switch rapid.IntRange(0, 4).Draw(t, "type") {
		case 0:
			return Exe(data)
		case 1:
			return Link(rapid.SampledFrom([]string{"a", "../b", "/nowhere", "b/c"}).Draw(t, "target"))
		}
		return File(data)
	})
	l := Layout{}
	for p, f := range rapid.MapOfN(path, content, 0, 12).Draw(t, label) {
		l[p] = f
	}
	return WithoutConflicts(l)
}

// WithoutConflicts drops files that stand where another one needs a directory.
func WithoutConflicts(l Layout) Layout {
	for p := range l {
		for dir := filepath.Dir(p); dir != "."; dir = filepath.Dir(dir) {
			delete(l, dir)
		}
	}
	return l
}
