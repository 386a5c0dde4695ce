//go:build unix

package sentinel

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func read(t *testing.T, parts ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAnswersAreAppendedAndReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := placeOf(dir, "/nowhere", "notes/a/log.md")
	for _, text := range []string{"one", "two"} {
		if err := log.add(text, "\n---\n"); err != nil {
			t.Fatal(err)
		}
		if err := (placeOf("/nowhere", dir, "last.md")).replace(text); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(t, dir, "notes/a/log.md"); got != "one\n---\ntwo" {
		t.Errorf("%q", got)
	}
	if got := read(t, dir, "last.md"); got != "two" {
		t.Errorf("%q", got)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Error("left over:", left)
	}
}

// Whatever the agent puts in the way, nothing is written outside of the workspace, nothing
// waits, and the error names the file.
func TestNothingIsWrittenOutsideOrWaitedFor(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	victim := filepath.Join(outside, "victim")
	if err := os.WriteFile(victim, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	links := map[string]string{"link.md": victim, "dir": outside, "up": "../" + filepath.Base(outside)}
	for name, to := range links {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Skip(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "folder/x"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"./link.md", "dir/new", "up/victim", "./pipe", "./folder"} {
		p := placeOf(dir, "/nowhere", name)
		if err := p.add("x", ""); err == nil || !strings.Contains(err.Error(), p.name) {
			t.Errorf("%s is appended to: %v", name, err)
		}
		if err := p.replace("x"); err == nil {
			t.Errorf("%s is replaced", name)
		}
	}
	if got := read(t, victim); got != "mine" {
		t.Errorf("%q", got)
	}
	if list, _ := os.ReadDir(outside); len(list) != 1 {
		t.Error("something was made outside:", list)
	}
	if list, _ := os.ReadDir(dir); len(list) != len(links)+2 {
		t.Error("left over:", list)
	}
}
