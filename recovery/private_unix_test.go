//go:build unix

package recovery

import (
	"path/filepath"
	"syscall"
	"testing"

	"hank/recovery/execution"
)

// Ignore rules that are no regular file hold nothing up.
func TestAFIFOInPlaceOfIgnoreRulesDoesNotHang(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ok(t, syscall.Mkfifo(filepath.Join(dir, ".gitignore"), 0o600))
	if got := execution.WouldBePrivate(dir); len(got) > 0 {
		t.Errorf("%q", got)
	}
}
