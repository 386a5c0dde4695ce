//go:build unix

package scan_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hank/checkpoint/internal/checkpointtest"
	"hank/checkpoint/match"
	"hank/checkpoint/packdb"
	"hank/checkpoint/restore"
	"hank/checkpoint/scan"
)

// A scan counts each file that it reads, and none that it knows; a restore
// each that it writes. Looking at the count meanwhile is safe.
func TestProgressCountsWhatIsReadAndWritten(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	for name, text := range map[string]string{"a": "one", "sub/b": "four", "sub/c": strings.Repeat("x", packdb.InMemory+1)} {
		path := filepath.Join(r.Ws.Path(), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var read, written scan.Progress
	over := make(chan struct{})
	go func() {
		defer close(over)
		for files := int64(0); files < 3; files, _ = read.Done() {
		}
	}()
	snap, err := r.Store.Snapshot(t.Context(), scan.SnapshotRequest{Workspace: r.Ws, Selection: match.Selection{All: true}, Progress: &read})
	if err != nil {
		t.Fatal(err)
	}
	<-over
	if files, bytes := read.Done(); files != 3 || bytes != snap.Bytes {
		t.Errorf("read %d files, %d bytes; want 3, %d", files, bytes, snap.Bytes)
	}
	if _, err := r.Store.Commit(t.Context(), packdb.CommitRequest{Tree: snap.Tree, Message: "all\n"}); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(r.Ws.Path(), "sub/b")); err != nil {
		t.Fatal(err)
	}
	less, err := r.Store.Snapshot(t.Context(), scan.SnapshotRequest{Workspace: r.Ws, Selection: match.Selection{All: true}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := restore.Restore(t.Context(), restore.RestoreRequest{Store: r.Store, Workspace: r.Ws, From: less.Tree, To: snap.Tree, Progress: &written}); err != nil {
		t.Fatal(err)
	}
	if files, bytes := written.Done(); files != 1 || bytes != 4 {
		t.Errorf("wrote %d files, %d bytes; want 1, 4", files, bytes)
	}
}
