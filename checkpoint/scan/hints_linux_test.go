package scan_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"hank/checkpoint/internal/testkit"
)

// Why checkpoints take no hints of what has changed: the watcher that every
// program may use is not told of stores through a shared mapping, not even when
// they are written back. See decision "No change hints".
func TestAWatcherIsNotToldOfMappedStores(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "mapped")
	testkit.Must(t, os.WriteFile(name, []byte("first"), 0o644))
	data := mapShared(t, name)
	defer unix.Munmap(data)
	watch, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	testkit.Must(t, err)
	defer unix.Close(watch)
	_, err = unix.InotifyAddWatch(watch, dir, unix.IN_ALL_EVENTS)
	testkit.Must(t, err)
	copy(data, "other")
	testkit.Must(t, unix.Msync(data, unix.MS_SYNC))
	var events [4096]byte
	if n, err := unix.Read(watch, events[:]); err != unix.EAGAIN {
		t.Errorf("the watcher was told of it (%d bytes, %v): hints may have become safe", n, err)
	}
	text, err := os.ReadFile(name)
	testkit.Must(t, err)
	if string(text) != "other" {
		t.Errorf("the file holds %q", text)
	}
	if n, err := unix.Read(watch, events[:]); err != nil || n == 0 {
		t.Errorf("the watcher is told of nothing at all: %d, %v", n, err)
	}
}
