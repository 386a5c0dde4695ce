package eventlog

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"hank/internal/vfs"
	"hank/recovery"
	"hank/recovery/layout"
	"hank/runtime/lines"
	"hank/state"
	"hank/state/journal"
)

// written is an execution whose journal has so many events, in segments of some hundreds.
func written(t *testing.T, count uint64) *recovery.View {
	t.Helper()
	v := &recovery.View{Layout: layout.Layout{Root: t.TempDir()}, State: &state.State{}}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(v.Layout.Events(), 0o700))
	event := func(seq uint64) journal.Event {
		of := "assistant.action"
		if seq%7 == 0 {
			of = repeating[0]
		}
		return journal.Event{Seq: seq, ID: fmt.Sprint(seq), Timestamp: time.Unix(1e9, 0).UTC(), Type: of, Data: jsontext.Value(fmt.Sprintf(`{"n":%d}`, seq))}
	}
	j, err := journal.Create(vfs.OS, v.Layout.Events(), 0, event(1))
	must(err)
	for seq := uint64(2); seq <= count; seq++ {
		if seq%311 == 0 {
			must(j.AppendWhole(event(seq)))
		} else {
			must(j.Append(event(seq)))
		}
	}
	must(j.Close())
	return v
}

// opened counts the segments that are looked at.
func opened(n *int) Files {
	return func(path string, fn func(*lines.File) error) error {
		*n++
		f, err := lines.Open(path, "")
		if err != nil {
			return err
		}
		defer f.Close()
		if _, _, err := f.Refresh(0); err != nil {
			return err
		}
		return fn(f)
	}
}

// TestAJournalIsReadBackByRanges: the ranges together are what a whole reading finds, and each
// reads only the segments that it is in.
func TestAJournalIsReadBackByRanges(t *testing.T) {
	t.Parallel()
	const count = 2000
	v := written(t, count)
	var want []Event
	if err := Read(v, Query{Text: true}, Sink{Event: func(e Event) error { want = append(want, e); return nil }, Damage: func(why string) { t.Error(why) }}); err != nil {
		t.Fatal(err)
	}
	slices.Reverse(want)
	if len(want) != count-count/7 {
		t.Fatalf("the journal has %d events", len(want))
	}
	for _, leftover := range []bool{false, true} {
		if leftover { // of a closing that was interrupted: the current segment has two names
			if err := os.Link(journal.Current(v.Layout.Events()), journal.ClosedPath(v.Layout.Events(), 1866)); err != nil {
				t.Fatal(err)
			}
		}
		for _, size := range []int{20, 200, 5000} {
			var got []Event
			for before, ranges := uint64(0), 0; ; ranges++ {
				segments := 0
				found, uneven, err := ReadBack(v, opened(&segments), Back{Before: before, Most: size, Looks: 2 * size})
				if err != nil || uneven || len(found.Events) > size || found.Looked > 2*size {
					t.Fatalf("before %d: %d events of %d, uneven %t, %v", before, len(found.Events), found.Looked, uneven, err)
				}
				if segments > 3+2*size/311 {
					t.Errorf("before %d, %d events: %d segments are looked at", before, size, segments)
				}
				got = append(got, found.Events...)
				if before = found.Older; before == 0 {
					break
				}
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%d at once: %d events, want %d, from %d to %d", size, len(got), len(want), got[0].Seq, got[len(got)-1].Seq)
			}
		}
	}
	some, uneven, err := ReadBack(v, opened(new(int)), Back{Take: func(e Event) bool { return e.Seq == 3 }, Most: 10, Looks: 500})
	if err != nil || uneven || len(some.Events) != 0 || some.Looked != 500 || some.Older != count-499 {
		t.Errorf("a search that is cut off: %+v, %t, %v", some, uneven, err)
	}
}

// TestADamagedJournalIsNotReadBack: whatever is changed, moved or missing in a range is left to
// a whole reading, which tells of it.
func TestADamagedJournalIsNotReadBack(t *testing.T) {
	t.Parallel()
	all := Back{Most: 5000, Looks: 5000}
	for name, damage := range map[string]func(dir string) error{
		"a byte of an event": func(dir string) error {
			return change(journal.Current(dir), func(text []byte) []byte { text[len(text)-40] ^= 1; return text })
		},
		"a line less": func(dir string) error {
			return change(journal.ClosedPath(dir, 311), func(text []byte) []byte { at := slices.Index(text, '\n'); return append(text[:at+1], text[at+200:]...) })
		},
		"a segment less":         func(dir string) error { return os.Remove(journal.ClosedPath(dir, 622)) },
		"the first segment less": func(dir string) error { return os.Remove(journal.ClosedPath(dir, 1)) },
		"no journal":             func(dir string) error { return os.RemoveAll(dir) },
		"nothing but damage": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "events.jsonl"), []byte("x\ny\nz\n"), 0o600)
		},
	} {
		v := written(t, 1000)
		if found, uneven, err := ReadBack(v, opened(new(int)), all); err != nil || uneven || found.Looked != 1000 {
			t.Fatalf("whole: %d, %t, %v", found.Looked, uneven, err)
		}
		if err := damage(v.Layout.Events()); err != nil {
			t.Fatal(err)
		}
		if found, uneven, err := ReadBack(v, opened(new(int)), all); err != nil || !uneven {
			t.Errorf("%s: %d events, %v", name, found.Looked, err)
		}
	}
}

func change(name string, how func([]byte) []byte) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	return os.WriteFile(name, how(text), 0o600)
}
