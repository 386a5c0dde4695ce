package recovery

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hank/internal/hankweave"
	"hank/internal/short"
	"hank/recovery/execution"
	"hank/recovery/layout"
	"hank/recovery/lock"
	"hank/state"
)

func laid(t *testing.T, o hankweave.Options) *hankweave.Execution {
	t.Helper()
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	return must(hankweave.Lay(filepath.Join(t.TempDir(), "e"), o))(t)
}

// Whichever memories are lost after hank went on with an execution of
// Hankweave, the others bring back what Hankweave had done too.
func TestAnAdoptedExecutionComesBackFromWhatIsLeft(t *testing.T) {
	h := laid(t, hankweave.Options{})
	at := time.Now() // the end of a run that crashed is when that was found
	still := func(o *execution.Options) { o.Now = func() time.Time { return at } }
	x := reopen(t, h.Root, still)
	want := told(t, x.State())
	if s := x.State(); !s.Adopted || len(s.Runs) != 3 || s.Runs[0].Status != state.StatusCrashed || string(s.InitialCheckpoint) != h.SHA["initial"] {
		t.Fatalf("adopted as %+v", s)
	}
	ok(t, x.Close())
	b := pack(t, h.Root, want)
	for _, lost := range [][]string{{b.l.State()}, {b.l.State(), b.l.State() + ".bak"}, {b.l.Events()}, {b.l.Events(), b.l.State()},
		{b.l.Events(), b.l.State(), b.l.State() + ".bak"}, {b.l.Meta()}} {
		b.reset()
		for _, path := range lost {
			remove(t, path)
		}
		x := reopen(t, h.Root, still)
		if got := told(t, x.State()); got != want || !x.State().Adopted {
			t.Errorf("without %v: adopted %v, %s", lost, x.State().Adopted, differences(want, got))
		}
		ok(t, x.Close())
	}
}

// A crash at any moment of going on with an execution loses nothing of it: the
// next opening begins again, or goes on.
func TestAdoptingIsCutShort(t *testing.T) {
	h := laid(t, hankweave.Options{})
	b := pack(t, h.Root, "")
	x := reopen(t, h.Root)
	want := told(t, x.State())
	ok(t, x.Close())
	after := pack(t, h.Root, want)
	meta, events := b.files[b.l.Meta()], filepath.Join(b.l.Events(), "events.jsonl")
	for what, cut := range map[string]func(){
		"after the journal was set aside": func() { remove(t, b.l.Events()) },
		"before the meta was written": func() {
			after.reset()
			put(t, b.l.Meta(), meta)
			put(t, b.l.State(), b.files[b.l.State()])
		},
		"before state.json was saved": func() { after.reset(); put(t, b.l.State(), b.files[b.l.State()]) },
		"before anything":             func() { put(t, events, b.files[events]) },
	} {
		b.reset()
		cut()
		x := reopen(t, h.Root)
		if got := told(t, x.State()); got != want && !x.State().Adopted {
			t.Errorf("%s: %s", what, differences(want, got))
		}
		if len(x.State().Runs) != 3 || x.State().Runs[0].Status != state.StatusCrashed {
			t.Errorf("%s: %d runs", what, len(x.State().Runs))
		}
		ok(t, x.Close())
	}
}

// A live Hankweave is respected, by its lock in either form and by its run
// alone; its token breaks the lock, and a run that is over is none.
func TestALiveHankweaveIsRespected(t *testing.T) {
	short.Skip(t)
	h := laid(t, hankweave.Options{Pid: os.Getpid()})
	b := pack(t, h.Root, "")
	for what, locked := range map[string]string{"its lock": string(b.files[b.l.Lock()]), "a pid alone": "1\n", "a torn lock": `{"pid":`} {
		put(t, b.l.Lock(), []byte(locked))
		before := hash(t, h.Root)
		x, err := Open(context.Background(), h.Root, execution.Options{FS: fast})
		var held *lock.HeldError
		if !errors.As(err, &held) {
			t.Errorf("%s: %v", what, err)
			if err == nil {
				ok(t, x.Close())
			}
		}
		if hash(t, h.Root) != before {
			t.Errorf("%s: something was written", what)
		}
	}
	dead := laid(t, hankweave.Options{})
	l := layout.Layout{Root: dead.Root}
	text := must(os.ReadFile(l.Lock()))(t)
	var held *lock.HeldError
	for _, nobody := range []string{"0", `{"pid":-7,"lockId":"x","lastHeartbeat":"2026-01-01T00:00:00Z"}`} {
		put(t, l.Lock(), []byte(nobody))
		if _, err := Open(context.Background(), dead.Root, execution.Options{FS: fast}); !errors.As(err, &held) {
			t.Fatalf("a lock that names nobody, %s: %v", nobody, err)
		}
	}
	put(t, l.Lock(), bytes.Replace(text, []byte("1073741824"), []byte("1"), 1))
	_, err := Open(context.Background(), dead.Root, execution.Options{FS: fast})
	if !errors.As(err, &held) || held.Holder == nil {
		t.Fatalf("a lock that names a live process: %v", err)
	}
	x, err := Open(context.Background(), dead.Root, execution.Options{FS: fast, BreakLock: held.Holder.LockID})
	ok(t, err)
	ok(t, x.Close())
}

// The digest of the data is that of names, sizes and times; what differs is
// named as far as it is known.
func TestCheckData(t *testing.T) {
	t.Parallel()
	root, data := t.TempDir(), t.TempDir()
	name := func(n string) string { return filepath.Join(data, n) }
	put(t, name("a"), []byte("1"))
	put(t, name("b c"), []byte("1"))
	ok(t, os.Mkdir(name("dir"), 0o755))
	put(t, name("dir/d"), []byte("1"))
	ok(t, os.Symlink("a", name("link")))
	x := begin(t, root, 8, CreateOptions{Data: data}).x
	check := func(want string) {
		t.Helper()
		change := must(x.CheckData(context.Background()))(t)
		if got := ""; change != nil || want != "" {
			if change != nil {
				got = change.String()
			}
			if got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
	}
	check("") // nothing was known
	first := x.Meta().DataHash
	check("")
	if len(first) != 64 || x.Meta().DataHash != first {
		t.Errorf("the digest is %q, then %q", first, x.Meta().DataHash)
	}
	old := time.Now().Add(-time.Hour)
	ok(t, os.Chtimes(name("dir/d"), old, old))
	check(`changed "dir/d"`)
	put(t, name("b c"), []byte("12"))
	remove(t, name("link"))
	ok(t, os.Symlink("b c", name("link")))
	remove(t, name("a"))
	check(`changed "b c", changed "link", removed "a"`)
	for _, n := range []string{"1", "2", "3", "4", "5", "6", "7"} {
		put(t, name(n), nil)
	}
	check(`added "1", added "2", added "3", added "4", added "5", and 2 more`)
	remove(t, x.Layout.DataListing())
	remove(t, name("1"))
	check("what differs is not known")
	remove(t, data)
	if change, err := x.CheckData(context.Background()); err == nil || change != nil || x.Meta().DataHash != "" {
		t.Errorf("without the data: %v, %v", change, err)
	}
	ok(t, x.Close())
}

// An attempt of Hankweave's that was cut off has ended with the last line of its
// transcript, and not when hank goes on with the execution, which may be years later.
func TestAnAdoptedAttemptEndedAtItsLastSignOfLife(t *testing.T) {
	h := laid(t, hankweave.Options{})
	x := reopen(t, h.Root)
	defer x.Close()
	c := x.State().Runs[0].Codon(1)
	if c.CodonID != "mend/fix#1" || c.EndTime.Sub(c.StartTime.Time) != 2*time.Second {
		t.Errorf("%s of a run of 2025 is over after %v", c.CodonID, c.EndTime.Sub(c.StartTime.Time))
	}
}
