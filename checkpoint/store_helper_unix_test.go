//go:build unix

package checkpoint

import (
	"testing"

	"github.com/go-git/go-git/v5/plumbing/filemode"
	"golang.org/x/sys/unix"
)

type fsMode = filemode.FileMode

func mkfifo(t testing.TB, name string) {
	t.Helper()
	if err := unix.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
}
