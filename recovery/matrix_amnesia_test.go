package recovery

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"hank/internal/race"
	"hank/internal/short"
	"hank/internal/vfs"
	"hank/internal/vfs/vfstest"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/githistory"
	"hank/recovery/layout"
	"hank/recovery/lock"
	"hank/state"
)

// The memories of an execution, and what explains or speeds up. Their order is
// that of the bits of a set.
const (
	memState = iota
	memBackup
	memJournal
	memCosts
	memStatCache
	memLock
	memMeta
	memHEAD
	memPack
	memRef
	memories
)

var memoryNames = [memories]string{"state.json", "state.json.bak", "journal", "cost index", "stat cache", "lock", "meta", "HEAD", "pack", "reference"}

// damage is what becomes of a file.
type damage int

const (
	deleted damage = iota
	truncated
	zeroed
	flipped
	older      // a copy from the middle of the execution's life
	folder     // a directory has its name
	unreadable // the disk fails when it is read
	damages
)

func (d damage) String() string {
	return [damages]string{"deleted", "truncated", "zeroed", "flipped", "an older copy", "a folder instead", "unreadable"}[d]
}

// amnesic is an execution in memory that can lose its memories.
type amnesic struct {
	t     testing.TB
	l     layout.Layout
	whole *vfstest.Mem
	now   map[string][]byte // its files
	old   map[string][]byte // the same in the middle of its life, the lock file among them
	want  string
	state *state.State
	costs string
	packs []string
	refs  []string
}

// forgetful plays an execution: a failure with its retry, a loop, an ignored
// failure, a skip, three runs, a rollback, the end.
func forgetful(t testing.TB, root string) *amnesic {
	t.Helper()
	a := begin(t, root, 24, CreateOptions{})
	ok(t, a.start())
	ok(t, a.upto(5))
	a.settle()
	old := pack(t, root, "")
	ok(t, a.play(attempt{end: state.Failed, fail: "once"}))
	ok(t, a.retry())
	ok(t, a.upto(9))
	ok(t, a.play(attempt{end: state.Skipped}))
	ok(t, a.play(attempt{end: state.Failed, fail: "for good"}))
	ok(t, a.exit(state.EndCodonFailed))
	ok(t, a.start())
	ok(t, a.play(attempt{end: state.Failed, fail: "never mind", on: true}))
	ok(t, a.upto(18))
	ok(t, a.exit(state.EndStopped))
	ok(t, a.back(14))
	ok(t, a.start())
	ok(t, a.upto(24))
	ok(t, a.exit(""))
	s := a.close()
	now := pack(t, root, told(t, s))
	m := &amnesic{t: t, l: now.l, whole: vfstest.NewMem(), now: now.files, old: old.files, want: now.want, state: s}
	m.now[m.l.Lock()] = m.old[m.l.Lock()] // as after a kill
	// No opening reads the cost index: what matters here is that none does. Its own
	// damages are attacked where it is.
	m.costs = filepath.Join(m.l.CostIndex(), "db", "000001.vlog")
	now.dirs = append(now.dirs, filepath.Dir(m.costs))
	m.now[m.costs] = []byte("totals")
	for _, dir := range now.dirs {
		ok(t, vfs.MkdirAll(m.whole, dir, 0o700))
	}
	for path, text := range m.now {
		ok(t, vfs.ReplaceFile(m.whole, path, text, 0o600, vfs.Durable))
		rel, _ := filepath.Rel(m.l.Store(), path)
		switch {
		case strings.HasSuffix(path, ".pack"):
			m.packs = append(m.packs, path)
		case strings.HasPrefix(rel, filepath.Join("refs", "heads")):
			m.refs = append(m.refs, path)
		}
	}
	slices.Sort(m.packs)
	slices.Sort(m.refs)
	return m
}

// loss is what becomes of some memories, and what that means.
type loss struct {
	of   map[int]damage
	pack string
	ref  string
	rng  *rand.Rand
}

func (m *amnesic) lose(rng *rand.Rand, of map[int]damage) *loss {
	return &loss{of, m.packs[rng.IntN(len(m.packs))], m.refs[rng.IntN(len(m.refs))], rng}
}

func (d *loss) String() string {
	var all []string
	for _, i := range slices.Sorted(maps.Keys(d.of)) {
		name := memoryNames[i]
		switch i {
		case memPack:
			name += " " + filepath.Base(d.pack)
		case memRef:
			name += " " + filepath.Base(d.ref)
		}
		all = append(all, name+": "+d.of[i].String())
	}
	return strings.Join(all, ", ")
}

func (d *loss) has(i int) bool { _, lost := d.of[i]; return lost }

// paths are the files of a memory.
func (m *amnesic) paths(i int, d *loss) []string {
	switch i {
	case memState:
		return []string{m.l.State()}
	case memBackup:
		return []string{m.l.State() + ".bak"}
	case memJournal:
		var all []string
		for path := range m.now {
			if filepath.Dir(path) == m.l.Events() {
				all = append(all, path)
			}
		}
		slices.Sort(all)
		return all
	case memCosts:
		return []string{m.costs}
	case memStatCache:
		return []string{m.l.StatCache()}
	case memLock:
		return []string{m.l.Lock()}
	case memMeta:
		return []string{m.l.Meta()}
	case memHEAD:
		return []string{filepath.Join(m.l.Store(), "HEAD")}
	case memPack:
		return []string{d.pack, strings.TrimSuffix(d.pack, ".pack") + ".idx"}
	}
	return []string{d.ref}
}

// inflict returns the execution without what is lost, what is broken of it, by
// content, and the file system to open it with.
func (m *amnesic) inflict(d *loss) (image *vfstest.Mem, broken [][]byte, fsys vfs.FS) {
	image = m.whole.Crash(d.rng, 100)
	fail := map[string]bool{}
	for _, i := range slices.Sorted(maps.Keys(d.of)) {
		paths := m.paths(i, d)
		how := d.of[i]
		if i == memPack && how > deleted && how != older {
			paths = paths[:1]
		}
		for _, path := range paths {
			text, there := m.now[path]
			if !there {
				continue
			}
			text = slices.Clone(text)
			switch how {
			case truncated:
				text = text[:d.rng.IntN(len(text))]
			case zeroed:
				clear(text)
			case flipped:
				text[d.rng.IntN(len(text))] ^= 1 << d.rng.IntN(8)
			case older:
				before, was := m.old[path]
				if !was && i == memPack {
					for _, p := range slices.Sorted(maps.Keys(m.old)) { // another one of then
						if filepath.Ext(p) == filepath.Ext(path) && p != path {
							before, was = m.old[p], true
						}
					}
				}
				if !was {
					ok(m.t, image.Remove(path))
					continue
				}
				text = before
			case unreadable:
				fail[path] = true
				continue
			}
			ok(m.t, image.Remove(path))
			switch how {
			case deleted:
			case folder:
				ok(m.t, image.Mkdir(path, 0o700))
			default:
				ok(m.t, vfs.ReplaceFile(image, path, text, 0o600, vfs.Durable))
				if how != older && i < memJournal {
					broken = append(broken, text)
				}
			}
		}
		if i == memJournal && how == deleted {
			ok(m.t, image.Remove(m.l.Events()))
		}
	}
	fsys = image
	if len(fail) > 0 {
		fsys = vfstest.Inject(image, func(c vfstest.Call) error {
			if fail[c.Name] && (c.Op == vfstest.OpRead || c.Op == vfstest.OpOpen) {
				return syscall.EIO
			}
			return nil
		})
	}
	return image, broken, fsys
}

// remembers opens an execution that has lost some of its memories, and checks
// that what can be known is known, and what is lost is named. It tells how it
// went.
func (m *amnesic) remembers(t testing.TB, d *loss, fsck *strictFsck, deep bool) (how string) {
	image, broken, fsys := m.inflict(d)
	open := func(fsys vfs.FS, o execution.Options) (*execution.Execution, error) {
		o.FS = fsys
		forked()
		return Open(context.Background(), m.l.Root, o)
	}
	// Git alone knows the end (the backup is a save behind), and a part of it is
	// lost.
	ruined := d.has(memState) && d.has(memJournal)
	partly := ruined && (d.has(memPack) || d.has(memRef))
	how = "equal"
	var first []finding.Finding
	if fsys != vfs.FS(image) {
		x, err := open(fsys, execution.Options{})
		if err == nil {
			first = x.Report.Findings
			if !partly && !d.has(memPack) {
				m.knowsAll(t, d, x)
			}
			err = x.Close()
		}
		var decision *finding.DecisionError
		if err != nil && !errors.As(err, &decision) && (!errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), m.l.Root)) {
			t.Errorf("%v: the error does not say what and where: %v", d, err)
		}
	} // and the disk is mended
	foreseen := foresee(image, m.l.Root)
	x, err := open(image, execution.Options{})
	foreseen.came(t, d.String(), x, err)
	var decision *finding.DecisionError
	replaced := false
	if errors.As(err, &decision) {
		how = "a person's decision"
		if !d.has(memPack) && !partly {
			t.Errorf("%v: %v", d, err)
			return how
		}
		if strings.Contains(err.Error(), "--fresh") {
			if !partly {
				t.Errorf("%v: %v", d, err)
			}
			return "nothing left"
		}
		if !strings.Contains(err.Error(), execution.FixCommand) {
			t.Errorf("%v: %v", d, err)
		}
		replaced = true
		x, err = open(image, execution.Options{ReplaceStore: true})
	}
	if err != nil {
		t.Errorf("%v: %v", d, err)
		return how
	}
	rep := x.Report
	rep.Findings = append(first, rep.Findings...)
	if rep.Source == "new" || rep.Has(finding.Blocked) {
		t.Errorf("%v: it is begun anew: %+v", d, rep)
	}
	got := told(t, x.State())
	switch same := got == m.want; {
	case same:
	case partly || replaced:
		how = "in part"
		if err := invented(m.state, x.State()); err != nil {
			t.Errorf("%v: %v", d, err)
		}
		// Where a branch is lost with the state, the journal and the pack of its
		// newest checkpoint, nothing is left that tells of that; where it leads
		// elsewhere, no more than that this is not there.
		untold := ruined && d.has(memPack) && (strings.Contains(fmt.Sprint(rep), "the newest that is left of it") ||
			d.has(memRef) && strings.Contains(fmt.Sprint(rep), "which is not there"))
		if !rep.Has(finding.Lost) && !untold {
			t.Errorf("%v: something is lost, and not named: %s\n%+v", d, differences(m.want, got), rep)
		}
		if !ruined {
			if err := contains(m.state, x.State()); err != nil {
				t.Errorf("%v: %v", d, err)
			}
		}
	default:
		t.Errorf("%v: another state was recovered: %s\n%+v", d, differences(m.want, got), rep)
	}
	if rep.Has(finding.Lost) && !d.has(memPack) && !(d.has(memJournal) && d.has(memRef)) { // nobody knows of a newer one
		t.Errorf("%v: %+v", d, rep)
	}
	ok(t, x.Close())
	for _, text := range broken {
		if !kept(t, image, m.l.Quarantine(), text) {
			t.Errorf("%v: the damaged file of %d bytes is not in quarantine: %+v", d, len(text), rep)
		}
	}
	if d.has(memPack) {
		// What the pack alone had is named when the store is made whole.
		before := got
		x, err = open(image, execution.Options{ReplaceStore: true})
		if err != nil {
			t.Errorf("%v: %v", d, err)
			return how
		}
		lost := must(githistory.LostCheckpoints(x.State(), x.Store.Verifier(context.Background()).IsComplete))(t)
		if len(lost) > 0 && !rep.Has(finding.Lost) && !x.Report.Has(finding.Lost) {
			t.Errorf("%v: %v are lost, and not named: %+v", d, lost, x.Report)
		}
		if after := told(t, x.State()); after != before {
			if err := contains(m.state, x.State()); err != nil && !ruined {
				t.Errorf("%v: after %s: %v", d, execution.FixCommand, err)
			}
		}
		got = told(t, x.State())
		ok(t, x.Close())
	}
	for _, why := range fsck.check(image, m.l.Store()) {
		t.Errorf("%v: the store: %s", d, why)
	}
	x, err = open(image, execution.Options{})
	if err != nil {
		t.Errorf("%v: opening again: %v", d, err)
		return how
	}
	if len(x.Report.Findings) > 0 || x.Report.Source != "state.json" {
		t.Errorf("%v: the second opening still finds %+v", d, x.Report)
	}
	if again := told(t, x.State()); again != got {
		t.Errorf("%v: the second opening sees another state: %s", d, differences(got, again))
	}
	if deep && how != "in part" { // a run may go on from one that is lost
		(&box{t: t}).goesOn(x, 24, d.String())
		ok(t, x.Close())
		stockFsck(t, image, m.l.Store(), d.String())
		return how
	}
	ok(t, x.Close())
	return how
}

// knowsAll checks that an execution knows all that it did.
func (m *amnesic) knowsAll(t testing.TB, d *loss, x *execution.Execution) {
	t.Helper()
	if got := told(t, x.State()); got != m.want {
		t.Errorf("%v: another state was recovered: %s\n%+v", d, differences(m.want, got), x.Report)
	}
}

// kept reports whether a file with a content is in a directory.
func kept(t testing.TB, fsys vfs.FS, dir string, text []byte) bool {
	t.Helper()
	entries, err := fsys.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.IsDir() {
			if kept(t, fsys, path, text) {
				return true
			}
		} else if have, err := vfs.ReadFile(fsys, path); err == nil && bytes.Equal(have, text) {
			return true
		}
	}
	return false
}

// invented says what a state tells that is not in the one that was.
func invented(was, got *state.State) error {
	if got.Lineage != was.Lineage {
		return fmt.Errorf("lineage %.8s instead of %.8s", got.Lineage, was.Lineage)
	}
	if got.TotalCost() > was.TotalCost() {
		return fmt.Errorf("costs of %s instead of %s", got.TotalCost(), was.TotalCost())
	}
	for _, r := range got.Runs {
		before := was.Run(r.RunID)
		if before == nil {
			return fmt.Errorf("there was no run %s", r.RunID)
		}
		at := 0
		for _, c := range r.Codons() {
			for at < before.Len() && (before.Codon(at).CodonID != c.CodonID || before.Codon(at).Attempt != c.Attempt) {
				at++ // a record that was lost
			}
			if at == before.Len() || c.Status.Terminal() && before.Codon(at).Status != c.Status && c.Interrupted != state.InterruptedByCrash {
				return fmt.Errorf("run %s had no record of %s, attempt %d (%s)", r.RunID, c.CodonID, c.Attempt, c.Status)
			}
		}
	}
	return nil
}

// No bit of a lock of hank's that is flipped makes it one of Hankweave's, which
// would have to be respected: the process that it names is alive.
func TestADamagedLockIsNotTakenForAnothers(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	a := begin(t, root, 12, CreateOptions{})
	text := must(vfs.ReadFile(vfs.OS, a.x.Layout.Lock()))(t)
	a.close()
	mem := vfstest.NewMem()
	for bit := range 8 * len(text) {
		flipped := slices.Clone(text)
		flipped[bit/8] ^= 1 << (bit % 8)
		ok(t, vfs.ReplaceFile(mem, "/lock", flipped, 0o600, vfs.Durable))
		if h, err := lock.ReadLock(mem, "/lock"); err == nil && h.Foreign() {
			t.Errorf("bit %d flipped: %s", bit, flipped)
		}
	}
}

// state.json and the journal are lost together with the reference of the newest
// run, and the backup is from before: what came since is in the commits that
// nothing leads to any more.
func TestCommitsThatNothingLeadsToBringABackupForward(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	m := forgetful(t, filepath.Join(t.TempDir(), "x"))
	for _, path := range m.refs {
		d := m.lose(rand.New(rand.NewPCG(1, 1)), map[int]damage{memState: deleted, memBackup: older, memJournal: deleted, memRef: deleted})
		d.ref = path
		if how := m.remembers(t, d, &strictFsck{}, false); how != "equal" {
			t.Errorf("%v: %s", d, how)
		}
	}
}

// A directory in the place of the stat cache is set aside once, and is no error of
// every command.
func TestAFolderInThePlaceOfTheStatCacheGoesAside(t *testing.T) {
	t.Parallel()
	b := boxed(t, 12)
	remove(t, b.l.StatCache())
	ok(t, os.Mkdir(b.l.StatCache(), 0o700))
	x := reopen(t, b.root)
	says(t, "a folder", x.Report, "where the stat cache must be")
	b.goesOn(x, 12, "a folder")
	ok(t, x.Close())
	x = reopen(t, b.root)
	if len(x.Report.Findings) > 0 {
		t.Errorf("the next opening still finds %+v", x.Report)
	}
	ok(t, x.Close())
}

// Every set of what an execution keeps is deleted; each alone and each two, and
// a share of all sets, are damaged in every way: what can be known comes back
// as it was, what is lost is named, and nothing begins anew.
//
// By default one set in 16, and of the damages one in 8.
func TestWhateverIsDamagedWhatCanBeKnownComesBack(t *testing.T) {
	t.Parallel()
	race.Without(t)
	short.Skip(t)
	sets, few, random := 16, 8, 40
	if long {
		sets, few, random = 1, 1, 1500
	}
	var todo []map[int]damage
	of := func(set int, how func() damage) map[int]damage {
		all := map[int]damage{}
		for i := range memories {
			if set&(1<<i) != 0 {
				all[i] = how()
			}
		}
		return all
	}
	rng := rand.New(rand.NewPCG(seed, 19))
	for set := 1; set < 1<<memories; set++ {
		if (set+int(seed))%sets == 0 {
			todo = append(todo, of(set, func() damage { return deleted }))
		}
	}
	deletions := len(todo)
	for i := range memories {
		for j := i; j < memories; j++ {
			for a := truncated; a < damages; a++ {
				for b := deleted; b < damages; b++ {
					switch {
					case i == j && a != b, (len(todo)+int(seed)+int(a)+int(b))%few != 0 && i != j, i != j && !long && rng.IntN(6) > 0:
					case i == j:
						todo = append(todo, map[int]damage{i: a})
					default:
						todo = append(todo, map[int]damage{i: a, j: b})
					}
				}
			}
		}
	}
	pairs := len(todo) - deletions
	for range random {
		set := 1 + rng.IntN(1<<memories-1)
		todo = append(todo, of(set, func() damage { return damage(rng.IntN(int(damages))) }))
	}
	for n := range random / 4 { // what looks like a crash in the middle of a write, and is more
		d := map[int]damage{memState: deleted, memBackup: deleted, memJournal: truncated, memRef: damage(rng.IntN(int(damages)))}
		if n%2 == 0 {
			d[memPack] = damage(rng.IntN(int(damages)))
		}
		todo = append(todo, d)
	}
	fsck := &strictFsck{}
	var next, tried atomic.Int64
	var mu sync.Mutex
	went := map[string]int{}
	inTurn(t, goruntime.GOMAXPROCS(0), func(t *testing.T, _ int) {
		m := forgetful(t, filepath.Join(t.TempDir(), "x"))
		for i := int(next.Add(1)) - 1; i < len(todo) && !nearlyOver(t); i = int(next.Add(1)) - 1 {
			tried.Add(1)
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			how := m.remembers(t, m.lose(rng, todo[i]), fsck, rng.IntN(40) == 0)
			mu.Lock()
			went[how]++
			mu.Unlock()
		}
	})
	t.Logf("seed %d: %d sets of %d memories deleted, %d damaged alone or two at a time, %d at random; %d of them tried: %v", seed, deletions, memories, pairs, len(todo)-deletions-pairs, tried.Load(), went)
}

// The reference of a recovery branch is gone, and its newest checkpoint is in a pack that is
// damaged: doctor --fix, which makes the pack whole, puts the branch back at once.
func TestARecoveryBranchComesBackWithItsPack(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	m, fsck := forgetful(t, filepath.Join(t.TempDir(), "x")), &strictFsck{}
	for _, ref := range m.refs {
		if !strings.Contains(filepath.ToSlash(ref), "/recovery/") {
			continue
		}
		for i, pack := range slices.Repeat(m.packs, 6) {
			rng := rand.New(rand.NewPCG(1, uint64(i)))
			m.remembers(t, &loss{map[int]damage{memPack: flipped, memRef: deleted}, pack, ref, rng}, fsck, false)
		}
	}
}
