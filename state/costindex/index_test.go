package costindex

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"iter"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hank/internal/flock"
	"hank/internal/short"
	"hank/state"
)

// Every case opens Badger a few times: there are fewer of them, unless the
// command line (of scripts/prove) wants more.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "25"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, dir string) (*Index, string) {
	t.Helper()
	x, discarded, err := Open(dir, "journal")
	must(t, err)
	return x, discarded
}

func all(list []Entry) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for _, e := range list {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// story returns n random entries; some events have several, some numbers none.
func story(rng *rand.Rand, n int) (list []Entry) {
	seq := uint64(0)
	at := time.Date(1969, 12, 30, 0, 0, 0, 0, time.FixedZone("", -7*3600))
	for range n {
		seq += uint64(rng.IntN(3))
		at = at.Add(time.Duration(rng.IntN(9*60)) * time.Minute)
		list = append(list, Entry{
			Seq: max(seq, 1), Time: at,
			RunID: fmt.Sprint("run-", rng.IntN(3)), CodonID: fmt.Sprint("codon#", rng.IntN(40)), Loop: []string{"", "review", "fix"}[rng.IntN(3)],
			Model: []string{"opus", "haiku", "t", "ü/☃"}[rng.IntN(4)], Harness: []string{"claude", "pi", ""}[rng.IntN(3)],
			Bill: state.Bill{Cost: state.USD(rng.Int64N(5_000_000_000) - 1000), Replayed: state.USD(rng.Int64N(1000))},
			Tokens: state.Tokens{
				Input: rng.Int64N(1e6), Output: rng.Int64N(1e6), CacheCreation: rng.Int64N(1e6), CacheRead: rng.Int64N(1e6),
			},
		})
	}
	return list
}

// sums adds entries up directly.
func sums(list []Entry, by By) []Total {
	m := map[string]*Total{}
	for _, e := range list {
		key := map[By]string{ByRun: e.RunID, ByCodon: e.CodonID, ByLoop: e.Loop, ByModel: e.Model, ByHarness: e.Harness, ByQuarter: e.Time.UTC().Truncate(15 * time.Minute).Format(QuarterForm)}[by]
		if m[key] == nil {
			m[key] = &Total{Key: key}
		}
		m[key].Entries++
		m[key].Bill = m[key].Plus(e.Bill)
		m[key].Tokens = m[key].Tokens.Add(e.Tokens)
	}
	var out []Total
	for _, t := range m {
		out = append(out, *t)
	}
	slices.SortFunc(out, func(a, b Total) int { return strings.Compare(a.Key, b.Key) })
	return out
}

func check(t testing.TB, name string, x *Index, list []Entry) {
	t.Helper()
	for _, by := range ways {
		got, err := x.Totals(by)
		if err != nil || !reflect.DeepEqual(got, sums(list, by)) {
			t.Fatalf("%s: totals by %c are\n%v, %v\ninstead of\n%v", name, by, got, err, sums(list, by))
		}
	}
	if len(list) > 0 && x.Position() != list[len(list)-1].Seq {
		t.Fatalf("%s: position %d instead of %d", name, x.Position(), list[len(list)-1].Seq)
	}
}

// image copies what a kill -9 at this moment would leave. Badger tidies up in
// the background: a copy counts if the files were the same before and after.
func image(t testing.TB, dir string) string {
	t.Helper()
	for range 1000 {
		to := filepath.Join(t.TempDir(), "index")
		before, err := fingerprint(dir)
		if err == nil {
			err = os.CopyFS(to, os.DirFS(dir))
		}
		after, aerr := fingerprint(to)
		if err == nil && aerr == nil && bytes.Equal(before, after) {
			return to
		}
	}
	t.Fatal("the files never stand still")
	return ""
}

// TestTotalsAreTheSumsWhateverHappened catches up in random pieces, some of
// them seen before, with reopenings and kills in between.
func TestTotalsAreTheSumsWhateverHappened(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	rapid.Check(t, func(rt *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		list := story(rng, rapid.IntRange(0, 120).Draw(rt, "entries"))
		dir := filepath.Join(t.TempDir(), "index")
		x, discarded := open(t, dir)
		if discarded != "" {
			rt.Fatal(discarded)
		}
		seen := 0
		for range rapid.IntRange(1, 3).Draw(rt, "pieces") {
			from := rapid.IntRange(0, seen).Draw(rt, "from")
			seen = rapid.IntRange(seen, len(list)).Draw(rt, "to")
			for seen < len(list) && seen > 0 && list[seen].Seq == list[seen-1].Seq {
				seen++ // an event is caught up with as a whole
			}
			must(t, x.CatchUp(all(list[from:seen])))
			check(t, "caught up", x, list[:seen])
			switch rapid.IntRange(0, 3).Draw(rt, "then") {
			case 0:
				must(t, x.Close())
				if x, discarded = open(t, dir); discarded != "" {
					rt.Fatal(discarded)
				}
			case 1:
				killed := image(t, dir)
				must(t, x.Close())
				dir = killed
				if x, discarded = open(t, dir); discarded == "" && seen > 0 || x.Position() != 0 {
					rt.Fatalf("after a kill: %q, position %d", discarded, x.Position())
				}
				seen = 0
			case 2: // even if the seal were there, nothing is counted twice
				killed := image(t, dir)
				must(t, writeSeal(killed, func() bool { return true }))
				must(t, x.Close())
				dir = killed
				if x, discarded = open(t, dir); discarded != "" {
					rt.Fatal(discarded)
				}
			}
			check(t, "reopened", x, list[:seen])
		}
		must(t, x.CatchUp(all(list)))
		check(t, "at the end", x, list)
		must(t, x.Reset("journal"))
		must(t, x.CatchUp(all(list)))
		check(t, "made anew", x, list)
		must(t, x.Close())
	})
}

func TestManyKeysAreWrittenInManyTransactions(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	var list []Entry
	for n := range 30_000 {
		list = append(list, Entry{Seq: uint64(n/3 + 1), CodonID: fmt.Sprintf("%0200d", n), RunID: strings.Repeat("r", maxKey), Bill: state.Bill{Cost: 1}})
	}
	x, _ := open(t, t.TempDir())
	failed := errors.New("the journal ends here")
	err := x.CatchUp(func(yield func(Entry, error) bool) {
		for _, e := range list[:20_000] { // in the middle of an event
			if !yield(e, nil) {
				return
			}
		}
		yield(Entry{}, failed)
	})
	if !errors.Is(err, failed) || x.Position() != 6666 {
		t.Fatalf("%v at %d", err, x.Position())
	}
	check(t, "after the error", x, list[:6666*3])
	must(t, x.CatchUp(all(list)))
	check(t, "at the end", x, list)
	must(t, x.Close())
}

func TestEntriesThatCannotBeCountedAreRefusedWhole(t *testing.T) {
	t.Parallel()
	x, _ := open(t, t.TempDir())
	defer x.Close()
	good := []Entry{{Seq: 5, Bill: state.Bill{Cost: 1}}, {Seq: 7, Bill: state.Bill{Cost: 2}}}
	for name, bad := range map[string][]Entry{
		"disorder":  {{Seq: 6}},
		"long name": {{Seq: 8, Bill: state.Bill{Cost: 1}}, {Seq: 8, Model: strings.Repeat("m", maxKey+1)}},
	} {
		if err := x.CatchUp(all(append(slices.Clone(good), bad...))); err == nil {
			if name != "disorder" || x.Position() != 7 {
				t.Errorf("%s was counted", name)
			}
		}
		check(t, name, x, good)
	}
}

// TestAnyChangedFileIsNoticed damages each file of a closed index in each way.
func TestAnyChangedFileIsNoticed(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	list := story(rand.New(rand.NewPCG(1, 1)), 300)
	dir := t.TempDir()
	x, _ := open(t, dir)
	must(t, x.CatchUp(all(list[:len(list)/2])))
	must(t, x.Close())
	before := image(t, dir)
	x, _ = open(t, dir)
	must(t, x.CatchUp(all(list)))
	must(t, x.Close())
	must(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		if err != nil || e.IsDir() || rel == "lock" {
			return err
		}
		content, err := os.ReadFile(path)
		must(t, err)
		damages := map[string][]byte{"missing": nil, "longer": append(content, 0), "zeroed": make([]byte, len(content))}
		if len(content) > 0 {
			damages["shorter"] = content[:len(content)-1]
			damages["empty"] = []byte{}
			for at := 0; at < len(content); at += max(1, len(content)/2) {
				flipped := bytes.Clone(content)
				flipped[at] ^= 0x10
				damages[fmt.Sprint("flipped at ", at)] = flipped
			}
		}
		damages["a folder instead"] = nil
		if older, err := os.ReadFile(filepath.Join(before, rel)); err == nil {
			damages["an older copy"] = older
		}
		for way, damaged := range damages {
			if damaged != nil && bytes.Equal(damaged, content) {
				continue
			}
			copied := image(t, dir)
			target := filepath.Join(copied, rel)
			if damaged == nil {
				must(t, os.Remove(target))
				if way == "a folder instead" {
					must(t, os.Mkdir(target, 0o700))
				}
			} else {
				must(t, os.WriteFile(target, damaged, 0o600))
			}
			x, discarded := open(t, copied)
			if discarded == "" || x.Position() != 0 {
				t.Fatalf("%s %s: not noticed", rel, way)
			}
			must(t, x.CatchUp(all(list)))
			check(t, rel+" "+way, x, list)
			must(t, x.Close())
			if _, discarded := open(t, copied); discarded != "" {
				t.Fatalf("%s %s: made anew, and again %s", rel, way, discarded)
			}
		}
		return nil
	}))
}

func TestAnIndexOfAnotherJournalOrSchemaIsDiscarded(t *testing.T) {
	t.Parallel()
	list := story(rand.New(rand.NewPCG(1, 1)), 30)
	dir := t.TempDir()
	x, _ := open(t, dir)
	must(t, x.CatchUp(all(list)))
	must(t, x.Close())
	x, discarded, err := Open(dir, "another journal")
	if err != nil || !strings.Contains(discarded, "another journal") || x.Position() != 0 {
		t.Fatalf("%v, %q", err, discarded)
	}
	x.head.Schema = 99
	must(t, x.CatchUp(all(list)))
	must(t, x.Close())
	if x, discarded = open(t, dir); !strings.Contains(discarded, "schema 99") || x.Position() != 0 {
		t.Fatalf("%q", discarded)
	}
	check(t, "made anew", x, nil)
	must(t, x.Close())
}

func TestTotalsThatDoNotAddUpAreDamage(t *testing.T) {
	t.Parallel()
	list := story(rand.New(rand.NewPCG(1, 1)), 30)
	x, _ := open(t, t.TempDir())
	defer x.Close()
	must(t, x.CatchUp(all(list)))
	x.head.All.Cost++
	var damaged *DamagedError
	if _, err := x.Totals(ByRun); !errors.As(err, &damaged) {
		t.Fatalf("not noticed: %v", err)
	}
	must(t, x.Reset("journal"))
	must(t, x.CatchUp(all(list)))
	check(t, "mended", x, list)
}

// TestOpeningNeverWaitsForALock: a live holder is an error at once, a killed
// one is no obstacle.
func TestOpeningNeverWaitsForALock(t *testing.T) {
	dir := t.TempDir()
	if os.Getenv("HANK_TEST_HOLD") != "" {
		x, _ := open(t, os.Getenv("HANK_TEST_HOLD"))
		must(t, x.CatchUp(all([]Entry{{Seq: 1, Bill: state.Bill{Cost: 7}}})))
		fmt.Println("holding")
		select {}
	}
	t.Parallel()
	holder := exec.Command(os.Args[0], "-test.run=^TestOpeningNeverWaitsForALock$")
	holder.Env = append(os.Environ(), "HANK_TEST_HOLD="+dir)
	out, err := holder.StdoutPipe()
	must(t, err)
	must(t, holder.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "holding" {
	}
	var busy *BusyError
	if _, _, err := Open(dir, "journal"); !errors.As(err, &busy) {
		t.Errorf("opened beside a live holder: %v", err)
	}
	must(t, holder.Process.Kill())
	_ = holder.Wait()
	x, discarded := open(t, dir)
	if discarded == "" {
		t.Error("the index of a killed process was trusted")
	}
	must(t, x.CatchUp(all([]Entry{{Seq: 1, Bill: state.Bill{Cost: 7}}})))
	check(t, "after the kill", x, []Entry{{Seq: 1, Bill: state.Bill{Cost: 7}}})
	must(t, x.Close())
}

// TestALockOfBadgersThatAChildHasCostsNoIndex holds the lock that Badger takes as a child
// does for a moment, which was forked while the index was open: it is of no account.
func TestALockOfBadgersThatAChildHasCostsNoIndex(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x, _ := open(t, dir)
	must(t, x.CatchUp(all([]Entry{{Seq: 1, Bill: state.Bill{Cost: 7}}})))
	must(t, x.Close())
	held, err := flock.OpenDir(filepath.Join(dir, "db"))
	must(t, err)
	defer held.Close()
	switch err := flock.Exclusive(held); {
	case errors.Is(err, errors.ErrUnsupported):
		t.Skip("this system has no such locks")
	default:
		must(t, err)
	}
	x, discarded := open(t, dir)
	if discarded != "" {
		t.Errorf("the index was thrown away: %s", discarded)
	}
	check(t, "beside the lock", x, []Entry{{Seq: 1, Bill: state.Bill{Cost: 7}}})
	must(t, x.Close())
}

// TestAnIndexWhoseFilesVanishIsAnError takes the files away while the index is
// open, and has another process begin there: each call is an error or goes on,
// nothing is sealed that is not its own, and what the next opening finds adds up.
func TestAnIndexWhoseFilesVanishIsAnError(t *testing.T) {
	t.Parallel()
	list := story(rand.New(rand.NewPCG(1, 1)), 300)
	dir := filepath.Join(t.TempDir(), "costs")
	x, _ := open(t, dir)
	must(t, x.CatchUp(all(list[:100])))
	must(t, os.RemoveAll(dir))
	_ = x.CatchUp(all(list))
	_, _ = x.Totals(ByRun)
	y, _ := open(t, dir) // the lock went with the files
	if err := x.Close(); err == nil {
		t.Error("an index was sealed over the files of another process")
	}
	must(t, y.CatchUp(all(list)))
	check(t, "beside one that was removed", y, list)
	_ = y.Close() // the first has taken Badger's own lock file away
	y, _ = open(t, dir)
	must(t, y.CatchUp(all(list)))
	check(t, "opened again", y, list)
	must(t, y.Close())
}

// TestAnIndexThatCannotBeOpenedLeavesNoHalf: an error of Badger leaves nothing
// that a Reset would stumble over.
func TestAnIndexThatCannotBeOpenedLeavesNoHalf(t *testing.T) {
	t.Parallel()
	x, _ := open(t, t.TempDir())
	must(t, x.db.Close())
	x.db = nil
	must(t, os.RemoveAll(x.path()))
	must(t, os.WriteFile(x.path(), nil, 0o600)) // no directory can be made there
	if err := x.open(); err == nil || x.db != nil {
		t.Fatalf("%v, %v", x.db, err)
	}
	must(t, x.Reset("journal"))
	must(t, x.Close())
}

// TestRemovingAnIndexWaitsForNobody: an index that is open stays, and one that
// nobody has open goes with its directory.
func TestRemovingAnIndexWaitsForNobody(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "costs")
	must(t, Remove(dir))
	list := story(rand.New(rand.NewPCG(1, 1)), 30)
	x, _ := open(t, dir)
	var busy *BusyError
	if err := Remove(dir); !errors.As(err, &busy) {
		t.Errorf("removed while it is open: %v", err)
	}
	must(t, x.CatchUp(all(list)))
	check(t, "beside a Remove", x, list)
	must(t, x.Close())
	must(t, Remove(dir))
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
	must(t, os.WriteFile(dir, nil, 0o600))
	must(t, Remove(dir))
}

func TestAnIndexIsSmall(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x, _ := open(t, dir)
	must(t, x.CatchUp(all(story(rand.New(rand.NewPCG(1, 1)), 1000))))
	must(t, x.Close())
	var size int64
	must(t, filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil {
			fi, ierr := e.Info()
			must(t, ierr)
			size += fi.Size()
		}
		return err
	}))
	if size > 2<<20 {
		t.Fatalf("an index of 1000 entries takes %d bytes", size)
	}
}

// big is a million entries of 100,000 codons.
func big(yield func(Entry, error) bool) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var e Entry
	for n := range 1_000_000 {
		if n%10 == 0 {
			e.CodonID = fmt.Sprint("codon#", n/10)
		}
		e.Seq, e.Time, e.RunID, e.Model, e.Cost = uint64(n+1), at.Add(time.Duration(n)*time.Second), "run", "opus", 12345
		e.Tokens = state.Tokens{Input: 10, Output: 20}
		if !yield(e, nil) {
			return
		}
	}
}

func BenchmarkRebuild(b *testing.B) {
	for b.Loop() {
		x, _, err := Open(b.TempDir(), "journal")
		must(b, err)
		must(b, x.CatchUp(big))
		must(b, x.Close())
	}
	b.ReportMetric(float64(b.N)*1e6/b.Elapsed().Seconds(), "entries/s")
}

func BenchmarkTotals(b *testing.B) {
	dir := b.TempDir()
	x, _, err := Open(dir, "journal")
	must(b, err)
	must(b, x.CatchUp(big))
	must(b, x.Close())
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			x, discarded, err := Open(dir, "journal")
			if err != nil || discarded != "" {
				b.Fatal(err, discarded)
			}
			b.StopTimer()
			must(b, x.Close())
			b.StartTimer()
		}
	})
	x, _, err = Open(dir, "journal")
	must(b, err)
	defer x.Close()
	for _, by := range ways {
		b.Run(string(rune(by)), func(b *testing.B) {
			for b.Loop() {
				_, err := x.Totals(by)
				must(b, err)
			}
		})
	}
}
