package journal

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"hank/internal/vfs"
	"hank/internal/vfs/vfstest"
)

const dir = "/x/events"

var start = time.Date(2026, 3, 4, 5, 6, 7, 89_000_000, time.UTC)

// event returns the n-th event of a story; the same n gives the same event.
func event(n uint64) Event {
	return Event{
		Seq: n, ID: fmt.Sprintf("ev-%d", n), Timestamp: start.Add(time.Duration(n) * time.Second), Type: "test." + fmt.Sprint(n%3),
		Data: jsontext.Value(fmt.Sprintf(`{"n":%d,"text":"%s"}`, n, string(make0(int(n%5)*7)))),
	}
}

func make0(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = 'a' + byte(i%26)
	}
	return b
}

func events(first, last uint64) (list []Event) {
	for n := first; n <= last; n++ {
		list = append(list, event(n))
	}
	return list
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newDisk(t testing.TB) *vfstest.Mem {
	t.Helper()
	m := vfstest.NewMem()
	must(t, vfs.MkdirAll(m, dir, 0o700))
	return m
}

// box is a quarantine that writes into a directory, durably.
func box(fsys vfs.FS, folder string) Quarantine {
	return func(name string, content io.Reader, why error) error {
		if err := vfs.MkdirAll(fsys, folder, 0o700); err != nil {
			return err
		}
		data, err := io.ReadAll(content)
		if err != nil {
			return err
		}
		list, err := fsys.ReadDir(folder)
		if err != nil {
			return err
		}
		return vfs.ReplaceFile(fsys, filepath.Join(folder, fmt.Sprintf("%03d.%s", len(list), name)), append(data, "\n"+why.Error()...), 0o600, vfs.Durable)
	}
}

func noQuarantine(t testing.TB) Quarantine {
	return func(name string, _ io.Reader, why error) error {
		t.Errorf("%s went to quarantine: %v", name, why)
		return nil
	}
}

// readAll returns what a reader sees from a number on.
func readAll(fsys vfs.FS, from uint64) (list []Event, err error) {
	err = Read(fsys, dir, from, func(e Event) error {
		list = append(list, e)
		return nil
	})
	return list, err
}

func same(a, b Event) bool {
	return a.Seq == b.Seq && a.ID == b.ID && a.Type == b.Type && a.Timestamp.Equal(b.Timestamp) && string(a.Data) == string(b.Data)
}

// isStory tells whether the events are first..last of the one story.
func isStory(list []Event, first, last uint64) bool {
	return slices.EqualFunc(list, events(first, last), same)
}

// fill creates a journal with events 1..n in segments of the given size.
func fill(t testing.TB, fsys vfs.FS, n uint64, segment int64) *Journal {
	t.Helper()
	j, err := Create(fsys, dir, 0)
	must(t, err)
	if segment > 0 {
		j.segmentSize = segment
	}
	for i := range n {
		must(t, j.Append(event(i+1)))
	}
	must(t, j.Sync())
	return j
}

func names(t testing.TB, fsys vfs.FS) (list []string) {
	t.Helper()
	entries, err := fsys.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// put replaces a file.
func put(t testing.TB, fsys vfs.FS, name string, data []byte) {
	t.Helper()
	must(t, vfs.ReplaceFile(fsys, filepath.Join(dir, name), data, 0o600, vfs.Durable))
}

func get(t testing.TB, fsys vfs.FS, name string) []byte {
	t.Helper()
	b, err := vfs.ReadFile(fsys, filepath.Join(dir, name))
	must(t, err)
	return b
}

func seeded(n uint64) *rand.Rand { return rand.New(rand.NewPCG(n, 0)) }

func exists(fsys vfs.FS, name string) bool {
	_, err := fsys.Lstat(name)
	return !errors.Is(err, os.ErrNotExist)
}
