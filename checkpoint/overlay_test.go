package checkpoint

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing/filemode"
)

func TestAnOverlayAddsAndNeverReplaces(t *testing.T) {
	t.Parallel()
	s, err := Init(Options{Dir: t.TempDir() + "/store"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	tree := func(files ...string) SHA {
		t.Helper()
		var all []TreeFile
		for _, f := range files {
			name, text, _ := strings.Cut(f, "=")
			all = append(all, TreeFile{Path: name, Mode: filemode.Regular, Open: func() (io.ReadCloser, int64, error) {
				return io.NopCloser(strings.NewReader(text)), int64(len(text)), nil
			}})
		}
		sha, err := s.AddTree(context.Background(), all)
		if err != nil {
			t.Fatal(err)
		}
		return sha
	}
	all := func(string) bool { return true }
	for _, c := range []struct {
		what             string
		base, over, want SHA
		take             func(string) bool
	}{
		{"beside", tree("a=1"), tree("b=2", "d/e/f=3"), tree("a=1", "b=2", "d/e/f=3"), all},
		{"not over what is there", tree("a=1", "d/x=1"), tree("a=2", "d/x=2", "d/y=2"), tree("a=1", "d/x=1", "d/y=2"), all},
		{"a file where base has a folder", tree("a/b=1"), tree("a=2"), tree("a/b=1"), all},
		{"a folder where base has a file", tree("a=1"), tree("a/b=2"), tree("a=1"), all},
		{"what is wanted only", tree("a=1"), tree("b=2", "d/c=2", "d/e=2"), tree("a=1", "d/c=2"), func(p string) bool { return p == "d/c" }},
		{"nothing wanted leaves no empty folder", tree("a=1"), tree("d/c=2"), tree("a=1"), func(string) bool { return false }},
		{"names that are escaped", tree("a=1"), tree("GIT~1/x=2"), tree("a=1", "GIT~1/x=2"), func(p string) bool { return p == "GIT~1/x" }},
		{"alike", tree("a=1"), tree("a=1"), tree("a=1"), all},
	} {
		if got, err := Overlay(s.DB, c.base, c.over, c.take); err != nil || got != c.want {
			t.Errorf("%s: %s (%v), want %s", c.what, got, err, c.want)
		}
	}
	if _, err := Overlay(s.DB, tree("a=1"), "0123456789012345678901234567890123456789", all); err == nil {
		t.Error("a tree that is not there was put over another")
	}
}
