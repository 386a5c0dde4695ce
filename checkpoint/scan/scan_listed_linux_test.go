package scan_test

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

	"hank/checkpoint/diff"
	"hank/checkpoint/internal/checkpointtest"
	"hank/checkpoint/internal/testkit"
	"hank/checkpoint/match"
	"hank/checkpoint/scan"
	"hank/internal/short"
)

// scanned takes a checkpoint of everything and returns it with the directories that
// were listed for it, sorted.
func scanned(r *checkpointtest.Rig) (*scan.Snapshot, []string) {
	r.T.Helper()
	var mu sync.Mutex
	dirs := []string{}
	r.Store.Listing = func(dir string) []string {
		mu.Lock()
		defer mu.Unlock()
		dirs = append(dirs, dir)
		return nil
	}
	defer func() { r.Store.Listing = nil }()
	snap := r.Snapshot(match.Selection{All: true})
	r.Commit(snap)
	slices.Sort(dirs)
	return snap, dirs
}

// needsDatedFolders skips a test where the file system is not one of those whose
// directories are trusted, such as an overlay's.
func needsDatedFolders(r *checkpointtest.Rig) {
	r.T.Helper()
	if _, dated := scan.Habits(r.Ws.Fd()); !dated {
		r.T.Skip("folders are always listed on this file system")
	}
}

func TestFoldersAreListedOnlyAfterTheirNamesHaveChanged(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	r := checkpointtest.NewRig(t)
	needsDatedFolders(r)
	r.Write("a/one", "1")
	r.Write("a/deep/two", "2")
	r.Write("b/three", "3")
	r.Write("b/ignored.log", "x")
	r.Write(".gitignore", "*.log\n")
	testkit.Must(t, unix.Mkfifo(r.Path("b/pipe"), 0o600))
	r.Age()
	first, dirs := scanned(r)
	if want := []string{".", "a", "a/deep", "b"}; !slices.Equal(dirs, want) {
		t.Fatalf("the first scan has listed %q", dirs)
	}
	again := func(change func(), list ...string) *scan.Snapshot {
		t.Helper()
		change()
		r.Age()
		snap, dirs := scanned(r)
		if !slices.Equal(dirs, list) {
			t.Errorf("listed %q, want %q", dirs, list)
		}
		if want := r.Oracle(); snap.Tree != want {
			t.Errorf("the tree is %s, stock git's %s", snap.Tree, want)
		}
		return snap
	}
	if snap := again(func() {}); snap.Tree != first.Tree || len(snap.Skipped) != 1 {
		t.Errorf("nothing has changed: %+v", snap)
	}
	again(func() { r.Write("a/one", "another content") }) // no name of the directory changes
	again(func() { r.Write("b/four", "4") }, "b")
	again(func() {})
	again(func() { testkit.Must(t, os.Remove(r.Path("a/deep/two"))) }, "a/deep")
	again(func() { testkit.Must(t, os.Rename(r.Path("b/three"), r.Path("a/deep/three"))) }, "a/deep", "b")
	again(func() { testkit.Must(t, os.Rename(r.Path("a/deep"), r.Path("deep"))) }, ".", "a", "deep")
	again(func() { testkit.Must(t, os.Remove(r.Path("b/pipe"))) }, "b")
	// The rules let in a name that only the listing knew, without a new listing.
	snap := again(func() { r.Write(".gitignore", "*.tmp\n") })
	if !r.Store.HasFile(snap.Tree, "b/ignored.log") {
		t.Error("a file that is ignored no more is not in the checkpoint")
	}
	// Times can be set back, the change time cannot.
	fi, err := os.Stat(r.Path("b"))
	testkit.Must(t, err)
	snap = again(func() {
		r.Write("b/hidden", "5")
		testkit.Must(t, os.Chtimes(r.Path("b"), fi.ModTime(), fi.ModTime()))
	}, "b")
	if !r.Store.HasFile(snap.Tree, "b/hidden") {
		t.Error("a file in a folder whose modification time was set back was missed")
	}
	r.Reopen()
	again(func() {}) // another process knows them from disk
	r.Opts.BootID = "another boot"
	r.Reopen()
	again(func() {}, ".", "a", "b", "deep")
}

// A directory that was changed at the scan's own time, or later by a clock that was
// set back, is listed each time: its times would not show another change.
func TestYoungFoldersAreListedAgain(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	r := checkpointtest.NewRig(t)
	needsDatedFolders(r)
	r.Write("old/x", "1")
	r.Write("young/x", "1")
	future := time.Now().Add(time.Hour)
	testkit.Must(t, os.Chtimes(r.Path("young"), future, future))
	r.Age()
	scanned(r)
	for range 2 {
		if _, dirs := scanned(r); !slices.Equal(dirs, []string{"young"}) {
			t.Errorf("listed %q", dirs)
		}
	}
	for n := range 200 { // without waiting for the clock: in its ticks, between and across them
		name := fmt.Sprintf("old/%d", n)
		r.Write(name, "2")
		if snap, _ := scanned(r); !r.Store.HasFile(snap.Tree, name) {
			t.Fatalf("%s was missed", name)
		}
		testkit.Must(t, os.Remove(r.Path(name)))
		if snap, _ := scanned(r); r.Store.HasFile(snap.Tree, name) {
			t.Fatalf("%s is gone, and in the checkpoint", name)
		}
	}
}

// A name comes while its directory is listed: the checkpoint may have it or not, the
// next one has it.
func TestNameThatComesDuringTheListingIsSeenTheNextTime(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	r.Write("a/x", "1")
	r.Age()
	r.Store.Listing = func(dir string) []string {
		if dir == "a" {
			r.Write("a/late", "2")
		}
		return nil
	}
	r.Commit(r.Snapshot(match.Selection{All: true}))
	r.Store.Listing = nil
	r.Write("a/later", "3")
	snap, _ := scanned(r)
	for _, name := range []string{"a/late", "a/later"} {
		if !r.Store.HasFile(snap.Tree, name) {
			t.Errorf("%s was missed", name)
		}
	}
}

// What is not recorded takes no memory to speak of: a directory of almost nothing
// but ignored files is listed each time.
func TestFolderOfIgnoredFilesIsNotRemembered(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	needsDatedFolders(r)
	r.Write(".gitignore", "*.log\n")
	r.Write("logs/kept", "1")
	for n := range scan.MaxOthers(1) + 1 {
		r.Write(fmt.Sprintf("logs/%d.log", n), "")
	}
	r.Age()
	scanned(r)
	if _, dirs := scanned(r); strings.Join(dirs, " ") != "logs" {
		t.Errorf("listed %q", dirs)
	}
	root := r.Store.CacheFor(r.Ws).Root
	if i := root.Find([]byte("logs")); i < 0 || len(root.Entries[i].Sub.Others) > 0 {
		t.Error("ignored names are remembered")
	}
}

// Somebody may save the stat cache while a scan is running: a scan makes directories,
// and changes none that another one has made.
func TestScanChangesNothingThatIsRemembered(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	needsDatedFolders(r)
	r.Write(".gitignore", "*.log\n")
	r.Write("a/b/one", "1")
	r.Write("a/b/ignored.log", "x")
	r.Age()
	scanned(r)
	encoded := func(c *scan.StatCache) string {
		text, err := c.Encode(scan.CacheHeader{})
		testkit.Must(t, err)
		return string(text)
	}
	for what, change := range map[string]func(){
		"the same names, and another time": func() { testkit.Must(t, os.Chmod(r.Path("a/b"), 0o700)) },
		"another ignored name":             func() { r.Write("a/b/more.log", "x") },
		"another file":                     func() { r.Write("a/b/two", "2") },
		"a change just now":                func() {},
	} {
		before := r.Store.CacheFor(r.Ws)
		was := encoded(before)
		change()
		if what != "a change just now" {
			r.Age()
		} else {
			testkit.Must(t, os.Chmod(r.Path("a/b"), 0o755))
		}
		if _, dirs := scanned(r); !slices.Equal(dirs, []string{"a/b"}) {
			t.Errorf("%s: listed %q", what, dirs)
		}
		if encoded(before) != was {
			t.Errorf("%s: what was known before is changed", what)
		}
		if after := encoded(r.Store.CacheFor(r.Ws)); after == was {
			t.Errorf("%s: it is not remembered", what)
		}
	}
}

// A directory may get other names without a change of its times, as an encrypted one
// does whose key is given or taken away.
func TestFolderWithOtherNamesThanAreKnownIsListed(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	needsDatedFolders(r)
	r.Write("a/file", "1")
	r.Write("a/folder/x", "2")
	r.Write("b/y", "3")
	testkit.Must(t, unix.Mkfifo(r.Path("b/pipe"), 0o600))
	r.Age()
	first, _ := scanned(r)
	for _, name := range []string{"file", "folder"} {
		root := r.Store.CacheFor(r.Ws).Root
		a := root.Entries[root.Find([]byte("a"))].Sub
		a.Entries[a.Find([]byte(name))].Name += "-as-it-was"
		snap, dirs := scanned(r)
		if snap.Tree != first.Tree {
			t.Errorf("%s: the tree is %s, not %s", name, snap.Tree, first.Tree)
		}
		if want := []string{".", "a", "a/folder", "b"}; !slices.Equal(dirs, want) {
			t.Errorf("%s: listed %q", name, dirs)
		}
		if len(snap.Skipped) != 1 {
			t.Errorf("%s: named are %v", name, snap.Skipped)
		}
		r.Age()
	}
}

// What is removed while its directory is looked at is no reason to list everything.
func TestNameThatVanishesMeanwhileIsNotThere(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	needsDatedFolders(r)
	r.Write("a/x", "1")
	r.Write("b/y", "2")
	r.Age()
	scanned(r)
	testkit.Must(t, os.Chmod(r.Path("b"), 0o700))
	r.Age()
	var listed atomic.Int32
	r.Store.Listing = func(string) []string { // of b; a comes before it, or beside it, and may be listed too
		listed.Add(1)
		_ = os.Remove(r.Path("a/x"))
		return nil
	}
	r.Snapshot(match.Selection{All: true})
	r.Store.Listing = nil
	if listed.Load() > 2 {
		t.Errorf("%d folders were listed", listed.Load())
	}
	if snap, _ := scanned(r); r.Store.HasFile(snap.Tree, "a/x") {
		t.Error("a file that is gone is in the checkpoint")
	}
}

// Some file systems list a file twice that is removed and made again meanwhile: it
// is in the tree once, and does not stand for another one that is gone.
func TestANameThatIsListedTwiceIsThereOnce(t *testing.T) {
	t.Parallel()
	r := checkpointtest.NewRig(t)
	r.Write("a/x", "1")
	r.Write("a/y", "2")
	for _, gone := range []string{"", "a/y"} {
		r.Store.Listing = func(dir string) []string {
			if dir != "a" {
				return nil
			}
			_ = os.Remove(r.Path(gone)) // "" is the root, which is not empty
			return []string{"x"}
		}
		testkit.Must(t, os.Chmod(r.Path("a"), 0o700))
		snap := r.Snapshot(match.Selection{All: true})
		r.Commit(snap)
		changes, err := diff.Diff(r.Store, "", snap.Tree)
		testkit.Must(t, err)
		if want := 2 - min(len(gone), 1); len(changes) != want {
			t.Errorf("%q removed: %d files in the tree, want %d", gone, len(changes), want)
		}
	}
}
