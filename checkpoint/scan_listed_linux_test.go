package checkpoint

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// scanned takes a checkpoint of everything and returns it with the folders that
// were listed for it, sorted.
func (r *rig) scanned() (*Snapshot, []string) {
	r.t.Helper()
	var mu sync.Mutex
	dirs := []string{}
	r.store.listing = func(dir string) []string {
		mu.Lock()
		defer mu.Unlock()
		dirs = append(dirs, dir)
		return nil
	}
	defer func() { r.store.listing = nil }()
	snap := r.snapshot(Selection{All: true})
	r.commit(snap)
	slices.Sort(dirs)
	return snap, dirs
}

// needsDatedFolders skips a test where the file system is not one of those whose
// folders are trusted, such as an overlay's.
func (r *rig) needsDatedFolders() {
	r.t.Helper()
	if _, dated := habits(r.ws.Fd()); !dated {
		r.t.Skip("folders are always listed on this file system")
	}
}

func TestFoldersAreListedOnlyAfterTheirNamesHaveChanged(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.needsDatedFolders()
	r.write("a/one", "1")
	r.write("a/deep/two", "2")
	r.write("b/three", "3")
	r.write("b/ignored.log", "x")
	r.write(".gitignore", "*.log\n")
	must(t, unix.Mkfifo(r.path("b/pipe"), 0o600))
	r.age()
	first, dirs := r.scanned()
	if want := []string{".", "a", "a/deep", "b"}; !slices.Equal(dirs, want) {
		t.Fatalf("the first scan has listed %q", dirs)
	}
	again := func(change func(), list ...string) *Snapshot {
		t.Helper()
		change()
		r.age()
		snap, dirs := r.scanned()
		if !slices.Equal(dirs, list) {
			t.Errorf("listed %q, want %q", dirs, list)
		}
		if want := r.oracle(); snap.Tree != want {
			t.Errorf("the tree is %s, stock git's %s", snap.Tree, want)
		}
		return snap
	}
	if snap := again(func() {}); snap.Tree != first.Tree || len(snap.Skipped) != 1 {
		t.Errorf("nothing has changed: %+v", snap)
	}
	again(func() { r.write("a/one", "another content") }) // no name of the folder changes
	again(func() { r.write("b/four", "4") }, "b")
	again(func() {})
	again(func() { must(t, os.Remove(r.path("a/deep/two"))) }, "a/deep")
	again(func() { must(t, os.Rename(r.path("b/three"), r.path("a/deep/three"))) }, "a/deep", "b")
	again(func() { must(t, os.Rename(r.path("a/deep"), r.path("deep"))) }, ".", "a", "deep")
	again(func() { must(t, os.Remove(r.path("b/pipe"))) }, "b")
	// The rules let in a name that only the listing knew, without a new listing.
	snap := again(func() { r.write(".gitignore", "*.tmp\n") })
	if !r.store.HasFile(snap.Tree, "b/ignored.log") {
		t.Error("a file that is ignored no more is not in the checkpoint")
	}
	// Times can be set back, the change time cannot.
	fi, err := os.Stat(r.path("b"))
	must(t, err)
	snap = again(func() {
		r.write("b/hidden", "5")
		must(t, os.Chtimes(r.path("b"), fi.ModTime(), fi.ModTime()))
	}, "b")
	if !r.store.HasFile(snap.Tree, "b/hidden") {
		t.Error("a file in a folder whose modification time was set back was missed")
	}
	r.reopen()
	again(func() {}) // another process knows them from disk
	r.opts.BootID = "another boot"
	r.reopen()
	again(func() {}, ".", "a", "b", "deep")
}

// A folder that was changed at the scan's own time, or later by a clock that was
// set back, is listed each time: its times would not show another change.
func TestYoungFoldersAreListedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.needsDatedFolders()
	r.write("old/x", "1")
	r.write("young/x", "1")
	future := time.Now().Add(time.Hour)
	must(t, os.Chtimes(r.path("young"), future, future))
	r.age()
	r.scanned()
	for range 2 {
		if _, dirs := r.scanned(); !slices.Equal(dirs, []string{"young"}) {
			t.Errorf("listed %q", dirs)
		}
	}
	for n := range 200 { // without waiting for the clock: in its ticks, between and across them
		name := fmt.Sprintf("old/%d", n)
		r.write(name, "2")
		if snap, _ := r.scanned(); !r.store.HasFile(snap.Tree, name) {
			t.Fatalf("%s was missed", name)
		}
		must(t, os.Remove(r.path(name)))
		if snap, _ := r.scanned(); r.store.HasFile(snap.Tree, name) {
			t.Fatalf("%s is gone, and in the checkpoint", name)
		}
	}
}

// A name comes while its folder is listed: the checkpoint may have it or not, the
// next one has it.
func TestNameThatComesDuringTheListingIsSeenTheNextTime(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a/x", "1")
	r.age()
	r.store.listing = func(dir string) []string {
		if dir == "a" {
			r.write("a/late", "2")
		}
		return nil
	}
	r.commit(r.snapshot(Selection{All: true}))
	r.store.listing = nil
	r.write("a/later", "3")
	snap, _ := r.scanned()
	for _, name := range []string{"a/late", "a/later"} {
		if !r.store.HasFile(snap.Tree, name) {
			t.Errorf("%s was missed", name)
		}
	}
}

// What is not recorded takes no memory to speak of: a folder of almost nothing
// but ignored files is listed each time.
func TestFolderOfIgnoredFilesIsNotRemembered(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.needsDatedFolders()
	r.write(".gitignore", "*.log\n")
	r.write("logs/kept", "1")
	for n := range maxOthers(1) + 1 {
		r.write(fmt.Sprintf("logs/%d.log", n), "")
	}
	r.age()
	r.scanned()
	if _, dirs := r.scanned(); strings.Join(dirs, " ") != "logs" {
		t.Errorf("listed %q", dirs)
	}
	root := r.store.cacheFor(r.ws).root
	if i := root.find([]byte("logs")); i < 0 || len(root.entries[i].sub.others) > 0 {
		t.Error("ignored names are remembered")
	}
}

// Somebody may save the stat cache while a scan is at work: a scan makes folders,
// and changes none that another one has made.
func TestScanChangesNothingThatIsRemembered(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.needsDatedFolders()
	r.write(".gitignore", "*.log\n")
	r.write("a/b/one", "1")
	r.write("a/b/ignored.log", "x")
	r.age()
	r.scanned()
	encoded := func(c *statCache) string {
		text, err := c.encode(cacheHeader{})
		must(t, err)
		return string(text)
	}
	for what, change := range map[string]func(){
		"the same names, and another time": func() { must(t, os.Chmod(r.path("a/b"), 0o700)) },
		"another ignored name":             func() { r.write("a/b/more.log", "x") },
		"another file":                     func() { r.write("a/b/two", "2") },
		"a change just now":                func() {},
	} {
		before := r.store.cacheFor(r.ws)
		was := encoded(before)
		change()
		if what != "a change just now" {
			r.age()
		} else {
			must(t, os.Chmod(r.path("a/b"), 0o755))
		}
		if _, dirs := r.scanned(); !slices.Equal(dirs, []string{"a/b"}) {
			t.Errorf("%s: listed %q", what, dirs)
		}
		if encoded(before) != was {
			t.Errorf("%s: what was known before is changed", what)
		}
		if after := encoded(r.store.cacheFor(r.ws)); after == was {
			t.Errorf("%s: it is not remembered", what)
		}
	}
}

// A folder may get other names without a change of its times, as an encrypted one
// does whose key is given or taken away.
func TestFolderWithOtherNamesThanAreKnownIsListed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.needsDatedFolders()
	r.write("a/file", "1")
	r.write("a/folder/x", "2")
	r.write("b/y", "3")
	must(t, unix.Mkfifo(r.path("b/pipe"), 0o600))
	r.age()
	first, _ := r.scanned()
	for _, name := range []string{"file", "folder"} {
		root := r.store.cacheFor(r.ws).root
		a := root.entries[root.find([]byte("a"))].sub
		a.entries[a.find([]byte(name))].name += "-as-it-was"
		snap, dirs := r.scanned()
		if snap.Tree != first.Tree {
			t.Errorf("%s: the tree is %s, not %s", name, snap.Tree, first.Tree)
		}
		if want := []string{".", "a", "a/folder", "b"}; !slices.Equal(dirs, want) {
			t.Errorf("%s: listed %q", name, dirs)
		}
		if len(snap.Skipped) != 1 {
			t.Errorf("%s: named are %v", name, snap.Skipped)
		}
		r.age()
	}
}

// What is removed while its folder is looked at is no reason to list everything.
func TestNameThatVanishesMeanwhileIsNotThere(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.needsDatedFolders()
	r.write("a/x", "1")
	r.write("b/y", "2")
	r.age()
	r.scanned()
	must(t, os.Chmod(r.path("b"), 0o700))
	r.age()
	var listed atomic.Int32
	r.store.listing = func(string) []string { // of b; a comes before it, or beside it, and may be listed too
		listed.Add(1)
		_ = os.Remove(r.path("a/x"))
		return nil
	}
	r.snapshot(Selection{All: true})
	r.store.listing = nil
	if listed.Load() > 2 {
		t.Errorf("%d folders were listed", listed.Load())
	}
	if snap, _ := r.scanned(); r.store.HasFile(snap.Tree, "a/x") {
		t.Error("a file that is gone is in the checkpoint")
	}
}

// Some file systems list a file twice that is removed and made anew meanwhile: it
// is in the tree once, and does not stand for another one that is gone.
func TestANameThatIsListedTwiceIsThereOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write("a/x", "1")
	r.write("a/y", "2")
	for _, gone := range []string{"", "a/y"} {
		r.store.listing = func(dir string) []string {
			if dir != "a" {
				return nil
			}
			_ = os.Remove(r.path(gone)) // "" is the root, which is not empty
			return []string{"x"}
		}
		must(t, os.Chmod(r.path("a"), 0o700))
		snap := r.snapshot(Selection{All: true})
		r.commit(snap)
		changes, err := Diff(r.store, "", snap.Tree)
		must(t, err)
		if want := 2 - min(len(gone), 1); len(changes) != want {
			t.Errorf("%q removed: %d files in the tree, want %d", gone, len(changes), want)
		}
	}
}
