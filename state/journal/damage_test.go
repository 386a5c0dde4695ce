package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hank/internal/race"
	"hank/internal/short"
	"hank/internal/vfs"
	"hank/internal/vfs/vfstest"
)

// TestEveryFlippedByteIsNoticed flips a bit of every byte of a small journal (in
// the long form every bit) and sets it to a newline. No event may be accepted
// that was not written, the story from the start ends exactly before the damage,
// what is behind it is still found, and a new base makes the journal usable
// again.
func TestEveryFlippedByteIsNoticed(t *testing.T) {
	t.Parallel()
	race.Without(t)
	short.Skip(t)
	m := newDisk(t)
	must(t, fill(t, m, 6, 0).Close())
	whole := get(t, m, current)
	changes := 0
	for at, was := range whole {
		line := uint64(bytes.Count(whole[:at], []byte("\n"))) // 0: the header, n: event n
		values := []byte{'\n', was ^ 1<<(at%8)}
		if os.Getenv("HANK_LONG") != "" {
			values = values[:1]
			for bit := range 8 {
				values = append(values, was^1<<bit)
			}
		}
		for _, v := range values {
			if v == was {
				continue
			}
			changes++
			flipped := bytes.Clone(whole)
			flipped[at] = v
			put(t, m, current, flipped)
			name := fmt.Sprintf("byte %d set to %q in line %d", at, v, line)
			first, last := line, line // the lines that are lost
			if whole[at] == '\n' {
				last++ // merged with the next
			}
			checkFlipped(t, m, name, first, last)
		}
	}
	t.Logf("%d changes of %d bytes", changes, len(whole))
}

func checkFlipped(t *testing.T, m *vfstest.Mem, name string, first, last uint64) {
	t.Helper()
	want := uint64(6) // a damaged header hides no event
	if last > 0 {
		want = max(first, 1) - 1
	}
	torn := first > 0 && last >= 6
	got, err := readAll(m, 0)
	var gap *GapError
	if !isStory(got, 1, want) || err != nil && (!errors.As(err, &gap) || gap.After != want) {
		t.Fatalf("%s: read %d events, %v", name, len(got), err)
	}
	if err == nil && last > 0 && !torn {
		t.Fatalf("%s: the reader did not say that event %d is missing", name, last)
	}
	if behind, err := readAll(m, last+1); err != nil || !isStory(behind, last+1, 6) {
		t.Fatalf("%s: behind the damage %d events, %v", name, len(behind), err)
	}
	found, err := Inspect(m, dir)
	if err != nil || found.Last != want || found.Whole() != torn {
		t.Fatalf("%s: %v, %+v", name, err, found)
	}
	image := m.Crash(seeded(1), 100)
	j, _, err := Open(image, dir, box(image, "/q"))
	must(t, err)
	if found.Whole() {
		if j.Last() != want || found.Torn == nil || len(get(t, image, "../../q/000.events.jsonl")) == 0 {
			t.Fatalf("%s: a torn tail was not cut: %+v", name, found)
		}
		must(t, j.Append(event(want+1)))
		must(t, j.Close())
		return
	}
	var damaged *DamagedError
	if err := j.Append(event(want + 1)); !errors.As(err, &damaged) {
		t.Fatalf("%s: appended to a damaged journal: %v", name, err)
	}
	if err := j.NewSegment(event(found.Highest)); err == nil {
		t.Fatalf("%s: a base with the number %d, which is in use", name, found.Highest)
	}
	must(t, j.NewSegment(event(20)))
	must(t, j.Append(event(21)))
	must(t, j.Close())
	checkRebased(t, image, name, 20, 21)
}

// checkRebased opens a journal that got a base and must be whole now.
func checkRebased(t *testing.T, m *vfstest.Mem, name string, base, last uint64) Opened {
	t.Helper()
	j, found, err := Open(m, dir, noQuarantine(t))
	if err != nil || j.Last() != last || found.Base != base || !found.Whole() || len(found.Damage) > 0 {
		t.Fatalf("%s: after a new base: %v, %+v", name, err, found)
	}
	if got, err := readAll(m, base); err != nil || !isStory(got, base, last) {
		t.Fatalf("%s: after a new base %d events, %v", name, len(got), err)
	}
	if got, err := readAll(m, 0); err != nil || len(got) == 0 || got[len(got)-1].Seq != last {
		t.Fatalf("%s: history is not readable across the base: %d events, %v", name, len(got), err)
	}
	return found
}

func TestATornTailIsCopiedThenCut(t *testing.T) {
	t.Parallel()
	m := newDisk(t)
	must(t, fill(t, m, 3, 0).Close())
	whole := get(t, m, current)
	next, err := appendLine(nil, event(4))
	must(t, err)
	for cut := 1; cut < len(next); cut++ {
		for _, tail := range [][]byte{next[:cut], make([]byte, cut), append([]byte("\n\n"), next[:cut]...), append(next[:cut:cut], '\n')} {
			if bytes.Equal(tail, next) {
				continue
			}
			put(t, m, current, append(bytes.Clone(whole), tail...))
			var kept []byte
			j, found, err := Open(m, dir, func(name string, content io.Reader, why error) error {
				if !bytes.HasSuffix(get(t, m, current), tail) {
					t.Errorf("%q was cut before it was copied", tail)
				}
				kept, err = io.ReadAll(content)
				if name != current || !strings.Contains(why.Error(), "after event 3") {
					t.Errorf("quarantine of %s: %v", name, why)
				}
				return err
			})
			must(t, err)
			if !bytes.Equal(kept, tail) || found.Torn == nil || found.Torn.Length != int64(len(tail)) || j.Last() != 3 {
				t.Fatalf("cut %q, kept %q, %+v", tail, kept, found)
			}
			if !bytes.Equal(get(t, m, current), whole) {
				t.Fatal("the tail was not cut")
			}
		}
	}
}

// A line with a right checksum is an event only if it has the form of one.
func TestALineOfAnotherFormIsNoEvent(t *testing.T) {
	t.Parallel()
	const good = `{"seq":7,"id":"a","timestamp":"2026-01-02T03:04:05.006Z","type":"x","data":{}`
	read := func(body string) error {
		l, err := parse(appendSum([]byte(body), []byte(body)))
		if err == nil {
			_, err = l.event()
		}
		return err
	}
	must(t, read(good))
	for from, to := range map[string]string{
		`:7,`: `:0,`, `"seq":7`: `"seq":-7`, `"seq"`: `"Seq"`, `"id":"a"`: `"id":1`, `"a"`: `"\x"`, `"x"`: `"x\"`, `2026-01-02T`: `2026-13-02T`, `.006Z`: `Z`,
		`,"type":"x"`: ``, `"data":{}`: `"data":`, `{}`: `{`, `:{}`: `:{},"data":{}`, `"data"`: `"more"`,
	} {
		if err := read(strings.Replace(good, from, to, 1)); err != errForm {
			t.Errorf("with %s instead of %s: %v", to, from, err)
		}
	}
}

func TestATornTailStaysWhenQuarantineFails(t *testing.T) {
	t.Parallel()
	m := newDisk(t)
	must(t, fill(t, m, 3, 0).Close())
	torn := append(get(t, m, current), "torn"...)
	put(t, m, current, torn)
	full := errors.New("full")
	if _, _, err := Open(m, dir, func(string, io.Reader, error) error { return full }); !errors.Is(err, full) {
		t.Fatalf("opened: %v", err)
	}
	if !bytes.Equal(get(t, m, current), torn) {
		t.Fatal("bytes were cut that nobody kept")
	}
}

func lineOf(t *testing.T, n uint64) []byte {
	b, err := appendLine(nil, event(n))
	must(t, err)
	return b
}

func TestNumbersThatDoNotFollowAreDamageWithAPosition(t *testing.T) {
	t.Parallel()
	m := newDisk(t)
	must(t, fill(t, m, 3, 0).Close())
	whole := get(t, m, current)
	for name, c := range map[string]struct {
		lines  []uint64
		damage Damage
		ranges []Range
	}{
		"gap":        {[]uint64{5, 6}, Damage{After: 3, Next: 5}, []Range{{1, 3}, {5, 6}}},
		"duplicate":  {[]uint64{3, 4}, Damage{After: 3, Next: 3}, []Range{{1, 3}, {3, 4}}},
		"regression": {[]uint64{1, 2}, Damage{After: 3, Next: 1}, []Range{{1, 3}, {1, 2}}},
	} {
		text := bytes.Clone(whole)
		for _, n := range c.lines {
			text = append(text, lineOf(t, n)...)
		}
		put(t, m, current, text)
		c.damage.Segment, c.damage.Offset = current, int64(len(whole))
		o, err := Inspect(m, dir)
		must(t, err)
		if o.Last != 3 || len(o.Damage) != 1 || o.Whole() || !slices.Equal(o.Ranges, c.ranges) {
			t.Errorf("%s: %+v", name, o)
			continue
		}
		if c.damage.Why = o.Damage[0].Why; o.Damage[0] != c.damage {
			t.Errorf("%s: %+v instead of %+v", name, o.Damage[0], c.damage)
		}
		got, err := readAll(m, 0)
		var gap *GapError
		if !isStory(got, 1, 3) || !errors.As(err, &gap) || gap.After != 3 {
			t.Errorf("%s: read %d events, %v", name, len(got), err)
		}
		if _, err := readAll(m, gap.Next); err != nil {
			t.Errorf("%s: behind the gap at %d: %v", name, gap.Next, err)
		}
	}
}

func TestDamageThatHidesNoEventIsStillDamage(t *testing.T) {
	t.Parallel()
	m := newDisk(t)
	must(t, fill(t, m, 3, 0).Close())
	whole := get(t, m, current)
	put(t, m, current, append(append(bytes.Clone(whole), "junk\n"...), lineOf(t, 4)...))
	o, err := Inspect(m, dir)
	if err != nil || o.Whole() || o.Last != 4 || len(o.Ranges) != 1 || len(o.Damage) != 1 || o.Damage[0].Length != 5 {
		t.Fatalf("%v, %+v", err, o)
	}
	if got, err := readAll(m, 0); err != nil || !isStory(got, 1, 4) {
		t.Fatalf("read %d events, %v", len(got), err)
	}
}

// TestEveryDamagedFileIsSurvived damages each file of a journal of many
// segments in each way. What was before the damage is kept as history, and a
// new base makes the journal whole.
func TestEveryDamagedFileIsSurvived(t *testing.T) {
	t.Parallel()
	const last = 30
	m := newDisk(t)
	must(t, fill(t, m, last, 900).Close())
	segs := names(t, m)
	for i, name := range segs {
		content := get(t, m, name)
		before := get(t, m, segs[max(i, 1)-1])
		lines := bytes.SplitAfter(content, []byte("\n"))
		flipped := bytes.Clone(content)
		flipped[len(flipped)/2] ^= 4
		for way, damaged := range map[string][]byte{
			"missing": nil, "empty": {}, "zeroed": make([]byte, len(content)), "flipped": flipped, "without header": bytes.Join(lines[1:], nil),
			"only header": lines[0], "without last line": bytes.Join(lines[:len(lines)-2], nil), "twice": append(bytes.Clone(content), content...),
			"torn": content[:len(content)-9], "an other segment": get(t, m, segs[0]),
			"an older self": before[:bytes.LastIndexByte(before[:len(before)-1], '\n')+1],
		} {
			if bytes.Equal(damaged, content) {
				continue
			}
			image := m.Crash(seeded(1), 100)
			if damaged == nil {
				must(t, image.Remove(filepath.Join(dir, name)))
			} else {
				put(t, image, name, damaged)
			}
			damagedFile(t, image, name+" "+way, last)
		}
	}
}

func damagedFile(t *testing.T, m *vfstest.Mem, name string, last uint64) {
	t.Helper()
	j, found, err := Open(m, dir, box(m, "/q"))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	before, err := readAll(m, 0)
	if err == nil && uint64(len(before)) != found.Last || !isStory(before, 1, found.Last) {
		t.Fatalf("%s: the reader has %d events, Open says %d (%v)", name, len(before), found.Last, err)
	}
	clean := strings.HasPrefix(name, current) && (strings.HasSuffix(name, "torn") || strings.HasSuffix(name, "without last line") || strings.HasSuffix(name, "only header"))
	if found.Whole() != clean {
		t.Fatalf("%s: %+v", name, found)
	}
	if clean {
		must(t, j.Append(event(j.Last()+1)))
		must(t, j.Close())
		return
	}
	must(t, j.NewSegment(event(100)))
	must(t, j.Append(event(101)))
	must(t, j.Close())
	checkRebased(t, m, name, 100, 101)
	if !exists(m, "/q") && !strings.Contains(name, "missing") {
		t.Fatalf("%s: nothing went to quarantine", name)
	}
	after, err := readAll(m, 0)
	if err != nil || len(after) < 2 || !isStory(after[:len(after)-2], 1, uint64(len(after)-2)) {
		t.Fatalf("%s: history of %d events, %v", name, len(after), err)
	}
}

func TestDamageInHistoryDoesNotStopTheJournal(t *testing.T) {
	t.Parallel()
	m := newDisk(t)
	must(t, fill(t, m, 30, 900).Close())
	old := names(t, m)
	j, _, err := Open(m, dir, noQuarantine(t))
	must(t, err)
	must(t, j.NewSegment(event(31))) // healthy: nothing goes to quarantine
	must(t, j.Append(event(32)))
	must(t, j.Close())
	if got, err := readAll(m, 0); err != nil || !isStory(got, 1, 32) {
		t.Fatalf("read %d events, %v", len(got), err)
	}
	content := get(t, m, old[2])
	content[len(content)/2]++
	put(t, m, old[2], content)
	j, found, err := Open(m, dir, box(m, "/q"))
	if err != nil || !found.Whole() || len(found.Damage) == 0 || j.Last() != 32 {
		t.Fatalf("%v, %+v", err, found)
	}
	must(t, j.Append(event(33)))
	must(t, j.Close())
	checkRebased(t, m, "history", 31, 33)
	if n := len(old) - 2; len(namesIn(t, m, "/q")) != n {
		t.Fatalf("%v went to quarantine", namesIn(t, m, "/q"))
	}
}

// TestDamageEndsAtTheNextBase: what lies behind a base that came before the
// present one has nothing to do with damage before it, and stays.
func TestDamageEndsAtTheNextBase(t *testing.T) {
	t.Parallel()
	m := newDisk(t)
	j := fill(t, m, 20, 900)
	must(t, j.NewSegment(event(21)))
	must(t, j.Append(event(22), event(23)))
	must(t, j.NewSegment(event(24)))
	must(t, j.Close())
	name := names(t, m)[1]
	content := get(t, m, name)
	content[len(content)/2]++
	put(t, m, name, content)
	_, found, err := Open(m, dir, box(m, "/q"))
	must(t, err)
	kept, err := readAll(m, 0)
	must(t, err)
	n := len(kept) - 4
	if found.Damage[0].After != uint64(n) || n < 7 || !isStory(kept[:n], 1, uint64(n)) || !isStory(kept[n:], 21, 24) {
		t.Fatalf("%+v, and %d events are left", found, len(kept))
	}
}

func namesIn(t *testing.T, m vfs.FS, folder string) (list []string) {
	entries, err := m.ReadDir(folder)
	must(t, err)
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// sign gives every line that ends in a tilde a right checksum instead, so that
// the fuzzer gets past it.
func sign(text []byte) []byte {
	var out []byte
	for line := range bytes.Lines(text) {
		if body, ok := bytes.CutSuffix(line, []byte("~\n")); ok {
			line = append(appendSum(bytes.Clone(body), body), '\n')
		}
		out = append(out, line...)
	}
	return out
}

// FuzzOpen: whatever is in the directory, Open neither panics nor hangs, what a
// reader delivers is in order and stands in a file, and a new base always helps.
func FuzzOpen(f *testing.F) {
	m := newDisk(f)
	j, err := Create(m, dir, 0, events(1, 3)...)
	must(f, err)
	must(f, j.Close())
	whole := get(f, m, current)
	var unsigned []byte
	for line := range bytes.Lines(whole) {
		unsigned = append(append(unsigned, line[:len(line)-1-sumLen]...), "~\n"...)
	}
	f.Add(unsigned, []byte("closed"))
	f.Add(unsigned, unsigned)
	f.Add(append(bytes.Clone(unsigned), unsigned...), whole)
	f.Add([]byte{}, whole[:len(whole)-4])
	f.Add([]byte("{}\n\n\"\n"), []byte{0})
	f.Add([]byte(`{"seq":5,"id":"","timestamp":"","type":"journal.segment","data":{"base":true}~`+"\n"+`{"seq":6,"id":"\"","timestamp":1,"type":"","data":}~`), unsigned)
	f.Fuzz(func(t *testing.T, cur, closed []byte) {
		m := newDisk(t)
		cur, closed = sign(cur), sign(closed)
		put(t, m, current, cur)
		put(t, m, closedName(1), closed)
		j, found, err := Open(m, dir, box(m, "/q"))
		var schema *SchemaError
		if errors.As(err, &schema) {
			return
		}
		must(t, err)
		got, err := readAll(m, found.Base)
		var gap *GapError
		if err != nil && !errors.As(err, &gap) {
			t.Fatal(err)
		}
		for i, e := range got {
			if i > 0 && e.Seq <= got[i-1].Seq {
				t.Fatalf("event %d after %d", e.Seq, got[i-1].Seq)
			}
			if start := fmt.Appendf(nil, `{"seq":%d,`, e.Seq); !bytes.Contains(cur, start) && !bytes.Contains(closed, start) {
				t.Fatalf("event %d stands nowhere", e.Seq)
			}
		}
		if found.Highest > 1<<62 {
			return
		}
		must(t, j.NewSegment(event(found.Highest+1)))
		must(t, j.Close())
		if o, err := Inspect(m, dir); err != nil || !o.Whole() || o.Base != found.Highest+1 || o.Last != o.Base || len(o.Damage) > 0 {
			t.Fatalf("%v, %+v", err, o)
		}
		if got, err = readAll(m, found.Highest+1); err != nil || !isStory(got, found.Highest+1, found.Highest+1) {
			t.Fatalf("read %v, %v", got, err)
		}
	})
}

// TestRandomDamageNeverInventsAnEvent splices, cuts, repeats and overwrites
// pieces of a journal at random.
func TestRandomDamageNeverInventsAnEvent(t *testing.T) {
	t.Parallel()
	m := newDisk(t)
	must(t, fill(t, m, 12, 0).Close())
	whole := get(t, m, current)
	rapid.Check(t, func(rt *rapid.T) {
		text := bytes.Clone(whole)
		for range rapid.IntRange(1, 4).Draw(rt, "changes") {
			a := rapid.IntRange(0, len(text)).Draw(rt, "a")
			b := rapid.IntRange(a, len(text)).Draw(rt, "b")
			at := rapid.IntRange(0, len(text)).Draw(rt, "at")
			piece := bytes.Clone(text[a:b])
			if rapid.Bool().Draw(rt, "cut") {
				text = slices.Delete(text, a, b)
			} else {
				text = slices.Insert(text, at, piece...)
			}
		}
		disk := newDisk(t)
		put(t, disk, current, text)
		found, err := Inspect(disk, dir)
		must(t, err)
		from := uint64(1)
		for {
			got, err := readAll(disk, from)
			for i, e := range got {
				if !same(e, event(e.Seq)) || i > 0 && e.Seq != got[i-1].Seq+1 {
					rt.Fatalf("an event that nobody wrote: %+v", e)
				}
			}
			if from == 1 && len(got) > 0 && got[0].Seq == 1 && uint64(len(got)) != found.Last {
				rt.Fatalf("read %d events, Inspect says %d", len(got), found.Last)
			}
			var gap *GapError
			if !errors.As(err, &gap) {
				must(t, err)
				break
			}
			if gap.Next < from || gap.Next <= gap.After {
				rt.Fatalf("no way on behind %v", gap)
			}
			from = gap.Next
		}
		if !bytes.Equal(text, whole) && found.Whole() && found.Torn == nil && !bytes.HasPrefix(whole, text) {
			rt.Fatalf("unnoticed: %q", text)
		}
	})
}
