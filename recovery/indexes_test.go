package recovery

import (
	"bytes"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hank/checkpoint"
	"hank/internal/short"
	"hank/internal/vfs"
	"hank/recovery/execution"
	"hank/recovery/githistory"
	"hank/state"
)

// The indexes of packs are gone or damaged, and with them in turn all other memories: all
// that is known is read from the packs, the next opening makes the indexes again as they
// were, and what was damaged is in quarantine.
func TestIndexesAreMadeAgainFromTheirPacks(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	b := unmerged(t, 12)
	indexes := must(filepath.Glob(filepath.Join(b.l.Store(), "objects", "pack", "*.idx")))(t)
	one, other := indexes[0], indexes[1]
	flipped := slices.Clone(b.files[one])
	flipped[8+1024+3] ^= 8 // in the name of an object
	each := func(do func(string)) func() {
		return func() {
			for _, index := range indexes {
				do(index)
			}
		}
	}
	for name, c := range map[string]struct {
		do   func()
		says string
		kept []byte
	}{
		"all gone":              {each(func(index string) { remove(t, index) }), "packs of the checkpoint store are gone", nil},
		"one gone":              {func() { remove(t, one) }, "the index of 1 pack of the checkpoint store is gone", nil},
		"all junk":              {each(func(index string) { put(t, index, []byte("junk")) }), "it is in quarantine, and made again", []byte("junk")},
		"empty":                 {func() { put(t, one, nil) }, "it is in quarantine, and made again", []byte{}},
		"cut":                   {func() { put(t, one, b.files[one][:1000]) }, "it is in quarantine, and made again", b.files[one][:1000]},
		"flipped":               {func() { put(t, one, flipped) }, "its checksum is wrong", flipped},
		"another pack's":        {func() { put(t, one, b.files[other]) }, "it was made for another pack", b.files[other]},
		"one gone, one flipped": {func() { put(t, one, flipped); remove(t, other) }, "the index of 1 pack of the checkpoint store is gone", flipped},
	} {
		for _, ruined := range []bool{false, true} {
			b.reset()
			c.do()
			if ruined {
				name += ", and no other memory"
				for _, path := range []string{b.l.State(), b.l.State() + ".bak", b.l.Events()} {
					remove(t, path)
				}
			}
			says(t, name, b.recovers(name), c.says)
			for _, index := range indexes {
				if have, err := os.ReadFile(index); err != nil || !bytes.Equal(have, b.files[index]) {
					t.Errorf("%s: %s is not what it was: %v", name, filepath.Base(index), err)
				}
			}
			if c.kept != nil {
				b.inQuarantine(name, ".idx", c.kept)
			}
		}
	}
}

// While a runtime works, a missing index may be about to come, or its pack to go: nobody is
// told of it. A damaged one is named, and not touched.
func TestAMissingIndexIsNoFindingWhileARuntimeWorks(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	a := begin(t, root, 6, CreateOptions{})
	ok(t, a.start())
	ok(t, a.play(attempt{}))
	a.settle()
	indexes := must(filepath.Glob(filepath.Join(a.x.Layout.Store(), "objects", "pack", "*.idx")))(t)
	ok(t, os.Remove(indexes[0]))
	look := func(damaged int) {
		t.Helper()
		v := must(Read(root))(t)
		if !v.Live || len(v.Report.Findings) > 0 || v.Blocked != nil {
			t.Errorf("live %t, blocked %v: %s", v.Live, v.Blocked, listed(v.Report))
		}
		store := must(v.Store())(t)
		defer store.Close()
		if found := DamagedIndexes(store); len(found) != damaged {
			t.Errorf("%d damaged indexes: %v", damaged, found)
		}
		for _, sha := range []state.SHA{v.State.InitialCheckpoint, execution.Head(v.State)} {
			if complete, err := store.IsComplete(t.Context(), checkpoint.SHA(sha)); err != nil || !complete {
				t.Errorf("checkpoint %s: %t, %v", sha, complete, err)
			}
		}
	}
	look(0)
	ok(t, os.Chmod(indexes[1], 0o600))
	ok(t, os.WriteFile(indexes[1], []byte("junk"), 0o600))
	look(1)
	a.close()
}

// A file is where the directory of references must be: it goes to quarantine, and all
// references are where they were.
func TestAFileInThePlaceOfTheReferences(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	b := boxed(t, 14)
	refs := filepath.Join(b.l.Store(), "refs")
	for _, ruined := range []bool{false, true} {
		b.reset()
		remove(t, refs)
		put(t, refs, []byte("mine"))
		what := "a file"
		if ruined {
			what += ", and no other memory"
			for _, path := range []string{b.l.State(), b.l.State() + ".bak", b.l.Events()} {
				remove(t, path)
			}
		}
		rep := b.recovers(what)
		says(t, what, rep, "the references are lost: "+refs, "branch main is gone")
		b.inQuarantine(what, "refs", []byte("mine"))
		for path, want := range b.files {
			if !strings.HasPrefix(path, refs) || !ruined && strings.Contains(path, "recovery") || strings.HasPrefix(path, filepath.Join(refs, "tags")) {
				continue
			}
			if have, err := os.ReadFile(path); err != nil || !bytes.Equal(have, want) {
				t.Errorf("%s: %s is %q, %v, instead of %q", what, path, have, err, want)
			}
		}
		fsck(t, b.l.Store(), what)
	}
}

// The references to the agents' sessions are gone: each leads to the newest session again
// that is whole.
func TestReferencesToSessionsArePutBack(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	a := begin(t, root, 12, CreateOptions{})
	a.x.Merger = nil
	said := func(what string) state.SHA {
		file := checkpoint.TreeFile{Path: "session", Mode: checkpoint.Regular, Open: func() (io.ReadCloser, int64, error) {
			return io.NopCloser(strings.NewReader(what)), int64(len(what)), nil
		}}
		return must(a.x.CommitApart(a.ctx, githistory.Sessions(a.run), what, []checkpoint.TreeFile{file}))(t)
	}
	talk := func(what string) state.SHA {
		at := said(what)
		ok(t, a.play(attempt{said: at}))
		return at
	}
	first, newest := map[string]state.SHA{}, map[string]state.SHA{}
	for range 2 {
		ok(t, a.start())
		first[githistory.Sessions(a.run)] = talk("first of " + string(a.run))
		newest[githistory.Sessions(a.run)] = talk("second of " + string(a.run))
		ok(t, a.exit(state.EndStopped))
	}
	b := pack(t, root, told(t, a.close()))
	sessions := filepath.Join(b.l.Store(), "refs", "hank")
	lead := func() map[string]state.SHA {
		store := must(checkpoint.Open(checkpoint.Options{FS: vfs.OS, Dir: b.l.Store(), ReadOnly: true}))(t)
		defer store.Close()
		found := map[string]state.SHA{}
		for name, sha := range must(store.Refs("refs/hank/"))(t) {
			found[name] = state.SHA(sha)
		}
		return found
	}
	for name, damage := range map[string]func(){
		"gone": func() { remove(t, sessions) },
		"junk": func() {
			ok(t, filepath.WalkDir(sessions, func(path string, e os.DirEntry, err error) error { return junkFile(t, path, e, err) }))
		},
		"with all others": func() { remove(t, filepath.Join(b.l.Store(), "refs")) },
	} {
		b.reset()
		damage()
		rep := b.recovers(name)
		for ref := range newest {
			says(t, name, rep, "the reference to the agents' sessions of run "+filepath.Base(ref)+" is gone")
		}
		if found := lead(); !maps.Equal(found, newest) {
			t.Errorf("%s: they lead to %v instead of %v", name, found, newest)
		}
	}

	// The newest session of a run is lost, and both of the other, as in a copy without them.
	b.reset()
	remove(t, sessions)
	runs := slices.Sorted(maps.Keys(newest))
	packs := filepath.Join(b.l.Store(), "objects", "pack")
	for _, sha := range []state.SHA{newest[runs[0]], first[runs[1]], newest[runs[1]]} {
		base := packOf(t, packs, sha)
		remove(t, base+".pack")
		remove(t, base+".idx")
	}
	says(t, "some lost", b.recovers("some lost"), "it leads to checkpoint "+string(first[runs[0]][:12])+" again, the newest that is left of it")
	if found := lead(); !maps.Equal(found, map[string]state.SHA{runs[0]: first[runs[0]]}) {
		t.Errorf("some lost: they lead to %v", found)
	}
}

func junkFile(t *testing.T, path string, e os.DirEntry, err error) error {
	if err == nil && !e.IsDir() {
		put(t, path, []byte("junk\n"))
	}
	return err
}
