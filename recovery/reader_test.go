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
