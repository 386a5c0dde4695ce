package flock

import (
	"os"
	"testing"
)

func TestTheKernelTellsWhoHasTheExclusiveLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	holder, other := opened(t, dir), opened(t, dir)
	want := func(what string, pid int) {
		t.Helper()
		if got := Owner(other); got != pid {
			t.Errorf("%s: process %d, not %d", what, got, pid)
		}
	}
	want("nobody", 0)
	if err := Shared(holder); err != nil {
		t.Fatal(err)
	}
	want("a shared lock", 0)
	if err := Exclusive(holder); err != nil {
		t.Fatal(err)
	}
	want("an exclusive lock", os.Getpid())
	if got := Owner(opened(t, t.TempDir())); got != 0 {
		t.Errorf("of another folder: process %d", got)
	}
	if err := Close(holder); err != nil {
		t.Fatal(err)
	}
	want("given back", 0)
}
