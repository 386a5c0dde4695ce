package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"hank/internal/vfs"
	"hank/internal/vfs/vfstest"
)

func TestEventsComeBackAsTheyWereOnARealDisk(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	j, err := Create(vfs.OS, folder, 41)
	must(t, err)
	must(t, j.Append(event(42), event(43)))
	must(t, j.Sync())
	must(t, j.Append(event(44)))
	must(t, j.Close())
	j, found, err := Open(vfs.OS, folder, noQuarantine(t))
	must(t, err)
	if j.Last() != 44 || found.Base != 42 || found.Last != 44 || found.Highest != 44 || !found.Whole() || len(found.Ranges) != 1 || found.Schema != Schema {
		t.Fatalf("found %+v", found)
	}
	must(t, j.Append(event(45)))
	must(t, j.Close())
	var got []Event
	must(t, Read(vfs.OS, folder, 43, func(e Event) error { got = append(got, e); return nil }))
	if !isStory(got, 43, 45) {
		t.Fatalf("read %v", got)
	}
	fi, err := os.Stat(filepath.Join(folder, current))
	must(t, err)
	if fi.Mode().Perm() != 0o600 {
		t.Fatalf("the journal has mode %v", fi.Mode())
	}
}

// TestAnyEventComesBack draws ids, types and data with every kind of
// character, and checks that each line is one JSON object in the documented
// order.
func TestAnyEventComesBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.SampledFrom([]rune("\"\\\n\r\t\x00\u2028,{}:"))))
		quoted, err := jsontext.AppendQuote(nil, text.Draw(t, "data"))
		if err != nil {
			t.Fatal(err)
		}
		e := Event{
			Seq: rapid.Uint64Range(1, 1<<63).Draw(t, "seq"), ID: text.Draw(t, "id"), Type: text.Draw(t, "type"),
			Timestamp: time.UnixMilli(rapid.Int64Range(-62135596800000, 253402300799999).Draw(t, "at")).UTC(),
			Data:      jsontext.Value(rapid.SampledFrom([]string{"%s", "[ %s ]", "{\n  \"a\": %s\n}", "{\"sum\":%s}"}).Draw(t, "form")),
		}
		e.Data = jsontext.Value(strings.ReplaceAll(string(e.Data), "%s", string(quoted)))
		b, err := appendLine([]byte("before"), e)
		if err != nil {
			t.Fatal(err)
		}
		b = b[len("before"):]
		if bytes.IndexByte(b, '\n') != len(b)-1 {
			t.Fatalf("not one line: %q", b)
		}
		l, err := parse(b[:len(b)-1])
		if err != nil {
			t.Fatal(err)
		}
		got, err := l.event()
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Data.Compact(); err != nil || !same(e, got) {
			t.Fatalf("wrote %+v, read %+v", e, got)
		}
		dec := jsontext.NewDecoder(bytes.NewReader(b))
		var keys []string
		for tok, err := dec.ReadToken(); err == nil; tok, err = dec.ReadToken() {
			if tok.Kind() == '"' {
				keys = append(keys, tok.String())
				_ = dec.SkipValue()
			}
		}
		if strings.Join(keys, " ") != "seq id timestamp type data sum" {
			t.Fatalf("keys %v", keys)
		}
	})
}

func TestAppendRefusesWhatItCouldNotReadBack(t *testing.T) {
	t.Parallel()
	m := newDisk(t)
	j := fill(t, m, 2, 0)
	before := get(t, m, current)
	for name, e := range map[string]Event{
		"number":      event(4),
		"header":      {Seq: 3, Type: headerType},
		"broken data": {Seq: 3, Data: jsontext.Value(`{"a":`)},
		"two values":  {Seq: 3, Data: jsontext.Value(`1 2`)},
		"not UTF-8":   {Seq: 3, ID: "\xff"},
		"year 10000":  {Seq: 3, Timestamp: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)},
		"huge":        {Seq: 3, Data: make(jsontext.Value, maxLine)},
	} {
		err := j.Append(e)
		var failed *FailedError
		if err == nil || errors.As(err, &failed) {
			t.Errorf("%s: %v", name, err)
		}
		if e.Seq = 4; name == "number" {
			e.Seq = 3
		}
		if err := j.Append(event(3), e); err == nil {
			t.Errorf("%s as the second of two was taken", name)
		}
	}
	if !bytes.Equal(before, get(t, m, current)) {
		t.Fatal("a refused event left bytes")
	}
	must(t, j.Append(event(3)))
	must(t, j.Close())
	if got, err := readAll(m, 0); err != nil || !isStory(got, 1, 3) {
		t.Fatalf("read %d events, %v", len(got), err)
	}
}

func TestLargeLinesComeBack(t *testing.T) {
	t.Parallel()
	m := newDisk(t)
	j := fill(t, m, 1, 0)
	e := event(2)
	e.Data = jsontext.Value(`"` + strings.Repeat("x", 5<<20) + `"`)
	must(t, j.Append(e, event(3)))
	must(t, j.Close())
	got, err := readAll(m, 2)
	if err != nil || len(got) != 2 || !same(got[0], e) || !same(got[1], event(3)) {
		t.Fatalf("read %d events, %v", len(got), err)
	}
	if o, err := Inspect(m, dir); err != nil || !o.Whole() || o.Last != 3 {
		t.Fatalf("found %+v, %v", o, err)
	}
}

func TestAnOverlongLineIsSkippedInBoundedMemory(t *testing.T) {
	t.Parallel()
	l := newLines(strings.NewReader("one\n"+strings.Repeat("y", 3<<20)+"\ntwo\nrest"), 0)
	l.limit = 1 << 20
	var got []string
	for {
		text, err := l.next()
		if err != nil && len(text) > 0 {
			t.Fatalf("text and error: %v", err)
		}
		got = append(got, fmt.Sprintln(string(text), err, l.off, l.size))
		if len(got) == 5 {
			break
		}
	}
	want := []string{"one <nil> 0 4\n", fmt.Sprintln("", errLong, 4, 3<<20+1), fmt.Sprintln("two <nil>", 3<<20+5, 4), fmt.Sprintln("", errTorn, 3<<20+9, 4), fmt.Sprintln("", io.EOF, 3<<20+13, 0)}
	if !slices.Equal(got, want) {
		t.Fatalf("got %q", got)
	}
	if cap(l.long) > 2<<20 {
		t.Fatalf("%d bytes were kept for a line over the limit", cap(l.long))
	}
}

func TestSegmentsAreClosedAndReadAcross(t *testing.T) {
	t.Parallel()
	m := newDisk(t)
	must(t, fill(t, m, 40, 1000).Close())
	if n := len(names(t, m)); n < 5 {
		t.Fatalf("only %d segments", n)
	}
	for from := range uint64(42) {
		if got, err := readAll(m, from); err != nil || !isStory(got, max(from, 1), 40) {
			t.Fatalf("from %d: %d events, %v", from, len(got), err)
		}
	}
	j, found, err := Open(m, dir, noQuarantine(t))
	must(t, err)
	if found.Base != 1 || found.Last != 40 || len(found.Ranges) != 1 || !found.Whole() {
		t.Fatalf("found %+v", found)
	}
	next := uint64(1)
	for _, s := range found.Segments {
		if s.First != next || s.Last+1 < s.First {
			t.Fatalf("segments %+v", found.Segments)
		}
		next = s.Last + 1
	}
	must(t, j.Append(event(41)))
	must(t, j.Close())
}

func TestCreateRefusesAFolderThatHasAJournal(t *testing.T) {
	t.Parallel()
	m := newDisk(t)
	must(t, fill(t, m, 3, 0).Close())
	if _, err := Create(m, dir, 0); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("created over a journal: %v", err)
	}
	if _, _, err := Open(newDisk(t), dir, noQuarantine(t)); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("an empty folder was opened: %v", err)
	}
	if err := Read(newDisk(t), dir, 0, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("an empty folder was read: %v", err)
	}
}

func TestANewerSchemaIsReadButNotWritten(t *testing.T) {
	t.Parallel()
	m := newDisk(t)
	must(t, fill(t, m, 3, 0).Close())
	old := get(t, m, current)
	_, rest, _ := bytes.Cut(old, []byte("\n"))
	head, err := appendLine(nil, Event{ID: "segment", Timestamp: start, Type: headerType, Data: jsontext.Value(`{"schema":9,"base":true,"more":[1]}`)})
	must(t, err)
	put(t, m, current, append(append(head, rest...), "torn"...))
	calls := m.Calls()
	_, found, err := Open(m, dir, noQuarantine(t))
	var schema *SchemaError
	if !errors.As(err, &schema) || schema.Schema != 9 || found.Last != 3 || m.Calls() != calls {
		t.Fatalf("%v, %+v, %d calls", err, found, m.Calls()-calls)
	}
	if got, err := readAll(m, 1); err != nil || !isStory(got, 1, 3) {
		t.Fatalf("read %d events, %v", len(got), err)
	}
}

// An older hank must not read events of this schema as its own: they never share a
// segment, and the number of the new one is there before its first event.
func TestEventsNeverGoIntoASegmentOfAnOlderSchema(t *testing.T) {
	t.Parallel()
	m := newDisk(t)
	must(t, fill(t, m, 3, 0).Close())
	_, rest, _ := bytes.Cut(get(t, m, current), []byte("\n"))
	head, err := appendLine(nil, Event{ID: "segment", Timestamp: start, Type: headerType, Data: jsontext.Value(`{"schema":1,"base":true}`)})
	must(t, err)
	older := append(head, rest...)
	put(t, m, current, older)
	j, found, err := Open(m, dir, noQuarantine(t))
	must(t, err)
	if found.Schema != 1 || !bytes.Equal(get(t, m, current), older) {
		t.Fatalf("opening it has changed it, or its schema is %d and not 1", found.Schema)
	}
	must(t, j.Append(event(4)))
	if got := get(t, m, closedName(1)); !bytes.Equal(got, older) {
		t.Fatalf("the closed segment has %q, want %q", got, older)
	}
	must(t, j.Append(event(5)))
	must(t, j.Close())
	j, found, err = Open(m, dir, noQuarantine(t))
	must(t, err)
	if found.Schema != Schema || len(found.Segments) != 2 || !found.Whole() || found.Last != 5 {
		t.Fatalf("%+v", found)
	}
	must(t, j.Append(event(6)))
	if got, err := readAll(m, 1); err != nil || !isStory(got, 1, 6) {
		t.Fatalf("read %d events, %v", len(got), err)
	}
	if len(get(t, m, closedName(1))) != len(older) {
		t.Fatal("the older segment has grown")
	}
}

func TestUnknownTypesAreNotDamage(t *testing.T) {
	t.Parallel()
	m := newDisk(t)
	j := fill(t, m, 1, 0)
	must(t, j.Append(Event{Seq: 2, Timestamp: start, Type: "from.the.future", Data: jsontext.Value(`[{"deep":1e400}]`)}))
	must(t, j.Close())
	j, found, err := Open(m, dir, noQuarantine(t))
	if err != nil || !found.Whole() || j.Last() != 2 {
		t.Fatalf("%v, %+v", err, found)
	}
}

func TestAppendAndSyncCostOneWriteAndOneSync(t *testing.T) {
	t.Parallel()
	m := newDisk(t)
	j := fill(t, m, 3, 0)
	var ops []vfstest.Op
	m.SetHook(func(c vfstest.Call) { ops = append(ops, c.Op) })
	must(t, j.Append(event(4), event(5), event(6)))
	must(t, j.Sync())
	must(t, j.Sync())
	must(t, j.Append())
	if fmt.Sprint(ops) != "[write sync]" {
		t.Fatalf("calls %v", ops)
	}
}

func TestAFailedWriteOrSyncPoisonsTheJournal(t *testing.T) {
	t.Parallel()
	for _, cause := range []error{syscall.EIO, syscall.ENOSPC, syscall.EINTR, vfstest.Short(syscall.ENOSPC)} {
		for _, op := range []vfstest.Op{vfstest.OpWrite, vfstest.OpSync} {
			m := newDisk(t)
			must(t, fill(t, m, 3, 0).Close())
			fsys := vfstest.Inject(m, vfstest.Nth(2, cause, vfstest.Match(current, op)))
			j, _, err := Open(fsys, dir, noQuarantine(t))
			must(t, err)
			err = j.Append(event(4))
			if err == nil {
				err = j.Sync()
			}
			if op == vfstest.OpWrite && err == nil {
				err = j.Append(event(5))
			}
			var failed *FailedError
			if !errors.As(err, &failed) || !errors.Is(err, errors.Unwrap(failed)) {
				t.Fatalf("%s %v: %v", op, cause, err)
			}
			for name, again := range map[string]error{"append": j.Append(event(4)), "sync": j.Sync(), "segment": j.NewSegment(event(9)), "close": j.Close()} {
				if again != err {
					t.Errorf("%s after a failed %s: %v", name, op, again)
				}
			}
			want := uint64(3)
			if op == vfstest.OpWrite {
				want = 4
			}
			j, found, err := Open(m, dir, noQuarantine(t))
			if err != nil || j.Last() != want || !found.Whole() || found.Torn != nil {
				t.Fatalf("after a failed %s: %v, %+v", op, err, found)
			}
		}
	}
}

// TestAFailedSyncIsNotBelievedLater: after a failed fsync Linux shows bytes
// that never reach the disk. Events written behind them must not be lost.
func TestAFailedSyncIsNotBelievedLater(t *testing.T) {
	t.Parallel()
	m := newDisk(t)
	must(t, fill(t, m, 3, 0).Close())
	fsys := vfstest.Inject(m, vfstest.Nth(2, syscall.EIO, vfstest.Match(current, vfstest.OpSync)))
	j, _, err := Open(fsys, dir, noQuarantine(t))
	must(t, err)
	must(t, j.Append(event(4)))
	m.LoseUnsynced(filepath.Join(dir, current))
	if j.Sync() == nil {
		t.Fatal("the sync did not fail")
	}
	j, _, err = Open(m, dir, noQuarantine(t))
	must(t, err)
	first := j.Last() + 1
	must(t, j.Append(event(first), event(first+1)))
	must(t, j.Sync())
	for percent := range 101 {
		image := m.Crash(seeded(uint64(percent)), percent)
		j, found, err := Open(image, dir, noQuarantine(t))
		if err != nil || j.Last() != first+1 || !found.Whole() {
			t.Fatalf("acknowledged up to %d: %v, %+v", first+1, err, found)
		}
	}
}

func TestSomebodyElsesBytesAreNoticedBeforeTheNextEvent(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(m *vfstest.Mem){
		"appended":  func(m *vfstest.Mem) { put(t, m, current, append(get(t, m, current), "junk\n"...)) },
		"truncated": func(m *vfstest.Mem) { put(t, m, current, get(t, m, current)[:100]) },
		"removed":   func(m *vfstest.Mem) { must(t, m.Remove(filepath.Join(dir, current))) },
	} {
		m := newDisk(t)
		j := fill(t, m, 3, 0)
		change(m)
		var failed *FailedError
		if err := j.Append(event(4)); !errors.As(err, &failed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// watched is a journal of three events on a real disk, whose files have identities, and the
// path of its current segment. Somebody has asked for changes.
func watched(t *testing.T) (j *Journal, segment string) {
	t.Helper()
	dir := t.TempDir()
	j, err := Create(vfs.OS, dir, 0, events(1, 3)...)
	must(t, err)
	must(t, j.Changed())
	return j, filepath.Join(dir, current)
}

// replaceFile replaces a file by another one with the same content.
func replaceFile(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path+".other", text, 0o600))
	must(t, os.Rename(path+".other", path))
}

// What somebody else has changed never gets the closed name of a segment: neither where the
// next event begins a segment, nor where several events do. A change that keeps the size is
// told by Changed after that, too.
func TestASegmentThatSomebodyElseHasChangedIsNotClosed(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(path string){
		"appended": func(path string) {
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
			must(t, err)
			_, err = f.WriteString("junk\n")
			must(t, errors.Join(err, f.Close()))
		},
		"truncated": func(path string) { must(t, os.Truncate(path, 100)) },
		"removed":   func(path string) { must(t, os.Remove(path)) },
		"replaced":  func(path string) { replaceFile(t, path) },
		"touched":   func(path string) { must(t, os.Chtimes(path, start, start)) },
	} {
		for call, add := range map[string]func(j *Journal) error{
			"Append":      func(j *Journal) error { return j.Append(event(4)) },
			"AppendWhole": func(j *Journal) error { return j.AppendWhole(event(4), event(5)) },
		} {
			j, segment := watched(t)
			j.segmentSize = 1
			change(segment)
			err := add(j)
			if name == "touched" {
				if changed := j.Changed(); err != nil || !errors.Is(changed, ErrForeign) {
					t.Errorf("%s, %s: %v, and then %v", name, call, err, changed)
				}
				continue
			}
			if !errors.Is(err, ErrForeign) {
				t.Errorf("%s, %s: %v", name, call, err)
			}
			if closed := filepath.Join(filepath.Dir(segment), closedName(1)); exists(vfs.OS, closed) {
				t.Errorf("%s, %s: it has its closed name", name, call)
			}
		}
	}
}

// A change of a segment that has just begun is noticed, too.
func TestAChangeOfASegmentThatHasJustBegunIsNoticed(t *testing.T) {
	t.Parallel()
	j, segment := watched(t)
	must(t, j.AppendWhole(event(4), event(5)))
	replaceFile(t, segment)
	if err := j.Changed(); !errors.Is(err, ErrForeign) {
		t.Errorf("another file: %v", err)
	}
	must(t, j.Close())
}
