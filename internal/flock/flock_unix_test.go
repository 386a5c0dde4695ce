//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package flock

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func opened(t *testing.T, dir string) *os.File {
	t.Helper()
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestWhoHasTheLockKeepsOthersOut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, c := range []struct {
		name          string
		first, second func(*os.File) error
		want          error
	}{
		{"exclusive, exclusive", Exclusive, Exclusive, ErrHeld},
		{"exclusive, shared", Exclusive, Shared, ErrHeld},
		{"shared, exclusive", Shared, Exclusive, ErrHeld},
		{"shared, shared", Shared, Shared, nil},
	} {
		a, b := opened(t, dir), opened(t, dir)
		if err := c.first(a); err != nil {
			t.Fatal(c.name, err)
		}
		if err := c.second(b); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
		if err := errors.Join(Close(a), Close(b)); err != nil {
			t.Error(c.name, err)
		}
	}
}

// A child has the descriptors of its parent from its birth until it executes
// its program; a copy stands for such a child here.
func TestALockThatWasGivenBackIsFreeAlthoughACopyIsOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := opened(t, dir), opened(t, dir)
	if err := Exclusive(a); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.FcntlInt(a.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := Close(a); err != nil {
		t.Fatal(err)
	}
	if err := Exclusive(b); err != nil {
		t.Error(err)
	}
}
