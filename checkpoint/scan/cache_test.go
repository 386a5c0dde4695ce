package scan

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func someFingerprint(t *rapid.T) fingerprint {
	return fingerprint{rapid.Int64Range(0, 1<<40).Draw(t, "size"), rapid.Int64().Draw(t, "mtime"), rapid.Int64().Draw(t, "ctime"), rapid.Uint64().Draw(t, "inode"), rapid.Uint32().Draw(t, "mode")}
}

// someName is a name that a directory may have, of up to five characters.
func someName() *rapid.Generator[string] {
	return rapid.StringN(1, 5, 20).Filter(func(s string) bool { return s != "." && s != ".." && !strings.ContainsAny(s, "/\x00") })
}

func someDir(t *rapid.T, depth int) *CachedDir {
	entries := []cachedEntry{} // as decoding makes it
	for _, name := range rapid.SliceOfNDistinct(someName(), 0, 4, rapid.ID).Draw(t, "names") {
		e := cachedEntry{Name: name, Flags: entryFlags(rapid.IntRange(0, 7).Draw(t, "flags"))}
		if depth > 0 && rapid.Bool().Draw(t, "folder") {
			e.Sub = someDir(t, depth-1)
		} else {
			e.stat = someFingerprint(t)
			copy(e.Blob[:], rapid.SliceOfN(rapid.Byte(), 20, 20).Draw(t, "blob"))
		}
		entries = append(entries, e)
	}
	d := newCachedDir(rapid.Uint64().Draw(t, "device"), entries)
	copy(d.Tree[:], rapid.SliceOfN(rapid.Byte(), 20, 20).Draw(t, "tree"))
	if rapid.Bool().Draw(t, "listed") {
		d.listed = someFingerprint(t)
	}
	for _, name := range rapid.SliceOfN(someName(), 0, 3).Draw(t, "others") {
		d.Others = append(d.Others, otherName{name, rapid.Bool().Draw(t, "is a folder")})
	}
	return d
}

func TestStatCacheRoundTripsAndAnyDamageEmptiesIt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		c := &statCache{}
		if rapid.Bool().Draw(rt, "known") {
			c.Root = someDir(rt, 3)
		}
		data, err := c.encode(cacheHeader{Workspace: "w", Boot: "b", Packs: []string{"p"}})
		if err != nil {
			rt.Fatal(err)
		}
		back, h, err := decodeCache(data)
		if err != nil || h.Workspace != "w" || !reflect.DeepEqual(back, c) {
			rt.Fatalf("%v %+v", err, h)
		}
		bad := bytes.Clone(data)
		bad[rapid.IntRange(0, len(bad)-1).Draw(rt, "at")] ^= byte(rapid.IntRange(1, 255).Draw(rt, "flip"))
		if _, _, err := decodeCache(bad); err == nil {
			rt.Fatal("damage went unnoticed")
		}
	})
}

// A cache that somebody has made, with the right checksum, makes no scan look for
// what is in no directory.
func TestNamesThatNoFolderHasMakeNoCache(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", ".", "..", "a/b", "/", "a\x00"} {
		for what, d := range map[string]*CachedDir{
			"entry": {Entries: []cachedEntry{{Name: name}}},
			"other": {Others: []otherName{{name: name}}},
		} {
			text, err := (&statCache{Root: d}).encode(cacheHeader{})
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := decodeCache(text); err == nil {
				t.Errorf("%s %q is taken", what, name)
			}
		}
	}
}
