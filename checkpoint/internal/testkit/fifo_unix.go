//go:build unix

package testkit

import (
	"testing"

	"github.com/go-git/go-git/v5/plumbing/filemode"
	"golang.org/x/sys/unix"
)

type FSMode = filemode.FileMode

func Mkfifo(t testing.TB, name string) {
	t.Helper()
	if err := unix.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
}
