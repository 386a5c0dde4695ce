package journal

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"hank/internal/vfs"
)

// opened counts which files are opened.
type opened struct {
	vfs.FS
	names *[]string
}

func (o opened) OpenFile(name string, flag int, perm os.FileMode) (vfs.File, error) {
	*o.names = append(*o.names, filepath.Base(name))
	return o.FS.OpenFile(name, flag, perm)
}

// onDisk makes a journal with closed segments in a real directory, and returns
// when a change of any of its files would show in the file's times.
func onDisk(t *testing.T) (dir string, closed []string) {
	t.Helper()
	dir = t.TempDir()
	j, err := Create(vfs.OS, dir, 0)
	must(t, err)
	j.segmentSize = 1000
	for i := range uint64(40) {
		must(t, j.Append(event(i+1)))
	}
	must(t, j.Close())
	entries, err := os.ReadDir(dir)
	must(t, err)
	newest := int64(0)
	for _, e := range entries {
		if id, ok := vfs.Identify(vfs.OS, filepath.Join(dir, e.Name())); !ok {
			t.Skip("files have no identity here")
		} else {
			newest = max(newest, id.CTime)
		}
		if _, ok := closedNumber(e.Name()); ok {
			closed = append(closed, e.Name())
		}
	}
	clock := filepath.Join(t.TempDir(), "clock")
	for at := int64(0); at <= newest; {
		must(t, os.WriteFile(clock, nil, 0o600))
		fi, err := os.Stat(clock)
		must(t, err)
		at = fi.ModTime().UnixNano()
	}
	return dir, closed
}

// without returns what was found, but for what was learnt on the way.
func without(o Opened) Opened {
	o.learnt = nil
	return o
}

func TestSegmentsThatAreKnownAreNotReadAgain(t *testing.T) {
	t.Parallel()
	dir, closed := onDisk(t)
	later := time.Now().Add(time.Hour)
	first, err := inspect(vfs.OS, dir, SegmentCache{}, later)
	must(t, err)
	text, err := first.Known("boot").Marshal()
	must(t, err)
	known := ParseKnown(text, "boot")
	if len(known.Segments) != len(closed) || len(closed) < 5 {
		t.Fatalf("%d of %d closed segments are known", len(known.Segments), len(closed))
	}
	var names []string
	second, err := inspect(opened{vfs.OS, &names}, dir, known, later)
	must(t, err)
	if slices.ContainsFunc(names, func(n string) bool { return n != current }) {
		t.Errorf("read again: %v", names)
	}
	if !reflect.DeepEqual(first, second) {
		t.Errorf("first %+v,\nthen %+v", first, second)
	}
	// What is young, of another boot or not whole is not known.
	young, err := inspect(vfs.OS, dir, SegmentCache{}, time.Now().Add(-time.Hour))
	must(t, err)
	if len(young.learnt) != 0 {
		t.Error("young files are known")
	}
	if k := ParseKnown(text, "another boot"); len(k.Segments) != 0 {
		t.Error("another boot knows what this one does")
	}
	for i := range text {
		bad := bytes.Clone(text)
		bad[i] ^= 1
		if k := ParseKnown(bad, "boot"); len(k.Segments) != 0 && i != len(text)-1 {
			t.Fatalf("with byte %d changed, %d segments are known", i, len(k.Segments))
		}
	}
}

// Whatever is done to a file that is known, it is found as if nothing were.
func TestAKnownSegmentThatIsTouchedIsReadAgain(t *testing.T) {
	t.Parallel()
	flip := func(path string) error {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		data[len(data)/2] ^= 1
		fi, err := os.Stat(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return err
		}
		return os.Chtimes(path, fi.ModTime(), fi.ModTime()) // somebody hides it
	}
	for name, hurt := range map[string]func(path string) error{
		"flipped":   flip,
		"gone":      os.Remove,
		"empty":     func(path string) error { return os.Truncate(path, 0) },
		"cut short": func(path string) error { return os.Truncate(path, 500) },
		"replaced": func(path string) error {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			data = bytes.Replace(data, []byte(`"n":`), []byte(`"m":`), 1)
			if err := os.WriteFile(path+".new", data, 0o600); err != nil {
				return err
			}
			return os.Rename(path+".new", path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, closed := onDisk(t)
			for _, segment := range closed {
				later := time.Now().Add(time.Hour)
				before, err := inspect(vfs.OS, dir, SegmentCache{}, later)
				must(t, err)
				must(t, hurt(filepath.Join(dir, segment)))
				got, err := inspect(vfs.OS, dir, before.Known("boot"), later)
				must(t, err)
				want, err := inspect(vfs.OS, dir, SegmentCache{}, later)
				must(t, err)
				if !reflect.DeepEqual(without(got), without(want)) {
					t.Fatalf("%s: with what was known %+v,\nread anew %+v", segment, got, want)
				}
				if _, known := got.learnt[segment]; known || got.Whole() {
					t.Fatalf("%s is known and damaged", segment)
				}
				if len(got.learnt) == len(closed) {
					t.Fatal("damage makes nothing unknown")
				}
			}
		})
	}
}

// A base among the closed segments begins the story anew, known or not.
func TestABaseAmongKnownSegmentsCounts(t *testing.T) {
	t.Parallel()
	dir, closed := onDisk(t)
	j, _, err := Open(vfs.OS, dir, noQuarantine(t))
	must(t, err)
	must(t, j.NewSegment(event(100)))
	j.segmentSize = 1
	must(t, j.Append(event(101)))
	must(t, j.Append(event(102)))
	must(t, j.Close())
	later := time.Now().Add(time.Hour)
	want, err := inspect(vfs.OS, dir, SegmentCache{}, later)
	must(t, err)
	if len(want.learnt) < len(closed)+2 || want.Base != 100 || want.Last != 102 {
		t.Fatalf("%d known, %+v", len(want.learnt), want)
	}
	got, err := inspect(vfs.OS, dir, want.Known("boot"), later)
	must(t, err)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("known %+v,\nread %+v", got, want)
	}
	if text := fmt.Sprintf("%+v", got.Segments); !strings.Contains(text, "Base:true") {
		t.Error("no segment begins with a base")
	}
}

// TestTheCurrentSegmentIsReadFromWhereItIsKnown: what is found is what a whole reading finds.
// Damage before that place is not found, and is read by nobody as an event; where there is any
// behind it, all is read.
func TestTheCurrentSegmentIsReadFromWhereItIsKnown(t *testing.T) {
	t.Parallel()
	m := newDisk(t)
	j := fill(t, m, 30, 2500)
	j.segmentSize = segmentSize
	end := j.End()
	if end.First < 2 || end.Last-end.First < 4 {
		t.Fatalf("the current segment has the events %d to %d", end.First, end.Last)
	}
	must(t, j.Append(events(31, 40)...))
	must(t, j.Close())
	good := get(t, m, current)
	look := func(known Place) Opened {
		t.Helper()
		o, err := InspectNew(m, dir, SegmentCache{End: known})
		must(t, err)
		return o
	}
	found := func(o Opened) Opened { o.places = nil; return without(o) }
	whole := look(Place{})
	read := func(o Opened, from uint64) (list []Event, err error) {
		err = o.Read(m, dir, from, func(e Event) error { list = append(list, e); return nil })
		return list, err
	}
	for what, known := range map[string]Place{
		"the known end":              end,
		"the end of another segment": {First: end.First - 1, Last: end.Last, Offset: end.Offset},
		"no end of a line":           {First: end.First, Last: end.Last, Offset: end.Offset - 3},
		"another event":              {First: end.First, Last: end.Last - 1, Offset: end.Offset},
	} {
		o := look(known)
		if !reflect.DeepEqual(found(o), found(whole)) {
			t.Errorf("%s: %+v\nwant %+v", what, o, whole)
		}
		for _, from := range []uint64{1, end.First, end.Last, end.Last + 1, 36, 41} {
			if list, err := read(o, from); err != nil || !isStory(list, from, 40) {
				t.Errorf("%s, from event %d: %d events, %v", what, from, len(list), err)
			}
		}
	}
	flipped := func(at ...int64) {
		bad := bytes.Clone(good)
		for _, i := range at {
			bad[i] ^= 1
		}
		put(t, m, current, bad)
	}
	flipped(end.Offset - 20)
	if o := look(end); !reflect.DeepEqual(found(o), found(whole)) {
		t.Errorf("damage before the known end: %+v", o)
	} else if list, err := read(o, end.Last+1); err != nil || !isStory(list, 31, 40) {
		t.Errorf("after it: %d events, %v", len(list), err)
	} else if list, err := read(o, end.First); err == nil || !isStory(list, end.First, end.Last-1) {
		t.Errorf("over it: %d events, %v", len(list), err)
	}
	if o := look(Place{}); o.Whole() {
		t.Error("a whole reading finds nothing")
	}
	for what, at := range map[string][]int64{"damage behind it": {end.Offset + 20}, "on both sides": {end.Offset - 20, end.Offset + 20}, "at the end": {int64(len(good)) - 5}} {
		flipped(at...)
		if o, want := look(end), look(Place{}); !reflect.DeepEqual(o, want) || len(o.Damage) == 0 && o.Torn == nil {
			t.Errorf("%s: %+v\nwant %+v", what, o, want)
		}
	}
}
