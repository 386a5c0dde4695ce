package recovery

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hank/checkpoint"
	"hank/internal/short"
	"hank/recovery/execution"
	"hank/recovery/finding"
)

// noise is text that cannot be made smaller.
func noise(n int) string {
	var seed [32]byte
	b := make([]byte, n)
	_, _ = rand.NewChaCha8(seed).Read(b) // never fails
	return string(b)
}

// A checkpoint for which there is no room is refused, whether that shows before
// the scan or in it; nothing of it is left over, and with room it is made.
func TestThereIsNoCheckpointWithoutRoom(t *testing.T) {
	t.Parallel()
	const gb = 1_000_000_000
	most := func(n int64) *int64 { return &n }
	for name, c := range map[string]struct {
		cap         *int64
		free, total int64
		refused     bool
	}{
		"no cap":                      {cap: most(0), free: 100 * gb, total: 1000 * gb},
		"the default":                 {free: 100 * gb, total: 1000 * gb},
		"a cap that is reached":       {cap: most(1), free: 100 * gb, total: 1000 * gb, refused: true},
		"a cap in the middle":         {cap: most(500_000), free: 100 * gb, total: 1000 * gb, refused: true},
		"a cap with room":             {cap: most(2_000_000), free: 100 * gb, total: 1000 * gb},
		"a disk that is nearly full":  {cap: most(0), free: gb, total: 1000 * gb, refused: true},
		"a disk that would be":        {cap: most(0), free: gb + 500_000, total: 1000 * gb, refused: true},
		"a small disk":                {cap: most(0), free: gb / 4, total: 10 * gb},
		"a small disk, nearly full":   {cap: most(0), free: gb / 5, total: 10 * gb, refused: true},
		"a disk that says nothing":    {cap: most(0)},
		"a cap on a disk that is new": {cap: most(500_000), refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			history(t, root, 14, CreateOptions{}).close()
			x := reopen(t, root, func(o *execution.Options) {
				o.CheckpointCap = c.cap
				o.Free = func(string) (int64, int64, error) { return c.free, c.total, nil }
			})
			ok(t, os.WriteFile(filepath.Join(x.Layout.Workspace, "noise"), []byte(noise(1_000_000)), 0o600))
			_, err := x.Snapshot(t.Context(), checkpoint.Selection{All: true}, x.Head())
			var decision *finding.DecisionError
			if refused := errors.As(err, &decision); refused != c.refused || err != nil && !refused {
				t.Fatalf("refused: %v, want %v", err, c.refused)
			}
			if left := must(filepath.Glob(filepath.Join(x.Layout.Store(), "objects", "pack", "tmp_*")))(t); c.refused && len(left) > 0 {
				t.Errorf("left over: %v", left)
			}
			if c.refused { // the limit is gone with the scan that it was for
				x.Opts.Free = func(string) (int64, int64, error) { return 100 * gb, 1000 * gb, nil }
				x.Opts.CheckpointCap = most(0)
				snap := must(x.Snapshot(t.Context(), checkpoint.Selection{All: true}, x.Head()))(t)
				must(x.Preserve(t.Context(), snap, x.RecoveryBranch(), x.Head(), "test"))(t)
			}
			ok(t, x.Close())
		})
	}
}

// A cap stays with the execution until another one is given, and readers know it.
func TestACapIsKeptWithTheExecution(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	history(t, root, 14, CreateOptions{}).close()
	if w := must(Read(root))(t).Weigh(); w.Cap != execution.DefaultCap || w.Bytes == 0 || w.Heavy() {
		t.Errorf("%+v, want the default", w)
	}
	bytes := must(Read(root))(t).Weigh().Bytes
	for _, c := range []struct {
		most  int64
		heavy bool
	}{{bytes, true}, {bytes * 10 / 8, true}, {bytes*10/8 + 10, false}, {0, false}} {
		x := reopen(t, root, func(o *execution.Options) { o.CheckpointCap = &c.most })
		ok(t, x.KeepCap())
		ok(t, x.Close())
		ok(t, reopen(t, root).Close())
		v := must(Read(root))(t)
		if w := v.Weigh(); w.Cap != c.most || w.Heavy() != c.heavy {
			t.Errorf("cap %d: %+v, findings %v", c.most, w, v.Report.Findings)
		}
	}
}

// What counts is what the packs take on the disk, with their indexes. A scan
// that finds nothing new has room at the cap, even where it has to read a large
// file again; what is new has none, and the workspace stays as it is. Commits and the frozen
// copy of the hank need none.
func TestTheCapIsWhatThePacksTakeOnTheDisk(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	root := t.TempDir()
	history(t, root, 14, CreateOptions{}).close()
	most := int64(3_600_000)
	x := reopen(t, root, func(o *execution.Options) { o.CheckpointCap = &most })
	onDisk := func() (sum int64) {
		ok(t, filepath.WalkDir(filepath.Join(x.Layout.Store(), "objects"), func(_ string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				var fi fs.FileInfo
				fi, err = e.Info()
				sum += fi.Size()
			}
			return err
		}))
		return sum
	}
	all := checkpoint.Selection{All: true}
	large := filepath.Join(x.Layout.Workspace, "large")
	ok(t, os.WriteFile(large, []byte(noise(3_000_000)), 0o600))
	files, bulk := 0, noise(600)
	for ; ; files++ { // small ones, of which the indexes are a good part
		snap, err := x.Snapshot(t.Context(), all, x.Head())
		if err != nil {
			var full *finding.DecisionError
			if !errors.As(err, &full) || !full.NoRoom {
				t.Fatal(err)
			}
			break
		}
		must(x.Preserve(t.Context(), snap, x.RecoveryBranch(), x.Head(), "test"))(t)
		if got, want := x.Store.PackBytes(), onDisk(); got != want {
			t.Fatalf("it counts %d bytes of %d", got, want)
		}
		for i := range 250 {
			ok(t, os.WriteFile(filepath.Join(x.Layout.Workspace, fmt.Sprintf("%d-%d", files, i)), fmt.Appendf(nil, "%d %d %s", files, i, bulk), 0o600))
		}
	}
	if size := onDisk(); size > most || size < most*8/10 || files < 2 {
		t.Errorf("it stopped at %d bytes of %d, after %d times", size, most, files)
	}
	for i := range 250 {
		ok(t, os.Remove(filepath.Join(x.Layout.Workspace, fmt.Sprintf("%d-%d", files-1, i))))
	}
	small := x.Store.PackBytes()
	x.Opts.CheckpointCap = &small
	ok(t, os.Chtimes(large, time.Time{}, time.Now().Add(-time.Hour)))
	snap := must(x.Snapshot(t.Context(), all, x.Head()))(t)
	must(x.Preserve(t.Context(), snap, x.RecoveryBranch(), x.Head(), "test"))(t)
	program := must(x.LoadProgram(x.State().Program))(t)
	program.Name = "another"
	must(x.Freeze(t.Context(), program))(t) // whatever the cap
	ok(t, os.WriteFile(large, []byte(noise(3_000_001)), 0o600))
	_, err := x.MoveTree(t.Context(), execution.Move{Kind: "rollback", To: x.Head(), Tracked: all})
	var full *finding.DecisionError
	if !errors.As(err, &full) || !strings.Contains(err.Error(), "nothing was touched") || !strings.Contains(err.Error(), "the same command with --checkpoint-cap") {
		t.Errorf("%v", err)
	}
	if fi := must(os.Stat(large))(t); fi.Size() != 3_000_001 || x.State().Intent != nil {
		t.Error("the workspace was touched")
	}
	ok(t, x.Close())
}

// What agents keep beside the checkpoints counts in the cap.
func TestWhatAgentsKeepCountsInTheCap(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	history(t, root, 14, CreateOptions{}).close()
	x := reopen(t, root)
	most := x.Store.PackBytes() + x.Layout.AgentBytes() + 1000
	x.Opts.CheckpointCap = &most
	ok(t, x.CheckRoom())
	ok(t, os.MkdirAll(x.Layout.Homes(), 0o700))
	ok(t, os.WriteFile(filepath.Join(x.Layout.Homes(), "session"), make([]byte, 1000), 0o600))
	var full *finding.DecisionError
	if err := x.CheckRoom(); !errors.As(err, &full) || !full.NoRoom || !strings.Contains(err.Error(), "homes and temporary files of agents") {
		t.Errorf("%v", err)
	}
	ok(t, x.Close())
}
