//go:build unix

package rig

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"hank/internal/vfs"
	"hank/internal/vfs/vfstest"
	"hank/plan"
	"hank/recovery/layout"
	"hank/runtime/internal/testkit"
	"hank/state"
)

const testSHA = state.SHA("0123456789012345678901234567890123456789")

func newArchiving(t testing.TB, fsys vfs.FS, patterns ...string) *Archiving {
	t.Helper()
	root := t.TempDir()
	if fsys != vfs.OS {
		root = "/exec"
	}
	l := layout.Layout{Root: root, Workspace: t.TempDir()}
	testkit.Must(t, vfs.MkdirAll(fsys, l.Hankweave(), 0o700))
	return &Archiving{FS: fsys, Layout: l, Patterns: patterns, CodonID: "draft", Checkpoint: testSHA,
		Now: time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC), Note: func(string, any) {}}
}

func (a *Archiving) in(name string) string { return filepath.Join(a.Layout.Workspace, name) }

// manifest reads the manifest as it is on the disk.
func manifestOf(t testing.TB, fsys vfs.FS, l layout.Layout) layout.Manifest {
	t.Helper()
	m, err := layout.ReadManifest(fsys, l.Manifest())
	testkit.Must(t, err)
	return m
}

func TestAnArchiveMovesFilesAndRecordsThem(t *testing.T) {
	t.Parallel()
	a := newArchiving(t, vfs.OS, "drafts/**", "*.log", "!keep.log")
	testkit.Write(t, a.in("drafts/one.md"), "one")
	testkit.Write(t, a.in("drafts/deep/run.sh"), "#!/bin/sh")
	testkit.Must(t, os.Chmod(a.in("drafts/deep/run.sh"), 0o755))
	testkit.Write(t, a.in("x.log"), "x")
	testkit.Write(t, a.in("keep.log"), "keep")
	testkit.Symlink(t, "x.log", a.in("link.log"))
	var events []noted
	a.Note = func(kind string, data any) { events = append(events, noted{kind, data}) }
	done := a.Run()
	want := []string{"drafts/deep/run.sh", "drafts/one.md", "x.log"}
	if !slices.Equal(done.Paths, want) || len(done.Failed) > 0 {
		t.Fatalf("%+v", done)
	}
	if len(events) != 1 || events[0].kind != "archive.completed" || !slices.Equal(events[0].data.(archiveCompleted).ArchivedPaths, want) {
		t.Errorf("events: %+v", events)
	}
	if got := tree(t, a.Layout.Archive()); got != "./\ndraft/\ndraft/drafts/\ndraft/drafts/deep/\ndraft/drafts/deep/run.sh true \"#!/bin/sh\"\ndraft/drafts/one.md false \"one\"\ndraft/x.log false \"x\"\n" {
		t.Errorf("archive:\n%s", got)
	}
	if got := tree(t, a.Layout.Workspace); got != "./\ndrafts/\ndrafts/deep/\nkeep.log false \"keep\"\nlink.log L--------- -> x.log\n" {
		t.Errorf("workspace:\n%s", got)
	}
	if got := testkit.Read(t, a.Layout.Manifest()); !strings.HasPrefix(got, `{
  "version": "1.0.0",
  "entries": [
    {
      "sourcePath": "drafts/deep/run.sh",
      "archivePath": "rigArchive/draft/drafts/deep/run.sh",
      "codonId": "draft",
      "checkpointSha": "0123456789012345678901234567890123456789",
      "timestamp": "2026-01-02T03:04:05.678Z"
    },`) {
		t.Errorf("manifest:\n%s", got)
	}
	before := testkit.Read(t, a.Layout.Manifest())
	if again := a.Run(); !slices.Equal(again.Paths, want) || len(again.Failed) > 0 || testkit.Read(t, a.Layout.Manifest()) != before || len(events) != 2 {
		t.Errorf("an archive that was killed before its checkpoint: %+v, events %+v", again, events)
	}
	other := *a
	other.LoopEnds, other.Loop = true, &plan.LoopContext{LoopID: "l"}
	next := *a
	next.Checkpoint = state.SHA(strings.Repeat("1", 40))
	for _, a := range []Archiving{other, next} {
		if done := a.Run(); len(done.Paths)+len(done.Failed) > 0 || testkit.Read(t, a.Layout.Manifest()) != before || len(events) != 2 {
			t.Errorf("an archive with nothing to do: %+v, events %+v", done, events)
		}
	}
}

// The directories of the archive are those that the reference names.
func TestOwnersHaveTheirDirectories(t *testing.T) {
	t.Parallel()
	loop := func(id plan.CodonID, n int) *plan.LoopContext { return &plan.LoopContext{LoopID: id, Iteration: n} }
	for want, a := range map[string]Archiving{
		"draft":             {CodonID: "draft"},
		"refine-2/review-2": {CodonID: "review#2", Loop: loop("refine", 2)},
		"refine-loop":       {CodonID: "review#2", Loop: loop("refine", 2), LoopEnds: true},
	} {
		if got := a.owner(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	id := rapid.Custom(func(t *rapid.T) plan.CodonID {
		return plan.CodonID(rapid.StringOfN(rapid.SampledFrom([]rune("ab#@-/.%0l")), 1, 4, -1).Draw(t, "id"))
	})
	rapid.Check(t, func(t *rapid.T) {
		a := Archiving{CodonID: id.Draw(t, "codon")}
		if rapid.Bool().Draw(t, "in a loop") {
			a.Loop, a.LoopEnds = loop(id.Draw(t, "loop"), rapid.IntRange(0, 2).Draw(t, "n")), rapid.Bool().Draw(t, "ends")
		}
		if !filepath.IsLocal(a.owner()) {
			t.Fatalf("%s leads out", a.owner())
		}
	})
}

// Two owners can have the same directory; neither loses anything by it.
func TestOwnersOfTheSameDirectoryLoseNothing(t *testing.T) {
	t.Parallel()
	a := newArchiving(t, vfs.OS, "**")
	for _, c := range []struct {
		codon   plan.CodonID
		in      *plan.LoopContext
		content string
	}{{"a-0", nil, "of the codon"}, {"b#0", &plan.LoopContext{LoopID: "a"}, "of the loop"}} {
		testkit.Must(t, ignoreMissing(os.RemoveAll(a.in("b-0"))))
		testkit.Write(t, a.in("b-0/x"), c.content)
		if c.in != nil {
			testkit.Must(t, os.RemoveAll(a.in("b-0")))
			testkit.Write(t, a.in("x"), c.content)
		}
		a.CodonID, a.Loop = c.codon, c.in
		if done := a.Run(); len(done.Paths) != 1 || len(done.Failed) > 0 {
			t.Fatalf("%+v", done)
		}
	}
	var got []string
	for _, e := range manifestOf(t, vfs.OS, a.Layout).Entries {
		got = append(got, string(e.CodonID)+" "+e.ArchivePath+"="+testkit.Read(t, filepath.Join(a.Layout.Root, e.ArchivePath)))
	}
	if want := []string{"a-0 rigArchive/a-0/b-0/x=of the codon", "b#0 rigArchive/a-0/b-0@again2/x=of the loop"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// An archive that was interrupted after its manifest was written, under the names that hank
// gave before, ends under these: nothing is archived twice.
func TestAnArchiveContinuesUnderItsFormerNames(t *testing.T) {
	t.Parallel()
	a := newArchiving(t, vfs.OS, "**")
	a.CodonID, a.Loop = "draft#3", &plan.LoopContext{LoopID: "l", Iteration: 3}
	a.Checkpoint = state.SHA(fmt.Sprintf("%040d", 1))
	testkit.Write(t, a.in("x"), "x")
	testkit.Write(t, filepath.Join(a.Layout.Root, "rigArchive/l@3/draft#3/x"), "x")
	e := a.entry("x", "rigArchive/l@3/draft#3/x")
	data, err := json.Marshal(layout.Manifest{Version: "1.0.0", Entries: []layout.Archived{e}})
	testkit.Must(t, err)
	testkit.Write(t, a.Layout.Manifest(), string(data))
	if done := a.Run(); !slices.Equal(done.Paths, []string{"x"}) || len(done.Failed) > 0 {
		t.Fatalf("%+v", done)
	}
	if m := manifestOf(t, vfs.OS, a.Layout); len(m.Entries) != 1 || m.Entries[0].ArchivePath != e.ArchivePath {
		t.Errorf("%+v", m)
	}
}

func TestAnArchiveNeverReplacesWhatItHas(t *testing.T) {
	t.Parallel()
	a := newArchiving(t, vfs.OS, "**")
	for i, files := range []map[string]string{
		{"a": "one"}, {"a": "two"}, {"a": "two"}, {"a/b": "a folder now"}, {"a": "four"},
	} {
		a.Checkpoint = state.SHA(fmt.Sprintf("%040d", i))
		testkit.Must(t, ignoreMissing(os.RemoveAll(a.in("a"))))
		for name, content := range files {
			testkit.Write(t, a.in(name), content)
		}
		if done := a.Run(); len(done.Paths) != 1 || len(done.Failed) > 0 {
			t.Fatalf("round %d: %+v", i, done)
		}
	}
	var got []string
	for _, e := range manifestOf(t, vfs.OS, a.Layout).Entries {
		got = append(got, e.ArchivePath+"="+testkit.Read(t, filepath.Join(a.Layout.Root, e.ArchivePath)))
	}
	if want := []string{"rigArchive/draft/a=one", "rigArchive/draft@again2/a=two", "rigArchive/draft@again3/a=two",
		"rigArchive/draft@again4/a/b=a folder now", "rigArchive/draft@again5/a=four"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// story is an archive of files with known contents.
type archiveStory struct {
	a     *Archiving
	files map[string]string
}

func tellArchive(t testing.TB, fsys vfs.FS) *archiveStory {
	s := &archiveStory{a: newArchiving(t, fsys, "work/**"), files: map[string]string{
		"work/a": "aaa", "work/b.tmp": strings.Repeat("b", 10_000), "work/b": "b", "work/deep/c": "",
	}}
	for name, content := range s.files {
		testkit.Write(t, s.a.in(name), content)
	}
	return s
}

// kept checks that every file is in the workspace, or in the archive and in
// the manifest of a disk.
func (s *archiveStory) kept(t testing.TB, when string, disk vfs.FS, workspace map[string]string) {
	t.Helper()
	m, err := layout.ReadManifest(disk, s.a.Layout.Manifest())
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	for name, content := range s.files {
		if workspace[name] == content && has(workspace, name) {
			continue
		}
		in := slices.IndexFunc(m.Entries, func(e layout.Archived) bool { return e.SourcePath == name })
		if in < 0 {
			t.Fatalf("%s: %s is neither in the workspace nor in the manifest", when, name)
		}
		if got, err := vfs.ReadFile(disk, s.a.path(m.Entries[in])); err != nil || string(got) != content {
			t.Fatalf("%s: %s is gone from the workspace, the archive has %d bytes, %v", when, name, len(got), err)
		}
	}
}

func has(m map[string]string, name string) bool { _, ok := m[name]; return ok }

// workspace reads all files.
func (s *archiveStory) workspace(t testing.TB) map[string]string {
	files := map[string]string{}
	for name := range s.files {
		if data, err := os.ReadFile(s.a.in(name)); err == nil {
			files[name] = string(data)
		}
	}
	return files
}

// The machine loses power before every call that changes something: each file
// is somewhere, and doing it again brings the same end.
func TestAnArchiveSurvivesAPowerCutAtEveryCall(t *testing.T) {
	t.Parallel()
	disk := vfstest.NewMem()
	s := tellArchive(t, disk)
	type image struct {
		disk      *vfstest.Mem
		workspace map[string]string
		when      string
	}
	var images []image
	rng := rand.New(rand.NewPCG(1, 2))
	snap := func(when string) {
		for _, percent := range []int{0, 50, 100} {
			images = append(images, image{disk.Crash(rng, percent), s.workspace(t), fmt.Sprintf("%s, %d%% survive", when, percent)})
		}
	}
	disk.SetHook(func(c vfstest.Call) { snap(c.String()) })
	if done := s.a.Run(); len(done.Failed) > 0 || len(done.Paths) != len(s.files) {
		t.Fatalf("%+v", done)
	}
	disk.SetHook(nil)
	snap("at the end")
	// While files are deleted the disk does not change: every subset of them
	// may be gone.
	final := disk.Crash(rng, 0)
	for i := range 1 << len(s.files) {
		left := map[string]string{}
		for j, name := range slices.Sorted(maps.Keys(s.files)) {
			if i&(1<<j) != 0 {
				left[name] = s.files[name]
			}
		}
		images = append(images, image{final.Crash(rng, 0), left, fmt.Sprintf("%d files left", len(left))})
	}
	if len(images) < 60 {
		t.Fatalf("only %d images", len(images))
	}
	for _, im := range images {
		s.kept(t, im.when, im.disk, im.workspace)
		again := &archiveStory{a: newArchiving(t, im.disk, "work/**"), files: s.files}
		for name, content := range im.workspace {
			testkit.Write(t, again.a.in(name), content)
		}
		if done := again.a.Run(); len(done.Failed) > 0 || len(done.Paths) != len(s.files) {
			t.Fatalf("%s: again: %+v", im.when, done)
		}
		again.kept(t, im.when+", done again", im.disk.Crash(rng, 0), again.workspace(t))
		if m := manifestOf(t, im.disk, s.a.Layout); len(m.Entries) != len(s.files) {
			t.Fatalf("%s: %d entries for %d files", im.when, len(m.Entries), len(s.files))
		}
	}
}

func TestAnArchiveSurvivesAnErrorOfEveryCall(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	for n := 1; ; n++ {
		disk, calls := vfstest.NewMem(), 0
		s := tellArchive(t, disk)
		s.a.FS = vfstest.Inject(disk, func(c vfstest.Call) error {
			if calls++; calls == n {
				return full
			}
			return nil
		})
		var events []noted
		s.a.Note = func(kind string, data any) { events = append(events, noted{kind, data}) }
		done := s.a.Run()
		if calls < n {
			if n < 40 {
				t.Fatalf("only %d calls", n)
			}
			break
		}
		s.kept(t, fmt.Sprintf("call %d fails", n), disk, s.workspace(t))
		for _, name := range done.Paths {
			if testkit.Exists(s.a.in(name)) {
				t.Fatalf("call %d fails: %s is said to be archived and is there", n, name)
			}
		}
		if len(done.Failed) > 0 && (len(events) != 1 || events[0].kind != "archive.partial") {
			t.Fatalf("call %d fails: %+v, events %+v", n, done, events)
		}
		s.a.FS = disk
		s.a.Run()
		if left := s.workspace(t); len(left) > 0 {
			t.Fatalf("call %d failed: the next archive leaves %v", n, slices.Collect(maps.Keys(left)))
		}
		s.kept(t, "done again", disk, nil)
	}
}

func TestAFileThatChangesWhileItIsArchivedStays(t *testing.T) {
	t.Parallel()
	for _, change := range []func(name string){
		func(name string) { testkit.Write(t, name, "newer") },
		func(name string) { testkit.Must(t, os.Remove(name)); testkit.Write(t, name, "other") },
		func(name string) { testkit.Must(t, os.Remove(name)); testkit.Symlink(t, "b", name) },
		func(name string) { // in place, and as long as before
			was, err := os.Stat(name)
			testkit.Must(t, err)
			testkit.Write(t, name, strings.Repeat("x", int(was.Size())))
			testkit.Must(t, os.Chtimes(name, time.Now(), was.ModTime().Add(time.Second)))
		},
	} {
		disk := vfstest.NewMem()
		s := tellArchive(t, disk)
		changed := false
		s.a.FS = vfstest.Inject(disk, func(c vfstest.Call) error {
			if c.Op == vfstest.OpRename && strings.HasSuffix(c.Name, "archive-manifest.json") && !changed {
				changed = true
				change(s.a.in("work/a"))
			}
			return nil
		})
		done := s.a.Run()
		if !changed || len(done.Failed) != 1 || done.Failed[0].Path != "work/a" || slices.Contains(done.Paths, "work/a") || len(done.Paths) != 3 {
			t.Errorf("%+v", done)
		}
		if !testkit.Exists(s.a.in("work/a")) {
			t.Error("the changed file was deleted")
		}
	}
}

func TestADamagedOrNewerManifestIsNeverReplaced(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{", `{"version": "2.0.0", "entries": []}`, `{"entries": []}`, `{"version": "1.0.0", "entries": 7}`, "\x00\x00"} {
		s := tellArchive(t, vfs.OS)
		testkit.Write(t, s.a.Layout.Manifest(), text)
		done := s.a.Run()
		if len(done.Failed) != 1 || len(done.Paths) > 0 || len(s.workspace(t)) != len(s.files) {
			t.Errorf("%q: %+v", text, done)
		}
		if got := testkit.Read(t, s.a.Layout.Manifest()); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestTheManifestKeepsWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	a := newArchiving(t, vfs.OS, "x")
	a.Checkpoint, a.Loop, a.CodonID = "", &plan.LoopContext{LoopID: "l", Iteration: 3}, "draft#3"
	old := `{"version": "1.0.0", "note": {"b": 1}, "entries": [{"sourcePath": "s", "archivePath": "p", "codonId": "c", "checkpointSha": "orphan",
		"timestamp": "2025-01-01T00:00:00.000Z", "size": 7, "loopContext": {"loopId": "l", "iteration": 0, "deep": true}}]}`
	testkit.Write(t, a.Layout.Manifest(), old)
	testkit.Write(t, a.in("x"), "x")
	if done := a.Run(); len(done.Paths) != 1 {
		t.Fatalf("%+v", done)
	}
	want := jsontext.Value(strings.TrimSuffix(old, "]}") + `, {"sourcePath": "x", "archivePath": "rigArchive/l-3/draft-3/x", "codonId": "draft#3",
		"loopContext": {"loopId": "l", "iteration": 3}, "checkpointSha": "orphan", "timestamp": "2026-01-02T03:04:05.678Z"}]}`)
	got := jsontext.Value(testkit.Read(t, a.Layout.Manifest()))
	testkit.Must(t, errors.Join(want.Canonicalize(), got.Canonicalize()))
	if !bytes.Equal(got, want) {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
}

func TestIgnoredFilesAreNotArchived(t *testing.T) {
	t.Parallel()
	a := newArchiving(t, vfs.OS, "**/*.md")
	a.Visible = func(rel string) bool { return rel != "secret.md" && !strings.HasPrefix(rel, "node_modules/") }
	for _, name := range []string{"a.md", "secret.md", "node_modules/p/x.md"} {
		testkit.Write(t, a.in(name), name)
	}
	if done := a.Run(); !slices.Equal(done.Paths, []string{"a.md"}) || len(done.Failed) > 0 {
		t.Errorf("%+v", done)
	}
}

func TestANameThatTheManifestCannotHoldStays(t *testing.T) {
	t.Parallel()
	a := newArchiving(t, vfs.OS, "**")
	testkit.Write(t, a.in("good"), "good")
	if err := os.WriteFile(a.in("bad\xff"), []byte("bad"), 0o644); err != nil {
		t.Skip("the file system takes UTF-8 names only:", err)
	}
	a.Note = func(kind string, data any) {
		if _, err := json.Marshal(data); err != nil {
			t.Errorf("the event cannot be stored: %v", err)
		}
	}
	done := a.Run()
	if !slices.Equal(done.Paths, []string{"good"}) || len(done.Failed) != 1 || !testkit.Exists(a.in("bad\xff")) {
		t.Errorf("%+v", done)
	}
}
