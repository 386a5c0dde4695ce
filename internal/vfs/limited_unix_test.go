//go:build unix

package vfs

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestOnlyRegularFilesOfASaneSizeAreReadWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.WriteFile(at("right"), []byte("12345678"), 0o600),
		os.WriteFile(at("large"), []byte("123456789"), 0o600),
		os.Symlink("right", at("link")),
		os.Symlink("/dev/zero", at("endless")),
		os.Mkdir(at("folder"), 0o700),
		syscall.Mkfifo(at("fifo"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"right", "link"} {
		if text, err := ReadLimited(at(name), 8); err != nil || string(text) != "12345678" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	for _, name := range []string{"folder", "fifo", "endless"} {
		if text, err := ReadLimited(at(name), 8); !errors.Is(err, ErrNotRegular) {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if text, err := ReadLimited(at("large"), 8); err == nil || errors.Is(err, ErrNotRegular) {
		t.Errorf("large: %q, %v", text, err)
	}
	if text, err := ReadLimited(at("none"), 8); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("none: %q, %v", text, err)
	}
}
