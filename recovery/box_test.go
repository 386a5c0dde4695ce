package recovery

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hank/internal/vfs"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/layout"
)

// box is an execution whose directory can be put back to how it was.
type box struct {
	t     testing.TB
	root  string
	l     layout.Layout
	dirs  []string
	files map[string][]byte
	want  string // what it knew
}

func pack(t testing.TB, root, want string) *box {
	t.Helper()
	b := &box{t: t, root: root, l: layout.Layout{Root: root, Workspace: layout.DefaultWorkspace(root)}, files: map[string][]byte{}, want: want}
	ok(t, filepath.WalkDir(b.l.Hankweave(), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			b.dirs = append(b.dirs, path)
			return nil
		}
		b.files[path], err = os.ReadFile(path)
		return err
	}))
	return b
}

// reset puts every file back and removes all others.
func (b *box) reset() {
	b.t.Helper()
	ok(b.t, filepath.WalkDir(b.l.Hankweave(), func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			if _, there := b.files[path]; !there {
				return os.Remove(path)
			}
		}
		return err
	}))
	for _, dir := range b.dirs {
		ok(b.t, os.MkdirAll(dir, 0o700))
	}
	for path, want := range b.files {
		if have, err := os.ReadFile(path); err != nil || string(have) != string(want) {
			_ = os.Remove(path)
			ok(b.t, os.WriteFile(path, want, 0o600))
		}
	}
}

// hash covers the names, kinds and bytes of everything below a directory.
func hash(t testing.TB, dir string) string {
	t.Helper()
	h := sha256.New()
	ok(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%q %v\n", path, e.Type())
		if e.Type().IsRegular() {
			text, err := os.ReadFile(path)
			fmt.Fprintf(h, "%d %x\n", len(text), sha256.Sum256(text))
			return err
		}
		return nil
	}))
	return fmt.Sprintf("%x", h.Sum(nil))
}

// reads wants the whole state from a reader, and returns the report.
func (b *box) reads(what string) finding.Report {
	b.t.Helper()
	v, err := Read(b.root)
	if err != nil {
		b.t.Fatalf("%s: reading: %v", what, err)
	}
	if got := told(b.t, v.State); got != b.want {
		b.t.Fatalf("%s: a reader sees another state: %s\n%+v", what, differences(b.want, got), v.Report)
	}
	return v.Report
}

// recovers opens the execution as a reader and as a writer, twice: all know
// what they must, the reader writes nothing, and the second opening finds
// nothing left to do. It returns the first opening's report.
func (b *box) recovers(what string) finding.Report {
	b.t.Helper()
	before := hash(b.t, b.root)
	b.reads(what)
	if hash(b.t, b.root) != before {
		b.t.Fatalf("%s: a reader has written", what)
	}
	foreseen := foresee(vfs.OS, b.root)
	x, err := Open(context.Background(), b.root, execution.Options{FS: fast})
	foreseen.came(b.t, what, x, err)
	if err != nil {
		b.t.Fatalf("%s: opening: %v", what, err)
	}
	rep := x.Report
	if got := told(b.t, x.State()); got != b.want {
		b.t.Fatalf("%s: another state was recovered: %s\n%+v", what, differences(b.want, got), rep)
	}
	if rep.Source == "new" || rep.Has(finding.Lost) || rep.Has(finding.Blocked) {
		b.t.Fatalf("%s: something was lost: %+v", what, rep)
	}
	ok(b.t, x.Close())
	b.settled(what)
	return rep
}

// settled checks that another opening has nothing to say.
func (b *box) settled(what string) {
	b.t.Helper()
	again := reopen(b.t, b.root)
	defer again.Close()
	if len(again.Report.Findings) > 0 || again.Report.Source != "state.json" {
		b.t.Fatalf("%s: the second opening still finds %+v", what, again.Report)
	}
	if got := told(b.t, again.State()); got != b.want {
		b.t.Fatalf("%s: the second opening sees another state: %s", what, differences(b.want, got))
	}
}

// says checks that a report speaks of each.
func says(t testing.TB, what string, rep finding.Report, words ...string) {
	t.Helper()
	text := fmt.Sprintf("%+v", rep)
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%s: the report does not speak of %q: %s", what, w, text)
		}
	}
}

// inQuarantine checks that a file with exactly these bytes is kept, with the
// reason beside it.
func (b *box) inQuarantine(what, name string, text []byte) {
	b.t.Helper()
	entries, err := os.ReadDir(b.l.Quarantine())
	ok(b.t, err)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), name) {
			have, err := os.ReadFile(filepath.Join(b.l.Quarantine(), e.Name()))
			ok(b.t, err)
			if string(have) == string(text) {
				if _, err := os.Stat(filepath.Join(b.l.Quarantine(), e.Name()+".why")); err != nil {
					b.t.Errorf("%s: %s is in quarantine without a reason", what, name)
				}
				return
			}
		}
	}
	b.t.Errorf("%s: the damaged %s (%d bytes) is not in quarantine", what, name, len(text))
}

func (b *box) journal() string { return filepath.Join(b.l.Events(), "events.jsonl") }

func remove(t testing.TB, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
}

func put(t testing.TB, path string, text []byte) {
	t.Helper()
	ok(t, os.WriteFile(path, text, 0o600))
}
