package vfs

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"
)

// That it syncs is seen by scripts/powerfail alone; here, that it says what it
// cannot sync.
func TestAVolumeThatIsNotThereIsNotSynced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := SyncVolume(dir); err != nil {
		t.Error(err)
	}
	if err := SyncVolume(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
