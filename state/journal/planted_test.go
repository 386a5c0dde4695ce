package journal

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"hank/internal/vfs"
)

// TestAPlantedNameIsNotRead puts something that is no file in the journal's
// place: it is no segment. A FIFO would hang every reader; a link stands for all
// of them here.
func TestAPlantedNameIsNotRead(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	j, err := Create(vfs.OS, folder, 0)
	must(t, err)
	must(t, j.Append(event(1)))
	must(t, j.Close())
	elsewhere := filepath.Join(t.TempDir(), "journal")
	must(t, os.Rename(filepath.Join(folder, current), elsewhere))
	must(t, os.Symlink(elsewhere, filepath.Join(folder, current)))
	if _, err := Inspect(vfs.OS, folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("inspected: %v", err)
	}
	if err := Read(vfs.OS, folder, 1, func(Event) error { return nil }); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("read: %v", err)
	}
	if j, _, err := Open(vfs.OS, folder, noQuarantine(t)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("opened: %v, %v", j, err)
	}
}
