package recovery

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"hank/internal/short"
	"hank/recovery/execution"
	"hank/recovery/lock"
)

// Of two executions whose workspaces lie in one another the second one is held
// off, whichever it is; what is gone, and readers, hold nobody off.
func TestNestedWorkspacesAreHeldApart(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	base := t.TempDir()
	outer, inner := filepath.Join(base, "w"), filepath.Join(base, "w", "a", "b")
	ok(t, os.MkdirAll(inner, 0o755))
	link := filepath.Join(base, "link")
	ok(t, os.Symlink(inner, link))
	open := func(name, workspace string) (*execution.Execution, error) {
		return Create(context.Background(), filepath.Join(base, name), CreateOptions{Options: execution.Options{FS: fast}, Workspace: workspace})
	}
	for _, order := range [][2]string{{outer, inner}, {inner, outer}, {outer, link}, {link, outer}, {inner, link}} {
		first := must(open("first", order[0]))(t)
		_, err := open("second", order[1])
		var held *lock.HeldError
		if !errors.As(err, &held) {
			t.Errorf("%s is at work, and %s is not held off: %v", order[0], order[1], err)
		}
		if _, err := os.Lstat(filepath.Join(base, "second")); !errors.Is(err, os.ErrNotExist) {
			t.Error("the second one has left something")
		}
		ok(t, first.Close())
		remove(t, first.Layout.Root)
		second, err := open("second", order[1])
		ok(t, err)
		ok(t, second.Close())
		remove(t, second.Layout.Root)
	}
	// Side by side they do not meet.
	ok(t, os.Mkdir(filepath.Join(outer, "c"), 0o755))
	one := must(open("one", filepath.Join(outer, "c")))(t)
	two := must(open("two", inner))(t)
	ok(t, errors.Join(one.Close(), two.Close()))
}

// A creation that fails at any step leaves nothing, as long as the disk can be
// written again.
func TestAFailedCreationLeavesNothing(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	for name, o := range map[string]CreateOptions{
		"no UTF-8":                {Output: "out\xff"},
		"a link that cannot be":   {Data: string(make([]byte, 10))},
		"a file as the workspace": {Workspace: filepath.Join(base, "file")},
		"in a file":               {Workspace: filepath.Join(base, "file", "ws")},
	} {
		put(t, filepath.Join(base, "file"), nil)
		root := filepath.Join(base, "new", "root")
		o.FS = fast
		if x, err := Create(context.Background(), root, o); err == nil {
			t.Errorf("%s: it was made", name)
			ok(t, x.Close())
		}
		if _, err := os.Lstat(filepath.Join(base, "new")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: something is left", name)
			remove(t, filepath.Join(base, "new"))
		}
	}
}
