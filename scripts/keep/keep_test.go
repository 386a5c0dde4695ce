package keep_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hank/scripts/keep"
)

// TestWhatNamesTheMachineIsNotKept: files and directories are copied by their names, what was
// there before is gone, and a file with a path of this machine is refused by its name.
func TestWhatNamesTheMachineIsNotKept(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "kept")
	put := func(name, text string) {
		file := filepath.Join(from, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("one", "1")
	put("two/deep/file", "2")
	put("three", "3")
	for range 2 { // the second time over the first
		if err := keep.Files(from, to, "one", "two"); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(to, "two/deep/file")); err != nil || string(text) != "2" {
		t.Errorf("%q %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(to, "three")); err == nil {
		t.Error("three was not named, and is there")
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	put("two/named", "in "+here)
	if err := keep.Files(from, to, "one", "two"); err == nil || !strings.Contains(err.Error(), "two/named") {
		t.Errorf("%v", err)
	}
}
