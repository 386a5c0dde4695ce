package recovery

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hank/checkpoint"
	"hank/checkpoint/remote"
	"hank/checkpoint/repair"
	"hank/internal/race"
	"hank/internal/short"
	"hank/recovery/execution"
	"hank/recovery/githistory"
	"hank/state"
)

// Whichever pack is lost: what was lost is named once, the store is whole
// without it, for stock git as well, nothing that can be read is lost with it,
// and the execution goes on and can be exported.
func TestAStoreIsWholeWithoutALostPack(t *testing.T) {
	t.Parallel()
	race.Without(t)
	short.Skip(t)
	for name, b := range map[string]*box{"merged": boxed(t, 14), "not merged": unmerged(t, 12)} {
		t.Run(name, func(t *testing.T) { partsFromEachPack(t, b) })
	}
}

// unmerged is an execution with a pack for each checkpoint.
func unmerged(t testing.TB, n int) *box {
	t.Helper()
	root := t.TempDir()
	a := begin(t, root, n, CreateOptions{})
	a.x.Merger = nil
	ok(t, a.start())
	for a.x.State().Next() < n {
		ok(t, a.play(attempt{rig: a.x.State().Next()%4 == 1}))
	}
	ok(t, a.exit(""))
	return pack(t, root, told(t, a.close()))
}

func allRecords(s *state.State) (n int) {
	for _, r := range s.Runs {
		n += r.Len()
	}
	return n
}

func partsFromEachPack(t *testing.T, b *box) {
	b.t = t
	packs := must(filepath.Glob(filepath.Join(b.l.Store(), "objects", "pack", "*.pack")))(t)
	cut, parted := 0, 0
	for _, pack := range packs {
		for name, damage := range map[string]func(){
			"deleted": func() { remove(t, pack); remove(t, strings.TrimSuffix(pack, ".pack")+".idx") },
			"emptied": func() { put(t, pack, nil) },
			"flipped": func() {
				text := append([]byte(nil), b.files[pack]...)
				text[len(text)/2] ^= 8
				put(t, pack, text)
			},
		} {
			what := filepath.Base(pack) + " " + name
			b.reset()
			damage()
			x := reopen(t, b.root, func(o *execution.Options) { o.ReplaceStore = true })
			whole(t, x, what)
			for _, f := range x.Report.Findings {
				if strings.Contains(f.What, b.root) || strings.Count(f.What, "is damaged") > 1 || strings.Contains(f.What, "run `hank doctor`") {
					t.Errorf("%s: %s", what, f.What)
				}
			}
			if l := must(repair.FindMissing(context.Background(), x.Store.DB, known(x.State())))(t); len(l.Tips)+len(l.Unreferenced) > 0 {
				t.Errorf("%s: still to be parted from: %+v", what, l)
			} else {
				cut += len(l.Cuts)
			}
			lost := must(githistory.LostCheckpoints(x.State(), x.Store.Verifier(context.Background()).IsComplete))(t)
			parted += len(lost)
			if len(lost) > 0 {
				says(t, what, x.Report, string(lost[0].SHA[:12]))
			}
			ok(t, x.Close())
			fsck(t, b.l.Store(), what)
			x = reopen(t, b.root)
			if len(x.Report.Findings) > 0 {
				t.Errorf("%s: the next opening still finds %+v", what, x.Report.Findings)
			}
			b.goesOn(x, 14, what)
			must(Collect(context.Background(), x))(t)
			whole(t, x, what+", later")
			server := remote.Remote{Address: filepath.Join(t.TempDir(), "git"), Prefix: "x"}
			must(remote.Export(context.Background(), x.Store.DB, server))(t)
			head, records := x.Head(), allRecords(x.State())
			ok(t, x.Close())
			fsck(t, server.Address, what+", exported")
			if name != "deleted" {
				continue
			}
			y, _, err := Import(context.Background(), filepath.Join(t.TempDir(), "again"), server, execution.Options{FS: fast})
			ok(t, err)
			whole(t, y, what+", imported")
			if got := allRecords(y.State()); got != records {
				t.Errorf("%s: of %d records git alone knows %d", what, records, got)
			}
			if y.Head() == "" || !isWhole(y, head) {
				t.Errorf("%s: the newest checkpoint was not brought back", what)
			}
			ok(t, y.Close())
		}
	}
	if parted == 0 || cut == 0 && len(packs) > 8 {
		t.Errorf("nothing was lost: %d cuts, %d checkpoints", cut, parted)
	}
	t.Logf("%d packs, %d cuts, %d checkpoints lost", len(packs), cut, parted)
}

func known(s *state.State) (all []checkpoint.SHA) {
	for _, k := range githistory.KnownCheckpoints(s) {
		all = append(all, checkpoint.SHA(k.SHA))
	}
	return all
}

// What was lost and is put back leads to what came before again.
func TestALostPackCanBePutBack(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	b := unmerged(t, 12)
	for _, pack := range must(filepath.Glob(filepath.Join(b.l.Store(), "objects", "pack", "*.pack")))(t) {
		b.reset()
		idx := strings.TrimSuffix(pack, ".pack") + ".idx"
		remove(t, pack)
		remove(t, idx)
		ok(t, reopen(t, b.root, func(o *execution.Options) { o.ReplaceStore = true }).Close())
		ok(t, os.WriteFile(pack, b.files[pack], 0o600))
		ok(t, os.WriteFile(idx, b.files[idx], 0o600))
		x := reopen(t, b.root, func(o *execution.Options) { o.ReplaceStore = true })
		if ids := must(x.Store.Shallow())(t); len(ids) > 0 {
			t.Errorf("%s is there again, and branches still end at %v", filepath.Base(pack), ids)
		}
		if lost := must(githistory.LostCheckpoints(x.State(), x.Store.Verifier(context.Background()).IsComplete))(t); len(lost) > 0 {
			t.Errorf("%s is there again, and %v is lost", filepath.Base(pack), lost)
		}
		whole(t, x, filepath.Base(pack))
		ok(t, x.Close())
	}
}

func fsck(t testing.TB, dir, what string) {
	t.Helper()
	if out, err := exec.Command("git", "--git-dir="+dir, "fsck", "--strict", "--no-dangling").CombinedOutput(); err != nil {
		t.Errorf("%s: git fsck: %s", what, out)
	}
}
