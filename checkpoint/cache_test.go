package checkpoint

import (
	"bytes"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"pgregory.net/rapid"
)

func someCache(t *rapid.T) *statCache {
	c := &statCache{dirs: map[string]*cachedDir{}}
	for _, path := range rapid.SliceOfNDistinct(rapid.StringN(0, 5, 20), 0, 4, rapid.ID).Draw(t, "dirs") {
		d := &cachedDir{device: rapid.Uint64().Draw(t, "device")}
		for range rapid.IntRange(0, 4).Draw(t, "files") {
			f := cachedFile{name: rapid.String().Draw(t, "name"), young: rapid.Bool().Draw(t, "young"), escaped: rapid.Bool().Draw(t, "escaped")}
			f.stat = fingerprint{rapid.Int64Min(0).Draw(t, "size"), rapid.Int64().Draw(t, "mtime"), rapid.Int64().Draw(t, "ctime"), rapid.Uint64().Draw(t, "inode"), rapid.Uint32().Draw(t, "mode")}
			copy(f.blob[:], rapid.SliceOfN(rapid.Byte(), 20, 20).Draw(t, "blob"))
			d.files = append(d.files, f)
		}
		c.dirs[path] = d
	}
	return c
}

func TestStatCacheRoundTripsAndAnyDamageEmptiesIt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		c := someCache(rt)
		data, err := c.encode(cacheHeader{Workspace: "w", Boot: "b", Packs: []string{"p"}})
		if err != nil {
			rt.Fatal(err)
		}
		back, h, err := decodeCache(data)
		if err != nil || h.Workspace != "w" || len(back.dirs) != len(c.dirs) {
			rt.Fatalf("%v %+v", err, h)
		}
		for path, d := range c.dirs {
			got := back.dirs[path]
			if got == nil || got.device != d.device || len(got.files) != len(d.files) {
				rt.Fatalf("%q: %+v", path, got)
			}
			for i := range d.files {
				if got.files[i] != d.files[i] {
					rt.Fatalf("%+v, want %+v", got.files[i], d.files[i])
				}
			}
		}
		bad := bytes.Clone(data)
		bad[rapid.IntRange(0, len(bad)-1).Draw(rt, "at")] ^= byte(rapid.IntRange(1, 255).Draw(rt, "flip"))
		if _, _, err := decodeCache(bad); err == nil {
			rt.Fatal("damage went unnoticed")
		}
	})
}

func FuzzDecodeCache(f *testing.F) {
	data, err := (&statCache{dirs: map[string]*cachedDir{"d/": {files: []cachedFile{{name: "f", blob: plumbing.NewHash("aa")}}}}}).encode(cacheHeader{Boot: "b"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(_ *testing.T, data []byte) { _, _, _ = decodeCache(data) })
}
