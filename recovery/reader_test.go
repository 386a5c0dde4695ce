package recovery

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"hank/internal/vfs"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/layout"
	"hank/state"
	"hank/state/journal"
)

// watched calls see before each call that changes something.
type watched struct {
	vfs.FS
	see func()
}

func (w watched) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	w.see()
	return w.FS.OpenFile(name, flag, perm)
}

func (w watched) Rename(from, to string) error {
	w.see()
	return w.FS.Rename(from, to)
}

func TestReadersSayThatAnExecutionIsBeingCreated(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "x")
	var seen atomic.Int32
	var reading sync.Mutex // the state is written beside the opening
	see := func() {
		if _, err := os.Lstat(filepath.Join(root, layout.Dir)); err != nil || !reading.TryLock() {
			return
		}
		defer reading.Unlock()
		v, err := Read(root)
		if err != nil {
			t.Errorf("%v", err)
			return
		}
		if !v.Live {
			return // it is not locked yet
		}
		seen.Add(1)
		if !v.Creating() || len(v.Report.Findings) > 0 || v.Blocked != nil {
			t.Errorf("creating %v, findings %v, blocked %v", v.Creating(), v.Report.Findings, v.Blocked)
		}
		store, err := v.Store()
		var creating *CreatingError
		if err == nil {
			store.Close()
		} else if !errors.As(err, &creating) {
			t.Errorf("the store: %v", err)
		}
	}
	x, err := Create(context.Background(), root, CreateOptions{Options: execution.Options{FS: watched{fast, see}, Command: "hank run", Reap: func(string) ([]string, error) { return nil, nil }}})
	if err != nil {
		t.Fatal(err)
	}
	if n := seen.Load(); n < 5 {
		t.Errorf("only %d looks", n)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestAReaderClaimsNoRepair(t *testing.T) {
	t.Parallel()
	base := filepath.Join(t.TempDir(), "base")
	history(t, base, 12, CreateOptions{}).close()
	for name, hurt := range map[string]func(layout.Layout) error{
		"state.json": func(l layout.Layout) error { return os.Truncate(l.State(), 50) },
		"all but git": func(l layout.Layout) error {
			return errors.Join(os.Remove(l.State()), os.RemoveAll(l.State()+".bak"), os.RemoveAll(l.Events())) // a quick history has been written once, and has none
		},
		"state, journal": func(l layout.Layout) error { return errors.Join(os.Remove(l.State()), os.RemoveAll(l.Events())) },
		"a branch": func(l layout.Layout) error {
			return os.WriteFile(filepath.Join(l.Store(), "refs", "heads", "main"), []byte("junk\n"), 0o600)
		},
	} {
		root := filepath.Join(t.TempDir(), "x")
		if err := os.CopyFS(root, os.DirFS(base)); err != nil {
			t.Fatal(err)
		}
		l := layout.Layout{Root: root}
		if err := hurt(l); err != nil {
			t.Fatal(err)
		}
		v, err := Read(root)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		repairs := 0
		for _, f := range v.Report.Findings {
			for _, claim := range []string{"was rebuilt", "were rebuilt", "is replaced", "is put back", "was used", "written anew"} {
				if strings.Contains(f.What, claim) {
					t.Errorf("%s: a reader says %q", name, f.What)
				}
			}
			if f.Severity == finding.Mended {
				repairs++
			}
			if word := f.Severity.Planned(); word == "mended" || word == "repaired" {
				t.Errorf("%s: %s: %s", name, word, f.What)
			}
		}
		if repairs == 0 {
			t.Errorf("%s: nothing is to be repaired: %v", name, v.Report.Findings)
		}
		if sure := name == "state.json" || name == "a branch"; v.Report.Unsure == sure {
			t.Errorf("%s: unsure %v, from %s: %v", name, v.Report.Unsure, v.Report.Source, v.Report.Findings)
		}
	}
	if finding.Mended.Word() != "repaired" || finding.Lost.Word() != "lost" || finding.Blocked.Planned() != "blocked" {
		t.Error("words of severities")
	}
}

// counted counts the bytes that are read of files of one name.
type counted struct {
	vfs.FS
	name  string
	bytes int64
}

type countedFile struct {
	vfs.File
	of *counted
}

func (c *counted) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	f, err := c.FS.OpenFile(name, flag, perm)
	if err == nil && name == c.name {
		f = &countedFile{f, c}
	}
	return f, err
}

func (f *countedFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	f.of.bytes += int64(n)
	return n, err
}

// TestAReaderReadsTheNewestSegmentOnce: it is verified, and of what the state knows nothing is
// read a second time; not by who follows it, either. A viewer reads little of it.
func TestAReaderReadsTheNewestSegmentOnce(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	a := begin(t, root, 8, CreateOptions{})
	for range 200 {
		ok(t, a.x.Note("assistant.action", map[string]string{"text": strings.Repeat("x", 16<<10)}))
	}
	ok(t, a.start())
	ok(t, a.play(attempt{}))
	ok(t, a.exit(state.EndStopped))
	left := a.close()

	from := &counted{FS: vfs.OS, name: journal.Current(a.x.Layout.Events())}
	v := must(read(from, root, false))(t)
	if told(t, v.State) != told(t, left) {
		t.Error("another state than what was left")
	}
	size := must(os.Stat(from.name))(t).Size()
	if most := size + size/4; size < 3<<20 || from.bytes > most {
		t.Errorf("%d bytes were read of a segment of %d, want %d at most", from.bytes, size, most)
	}
	from.bytes = 0
	known := must(read(from, root, true))(t)
	if _, can := vfs.Identify(vfs.OS, from.name); can && from.bytes > size/4 {
		t.Errorf("a viewer read %d bytes of a segment of %d", from.bytes, size)
	}
	if told(t, known.State) != told(t, left) {
		t.Error("a viewer has another state than what was left")
	}
	from.bytes = 0
	if err := v.Journal.Tail(from, a.x.Layout.Events(), v.State.Seq+1).Next(func(journal.Event) error { return nil }); err != nil || from.bytes > size/4 {
		t.Errorf("its end: %d bytes were read of a segment of %d: %v", from.bytes, size, err)
	}
}
