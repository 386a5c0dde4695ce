package packdb

import (
	"bytes"
	"slices"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	gitobject "github.com/go-git/go-git/v5/plumbing/object"
)

// Whatever bytes a tree has: it is read as go-git reads it, or refused.
func FuzzParseTree(f *testing.F) {
	id := string(bytes.Repeat([]byte{7}, HashSize))
	for _, seed := range []string{"", "100644 a\x00" + id, "40000 d\x00" + id + "120000 l\x00" + id, "100644 a\x00" + id[:19],
		"100644 a", "100644", "x a\x00" + id, "100755 -\n \x00" + id, "100644 \x00" + id, "777777777777 a\x00" + id} {
		f.Add([]byte(seed))
	}
	for _, mode := range []string{"0", "40755", "100600", "100664", "100611", "120777", "160001"} {
		f.Add([]byte(mode + " a\x00" + id))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := ParseTree(data)
		o := &plumbing.MemoryObject{}
		o.SetType(plumbing.TreeObject)
		_, _ = o.Write(data)
		var tree gitobject.Tree
		theirs := tree.Decode(o)
		for i := range tree.Entries {
			if e := &tree.Entries[i]; e.Mode == filemode.Executable && i < len(entries) && entries[i].Mode == filemode.Regular {
				e.Mode = filemode.Regular // go-git asks for anybody's bit, git for the owner's
			}
		}
		if theirs == nil && err == nil && !slices.Equal(entries, tree.Entries) {
			t.Errorf("%q: %v, and go-git has %v", data, entries, tree.Entries)
		} else if theirs != nil && err == nil {
			t.Errorf("%q: go-git refuses it: %v", data, theirs)
		}
	})
}
