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

// TestAPlantedCurrentSegmentIsMissing puts something else in the place of the segment that is
// written to, behind a closed one: what the closed one has stays readable.
func TestAPlantedCurrentSegmentIsMissing(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(path string) error{
		"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"a link":      func(path string) error { return os.Symlink("/nowhere", path) },
	} {
		folder := t.TempDir()
		j, err := Create(vfs.OS, folder, 0)
		must(t, err)
		must(t, j.Append(event(1)))
		must(t, j.NewSegment(event(2)))
		must(t, j.Close())
		must(t, os.Remove(filepath.Join(folder, current)))
		must(t, plant(filepath.Join(folder, current)))
		found, err := Inspect(vfs.OS, folder)
		if err != nil || found.Whole() || found.Last != 1 {
			t.Errorf("%s: inspected: %+v, %v", name, found, err)
		}
		var read []Event
		err = Read(vfs.OS, folder, 1, func(e Event) error { read = append(read, e); return nil })
		if err != nil || !isStory(read, 1, 1) {
			t.Errorf("%s: read %v, %v", name, read, err)
		}
	}
}
