package recovery

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"hank/checkpoint"
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
			x := reopen(t, root, func(o *Options) {
				o.CheckpointCap = c.cap
				o.Free = func(string) (int64, int64, error) { return c.free, c.total, nil }
			})
			ok(t, os.WriteFile(filepath.Join(x.Layout.Workspace, "noise"), []byte(noise(1_000_000)), 0o600))
			_, err := x.Snapshot(t.Context(), checkpoint.Selection{All: true}, x.Head())
			var decision *DecisionError
			if refused := errors.As(err, &decision); refused != c.refused || err != nil && !refused {
				t.Fatalf("refused: %v, want %v", err, c.refused)
			}
			if left := must(filepath.Glob(filepath.Join(x.Layout.Store(), "objects", "pack", "tmp_*")))(t); c.refused && len(left) > 0 {
				t.Errorf("left over: %v", left)
			}
			if c.refused { // the limit is gone with the scan that it was for
				x.opts.Free = func(string) (int64, int64, error) { return 100 * gb, 1000 * gb, nil }
				x.meta.CheckpointCap = most(0)
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
	if w := must(Read(root))(t).Weigh(); w.Cap != DefaultCap || w.Bytes == 0 || w.Heavy() {
		t.Errorf("%+v, want the default", w)
	}
	bytes := must(Read(root))(t).Weigh().Bytes
	for _, c := range []struct {
		most  int64
		heavy bool
	}{{bytes, true}, {bytes * 10 / 8, true}, {bytes*10/8 + 10, false}, {0, false}} {
		ok(t, reopen(t, root, func(o *Options) { o.CheckpointCap = &c.most }).Close())
		ok(t, reopen(t, root).Close())
		v := must(Read(root))(t)
		if w := v.Weigh(); w.Cap != c.most || w.Heavy() != c.heavy || v.Report.Has(Warning) != c.heavy {
			t.Errorf("cap %d: %+v, findings %v", c.most, w, v.Report.Findings)
		}
	}
}
