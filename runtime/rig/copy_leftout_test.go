//go:build unix

package rig

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"hank/runtime/internal/testkit"
)

// What is left out of every checkpoint is neither replaced nor deleted by a copy, in
// whatever way it is in the place of what is copied.
func TestACopyLeavesWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		leftOut []string          // with the content "mine"
		now     map[string]string // where it is afterwards
	}{
		"beside":             {[]string{"lib/.env", "lib/deep/.env"}, nil},
		"in a gone folder":   {[]string{"lib/gone/too/.env"}, nil},
		"in a file's place":  {[]string{"lib/a.txt/.env", "lib/a.txt/x/.env"}, map[string]string{"lib/a.txt/.env": "lib/.env.hank-kept-1", "lib/a.txt/x/.env": "lib/.env.hank-kept-2"}},
		"in its place":       {[]string{"lib/a.txt"}, map[string]string{"lib/a.txt": "lib/a.txt.hank-kept-1"}},
		"in a folder's":      {[]string{"lib/deep"}, map[string]string{"lib/deep": "lib/deep.hank-kept-1"}},
		"the target":         {[]string{"lib"}, map[string]string{"lib": "lib.hank-kept-1"}},
		"taken":              {[]string{"lib", "lib.hank-kept-1"}, map[string]string{"lib": "lib.hank-kept-2"}},
		"a long name":        {[]string{"lib/" + strings.Repeat("n", 250) + "/x"}, nil},
		"another place only": {[]string{"other/.env"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "["+copyKit+"]")
			if c.leftOut[0] != "lib" {
				testkit.Write(t, b.path("lib/old/x"), "old")
				testkit.Write(t, b.path("lib/empty/x"), "old")
			}
			for _, out := range c.leftOut {
				testkit.Write(t, b.path(out), "mine")
			}
			listed := c.leftOut
			b.LeftOut = func() []string { return listed }
			b.Aside = func(path, now string) error {
				if c.now[path] != now || testkit.Read(t, b.path(path)) != "mine" || testkit.Exists(b.path(now)) {
					t.Errorf("%q gets the name %q", path, now)
				}
				listed = append(listed, now)
				return nil
			}
			for range 2 {
				if f := b.Run(t.Context()); f != nil {
					t.Fatal(f)
				}
				for _, out := range c.leftOut {
					at := out
					if now, moved := c.now[out]; moved {
						at = now
					}
					if got := testkit.Read(t, b.path(at)); got != "mine" {
						t.Errorf("%s has %q", at, got)
					}
				}
				if testkit.Read(t, b.path("lib/a.txt")) != "new a\n" || testkit.Read(t, b.path("lib/deep/er/x.json")) != "{}" || testkit.Exists(b.path("lib/old")) || testkit.Exists(b.path("lib/empty/x")) {
					t.Errorf("the target is\n%s", tree(t, b.path("lib")))
				}
				if testkit.Exists(b.path(PlaceNew)) || testkit.Exists(b.path(PlaceOld)) {
					t.Error("left behind")
				}
				b.Aside = func(path, _ string) error { return errors.New(path + " was moved again") }
			}
		})
	}
}

// A file copied over one that is left out replaces it only where it is the same.
func TestAFileCopyLeavesWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	for content, aside := range map[string]bool{"#!/bin/sh\n": false, "mine": true} {
		b := newBench(t, `[{"type": "copy", "copy": {"from": "run.sh", "to": "run.sh"}}]`)
		testkit.Write(t, b.path("run.sh"), content)
		b.LeftOut = func() []string { return []string{"run.sh"} }
		moved := false
		b.Aside = func(string, string) error { moved = true; return nil }
		if f := b.Run(t.Context()); f != nil {
			t.Fatal(f)
		}
		if moved != aside || aside && testkit.Read(t, b.path("run.sh.hank-kept-1")) != content || testkit.Read(t, b.path("run.sh")) != "#!/bin/sh\n" {
			t.Errorf("%q: set aside %v\n%s", content, moved, tree(t, b.Workspace))
		}
	}
	b := newBench(t, `[{"type": "copy", "copy": {"from": "run.sh", "to": "d"}}]`)
	testkit.Write(t, b.path("d/x/.env"), "mine")
	b.LeftOut, b.Aside = func() []string { return []string{"d/x/.env"} }, func(string, string) error { return fs.ErrPermission }
	if f := b.Run(t.Context()); f == nil || testkit.Read(t, b.path("d/x/.env")) != "mine" {
		t.Fatal("what could not be listed was replaced")
	}
	b.Aside = func(string, string) error { return nil }
	if f := b.Run(t.Context()); f != nil || testkit.Read(t, b.path(".env.hank-kept-1")) != "mine" {
		t.Fatal(f)
	}
	if fi, err := os.Lstat(b.path("d")); err != nil || !fi.Mode().IsRegular() {
		t.Error(fi, err)
	}
}
