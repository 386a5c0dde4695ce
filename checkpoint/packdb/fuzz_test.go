package packdb

import (
	"bytes"
	"errors"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	gitobject "github.com/go-git/go-git/v5/plumbing/object"
	"github.com/klauspost/compress/zlib"

	"hank/checkpoint/worktree"
	"hank/internal/vfs"
	"hank/internal/vfs/vfstest"
)

// zipped is data as a pack holds them.
func zipped(data []byte) []byte {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_, _ = z.Write(data)
	_ = z.Close()
	return b.Bytes()
}

// patched applies a delta by gitformat-pack(5), simply; ok is false where the
// delta is not one, or makes more than most bytes.
func patched(base, delta []byte, most int) (out []byte, ok bool) {
	number := func() (n uint64, ok bool) {
		for shift := 0; len(delta) > 0 && shift < 63; shift += 7 {
			c := delta[0]
			delta = delta[1:]
			n |= uint64(c&0x7f) << shift
			if c&0x80 == 0 {
				return n, true
			}
		}
		return 0, false
	}
	from, ok := number()
	size, ok2 := number()
	if !ok || !ok2 || from != uint64(len(base)) || size > uint64(most) {
		return nil, false
	}
	for len(delta) > 0 {
		c := delta[0]
		delta = delta[1:]
		if c&0x80 == 0 {
			if c == 0 || int(c) > len(delta) {
				return nil, false
			}
			out, delta = append(out, delta[:c]...), delta[c:]
		} else {
			var at, n uint64
			for bit := range 7 {
				if c>>bit&1 == 0 {
					continue
				}
				if len(delta) == 0 {
					return nil, false
				}
				if bit < 4 {
					at |= uint64(delta[0]) << (8 * bit)
				} else {
					n |= uint64(delta[0]) << (8 * (bit - 4))
				}
				delta = delta[1:]
			}
			if n == 0 {
				n = 1 << 16
			}
			if at+n > uint64(len(base)) || uint64(len(out))+n > size {
				return nil, false
			}
			out = append(out, base[at:at+n]...)
		}
	}
	return out, uint64(len(out)) == size
}

// FuzzPackedDelta: a delta gives what its format says, or an error; a size that
// it claims costs nothing.
func FuzzPackedDelta(f *testing.F) {
	f.Add([]byte("hello world"), []byte("\x0b\x05\x05xxxxx"), int64(8))
	f.Add([]byte("hello world"), []byte("\x0b\x0b\x90\x0b"), int64(4))
	f.Add([]byte("hello"), []byte("\x05\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x01x"), int64(12))
	f.Add([]byte("hello"), []byte("\x05\x80\x80\x80\x80\x10\x90\x05"), int64(8))
	f.Add([]byte("a"), []byte("\x01\x01\x01b"), int64(-1))
	f.Fuzz(func(t *testing.T, base, delta []byte, lie int64) {
		const off = 12
		pack := append([]byte("PACK\x00\x00\x00\x02\x00\x00\x00\x02"), append(AppendPackedHeader(nil, plumbing.BlobObject, int64(len(base))), zipped(base)...)...)
		at := int64(len(pack))
		size := int64(len(delta))
		if lie%8 == 7 {
			size = lie
		}
		header := AppendPackedHeader(nil, plumbing.OFSDeltaObject, size)
		back := []byte{byte((at - off) & 0x7f)}
		for n := (at - off) >> 7; n > 0; n >>= 7 {
			n--
			back = append([]byte{byte(n&0x7f) | 0x80}, back...)
		}
		pack = append(append(append(pack, header...), back...), zipped(delta)...)
		if h, err := readPackedHeader(bytes.NewReader(pack), at); size == int64(len(delta)) && (err != nil || h.baseAt != off || h.size != size) {
			t.Fatalf("%+v, %v", h, err)
		}
		kind, got, err := unpack(pack, at)
		if size < 0 {
			return
		}
		want, ok := patched(base, delta, 1<<26)
		if size != int64(len(delta)) {
			ok = false
		}
		// What is no delta may give something, too: whoever reads it compares its
		// name. But not much, and not another thing.
		if err == nil && len(got) > 1<<26 {
			t.Fatalf("%d bytes from %d", len(got), len(pack))
		}
		if err == nil && ok && (kind != plumbing.BlobObject || !bytes.Equal(got, want)) {
			t.Fatalf("gave %d bytes that the delta does not say (want %v, %d)", len(got), ok, len(want))
		}
		if err != nil && ok && len(want) > 0 && len(base) > 0 && len(delta) >= 4 {
			t.Fatalf("a right delta is refused: %v", err)
		}
	})
}

// unpack reads the object at off of a pack that names no other.
func unpack(pack []byte, off int64) (plumbing.ObjectType, []byte, error) {
	u, done := unpackerOf(bytes.NewReader(pack))
	defer done()
	h, err := u.header(off)
	if err != nil {
		return 0, nil, err
	}
	return u.resolve(h, func(plumbing.Hash) (*GitObject, error) { return nil, plumbing.ErrObjectNotFound })
}

// FuzzPack: whatever follows the header of a pack, reading an object of it, or
// making an index of all of it, ends, and gives only what has the right name.
func FuzzPack(f *testing.F) {
	one := append(AppendPackedHeader(nil, plumbing.BlobObject, 5), zipped([]byte("hello"))...)
	f.Add(one)
	f.Add(append(bytes.Clone(one), append([]byte{0x64, byte(len(one))}, zipped([]byte("\x05\x05\x90\x05"))...)...))
	f.Add([]byte{0x64, 1})
	f.Add([]byte{0x74, 1, 2, 3})
	f.Add([]byte("\xb5\xff\xff\xff\xff\xff\xff\xff\x7f"))
	f.Fuzz(func(t *testing.T, body []byte) {
		pack := append([]byte("PACK\x00\x00\x00\x02\x00\x00\x00\x01"), body...)
		for _, off := range []int64{12, 12 + int64(len(one)), int64(len(pack)) - 1, int64(len(pack)) + 5} {
			kind, data, err := unpack(pack, off)
			if err == nil && (kind < plumbing.CommitObject || kind > plumbing.TagObject) {
				t.Fatalf("kind %v of %d bytes", kind, len(data))
			}
		}
	})
}

// onDisk is a store in memory with these files besides its own.
func onDisk(t testing.TB, files map[string]string) (*vfstest.Mem, *DB) {
	t.Helper()
	m := vfstest.NewMem()
	if err := vfs.MkdirAll(m, "/x", 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := Init(Options{Dir: "/x/store", FS: m})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		file := filepath.Join("/x/store", name)
		if err := vfs.MkdirAll(m, path.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := vfs.ReplaceFile(m, file, []byte(text), 0o600, vfs.Durable); err != nil {
			t.Fatal(err)
		}
	}
	s, err = Open(Options{Dir: "/x/store", FS: m})
	if err != nil {
		t.Fatal(err)
	}
	return m, s
}

// FuzzReferences: whatever stands in references, packed-refs and shallow, the
// store opens, gives only names that git takes and values that name objects,
// names the file of what it passes over, and a reference can be set and removed.
func FuzzReferences(f *testing.F) {
	sha := strings.Repeat("0123456789", 4)
	f.Add("# pack-refs with: peeled fully-peeled sorted \n"+sha+" refs/heads/a\n^"+sha+"\n", sha+"\n", sha+"\n")
	f.Add(sha+" refs/../../x\n", "ref: refs/heads/b\n", "")
	f.Add(sha+" refs/heads/b/c\n", "", "\x00\xff\n"+sha)
	f.Add(sha+" refs/heads/main\n"+sha+" refs/heads/main\n"+sha+"\n", "\n", strings.Repeat("a", 100))
	f.Add(sha+" refs/heads/a.lock\n", sha, sha+" "+sha)
	f.Fuzz(func(t *testing.T, packed, loose, shallow string) {
		_, s := onDisk(t, map[string]string{packedRefsName: packed, "refs/heads/b": loose, shallowName: shallow})
		defer s.Close()
		ids, err := s.Shallow()
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			if !strings.Contains(shallow, id.String()) {
				t.Fatalf("%s stands nowhere", id)
			}
		}
		refs, damaged, err := s.ReadableRefs("refs/")
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range damaged {
			if d.Path == "" || d.Why == "" {
				t.Fatalf("a complaint without a place: %+v", d)
			}
		}
		for name, sha := range refs {
			if err := CheckRefName(name); err != nil || !isSHA(string(sha)) {
				t.Fatalf("%q is at %q: %v", name, sha, err)
			}
		}
		had, err := s.Ref("refs/heads/b")
		var d *DamagedError
		if err != nil && !errors.As(err, &d) {
			t.Fatal(err)
		}
		if err != nil || len(damaged) > 0 {
			return
		}
		next := SHA(strings.Repeat("b", 40))
		if err := s.SetRef("refs/heads/b", had, next); err != nil {
			t.Fatal(err)
		}
		if err := s.SetRef("refs/heads/b", next, ""); err != nil {
			t.Fatal(err)
		}
		after, err := s.Refs("refs/")
		delete(refs, "refs/heads/b")
		if err != nil || !reflect.DeepEqual(after, refs) {
			t.Fatalf("%v: %v, want %v", err, after, refs)
		}
	})
}

// FuzzTree: of the entries of a tree that no check complains about, a restore
// writes only single names below the workspace, and the entries are those that
// the bytes say.
func FuzzTree(f *testing.F) {
	id := strings.Repeat("\x01", 20)
	for _, s := range []string{"", "100644 a\x00" + id, "40000 d\x00" + id + "100755 e\x00" + id, "100644 ..\x00" + id, "100644 .git\x00" + id, "100644 a/b\x00" + id,
		"120000 \x00" + id, "100644 GIT~1\x00" + id, "160000 m\x00" + id, "999999 a\x00" + id, "100644 a\x00" + id[:5], "0100644 a\x00" + id, "100644 .g\u200cit\x00" + id,
		"100644 b\x00" + id + "100644 a\x00" + id, "100644 a\x00" + id + "40000 a\x00" + id} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		tree, err := decodeTree(body)
		if err != nil {
			return
		}
		var again bytes.Buffer
		known := true
		for i, e := range tree.Entries {
			again.WriteString(strings.TrimLeft(e.Mode.String(), "0") + " " + e.Name + "\x00")
			again.Write(e.Hash[:])
			name := worktree.UnescapeName(e.Name)
			switch e.Mode {
			case filemode.Dir, filemode.Regular, filemode.Executable, filemode.Symlink, filemode.Submodule:
			default:
				known = false
			}
			if worktree.IsPathComponent(name) != nil || worktree.Restorable(name) != nil {
				continue
			}
			if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") || strings.EqualFold(name, ".git") || strings.HasPrefix(strings.ToLower(name), ".hankweave-r") {
				t.Fatalf("entry %d: %q would be restored", i, name)
			}
		}
		if known && !bytes.Equal(again.Bytes(), body) && canonicalModes(body) {
			t.Fatalf("%q was read as %q", body, again.Bytes())
		}
	})
}

// canonicalModes reports whether no mode is written in another way than git does.
func canonicalModes(body []byte) bool {
	for len(body) > 0 {
		mode, rest, _ := bytes.Cut(body, []byte(" "))
		switch string(mode) {
		case "40000", "100644", "100755", "120000", "160000":
		default:
			return false
		}
		_, rest, ok := bytes.Cut(rest, []byte{0})
		if !ok || len(rest) < HashSize {
			return false
		}
		body = rest[HashSize:]
	}
	return true
}

func decodeTree(body []byte) (*gitobject.Tree, error) {
	o := &GitObject{id: objectID(plumbing.TreeObject, body), Kind: plumbing.TreeObject, Bytes: int64(len(body)), data: body}
	tree := &gitobject.Tree{}
	return tree, tree.Decode(o)
}
