//go:build unix

package diff

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/storage/memory"
	"pgregory.net/rapid"

	"hank/checkpoint/internal/layouttest"
	"hank/checkpoint/internal/testkit"
	"hank/checkpoint/packdb"
)

func TestDiffNamesExactlyWhatDiffers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		from, to := layouttest.DrawLayout(t, "from"), layouttest.DrawLayout(t, "to")
		st := memory.NewStorage()
		changes, err := Diff(st, layouttest.PutTree(t, st, from), layouttest.PutTree(t, st, to))
		testkit.Must(t, err)
		if !slices.IsSortedFunc(changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) }) {
			t.Fatalf("not sorted: %v", changes)
		}
		got := maps.Clone(from)
		for _, c := range changes {
			was, had := from[c.Path]
			will, has := to[c.Path]
			if was == will || had != (c.From != Entry{}) || has != (c.To != Entry{}) {
				t.Fatalf("%+v, but from has %v, to has %v", c, was, will)
			}
			want := Modified
			switch {
			case !had:
				want = Added
			case !has:
				want = Deleted
			case (was.Mode == filemode.Symlink) != (will.Mode == filemode.Symlink):
				want = TypeChanged
			}
			if c.Kind != want || c.From.Mode != was.Mode || c.To.Mode != will.Mode {
				t.Fatalf("%+v (%v), want kind %v", c, c.Kind, want)
			}
			if delete(got, c.Path); has {
				got[c.Path] = will
			}
		}
		if !maps.Equal(got, to) {
			t.Fatalf("changes %v do not lead from %v to %v", changes, from, to)
		}
	})
}

func TestDiffReadsOnlyWhatDiffers(t *testing.T) {
	t.Parallel()
	from := layouttest.Layout{}
	for i := range 1000 {
		from[fmt.Sprintf("d%d/e%d/f%d", i%10, i%100, i)] = layouttest.File("x")
	}
	to := maps.Clone(from)
	to["d3/e13/f13"] = layouttest.File("y")
	st := memory.NewStorage()
	a, b := layouttest.PutTree(t, st, from), layouttest.PutTree(t, st, to)
	counting := &layouttest.CountingStore{EncodedObjectStorer: st}
	changes, err := Diff(counting, a, b)
	testkit.Must(t, err)
	if len(changes) != 1 || counting.Reads != 6 {
		t.Errorf("%d changes after reading %d trees, want 1 after 6", len(changes), counting.Reads)
	}
	for _, same := range []packdb.SHA{a, "", packdb.EmptyTree} {
		if changes, err := Diff(counting, same, same); err != nil || len(changes) > 0 {
			t.Errorf("Diff of %q with itself: %v, %v", same, changes, err)
		}
	}
	if changes, err := Diff(counting, "", packdb.EmptyTree); err != nil || len(changes) > 0 {
		t.Errorf("Diff of two forms of the empty tree: %v, %v", changes, err)
	}
}

func drawTexts(t *rapid.T, label string) layouttest.Layout {
	l := layouttest.Layout{}
	lines := rapid.SliceOfN(rapid.SampledFrom([]string{"one\n", "two\n", "three\r\n", "\n", "\xff\xfe\n", "-- x\n", "@@ -1 +1 @@\n", "end", "\\ No newline at end of file\n"}), 0, 30)
	names := []string{"plain", "with space", "new\nline", `q"uo\te`, "\xff", "ü/tab\t", "dir/x", "dir/y", "dir", "e x/\x7f"}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 8, rapid.ID[string]).Draw(t, label) {
		text := strings.Join(lines.Draw(t, "lines"), "")
		switch rapid.IntRange(0, 5).Draw(t, "type") {
		case 0:
			l[name] = layouttest.Exe(text)
		case 1:
			l[name] = layouttest.Link("x" + strings.ReplaceAll(text, "\x00", ""))
		case 2:
			l[name] = layouttest.File(text + "\x00" + text)
		default:
			l[name] = layouttest.File(text)
		}
	}
	return layouttest.WithoutConflicts(l)
}

// Stock git makes out of one side of a patch exactly the other, and back.
func TestPatchesAreAppliedByStockGit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		from, to := drawTexts(t, "from"), drawTexts(t, "to")
		st := memory.NewStorage()
		changes, err := Diff(st, layouttest.PutTree(t, st, from), layouttest.PutTree(t, st, to))
		testkit.Must(t, err)
		var patch bytes.Buffer
		testkit.Must(t, WritePatch(&patch, st, changes))
		if len(changes) == 0 {
			return
		}
		root, err := os.MkdirTemp("", "hank-patch-")
		testkit.Must(t, err)
		defer os.RemoveAll(root)
		layouttest.LayDown(t, root, from)
		layouttest.Git(t, root, patch.Bytes(), "apply", "--binary", "--whitespace=nowarn", "-")
		layouttest.SameLayout(t, "after git apply", layouttest.ReadBack(t, root), to)
		layouttest.Git(t, root, patch.Bytes(), "apply", "--binary", "--whitespace=nowarn", "-R", "-")
		layouttest.SameLayout(t, "after git apply -R", layouttest.ReadBack(t, root), from)
	})
}

// On texts without two equally short differences, the patch and the counts
// are those of stock git, byte for byte.
func TestPatchAndStatEqualStockGits(t *testing.T) {
	t.Parallel()
	var long, edited []string
	for i := range 200 {
		long = append(long, fmt.Sprintf("line %d\n", i))
	}
	edited = slices.Clone(long)
	edited[0], edited[50], edited[56], edited[64], edited[199] = "first\n", "fifty\n", "close\n", "far\n", "last"
	edited = slices.Delete(edited, 100, 110)
	from := layouttest.Layout{"long": layouttest.File(strings.Join(long, "")), "gone": layouttest.File("a\nb"), "empty gone": layouttest.File(""), "mode": layouttest.File("m\n"), "both": layouttest.File("m\n"),
		"l": layouttest.Link("x"), "tolink": layouttest.File("text\n"), "ü\n": layouttest.File("1\n"), "with space": layouttest.File("1\n"), "one": layouttest.File("1\n")}
	to := layouttest.Layout{"long": layouttest.File(strings.Join(edited, "")), "came": layouttest.Exe("a\nb\n"), "empty came": layouttest.File(""), "mode": layouttest.Exe("m\n"), "both": layouttest.Exe("n\n"),
		"l": layouttest.Link("y"), "tolink": layouttest.Link("text"), "ü\n": layouttest.File("2\n"), "with space": layouttest.File("2\n"), "one": layouttest.File("1\n2\n3\n")}
	st := memory.NewStorage()
	changes, err := Diff(st, layouttest.PutTree(t, st, from), layouttest.PutTree(t, st, to))
	testkit.Must(t, err)
	var patch bytes.Buffer
	testkit.Must(t, WritePatch(&patch, st, changes))

	root := t.TempDir()
	layouttest.Git(t, root, nil, "init", "-q")
	layouttest.LayDown(t, root, from)
	layouttest.Git(t, root, nil, "add", "-A")
	a := strings.TrimSpace(string(layouttest.Git(t, root, nil, "write-tree")))
	for name := range from {
		testkit.Must(t, os.Remove(filepath.Join(root, name)))
	}
	layouttest.LayDown(t, root, to)
	layouttest.Git(t, root, nil, "add", "-A")
	b := strings.TrimSpace(string(layouttest.Git(t, root, nil, "write-tree")))
	want := layouttest.Git(t, root, nil, "diff", "--binary", "--full-index", "--no-renames", a, b)
	if got := patch.String(); withoutHeadings(got) != withoutHeadings(string(want)) {
		t.Errorf("patch:\n%s\ngit's:\n%s", got, want)
	}
	stats, err := Stat(st, changes)
	testkit.Must(t, err)
	var numstat strings.Builder
	for _, s := range stats {
		fmt.Fprintf(&numstat, "%d\t%d\t%s\x00", s.Added, s.Deleted, s.Path)
	}
	if want := layouttest.Git(t, root, nil, "diff", "--numstat", "-z", "--no-renames", a, b); numstat.String() != string(want) {
		t.Errorf("stat %q, git's %q", numstat.String(), want)
	}
}

// withoutHeadings cuts what git adds behind the ranges of a hunk, the line
// that looks like a function's.
func withoutHeadings(patch string) string {
	lines := strings.SplitAfter(patch, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "@@ ") {
			at := strings.Index(line[3:], " @@")
			lines[i] = line[:3+at+3] + "\n"
		}
	}
	return strings.Join(lines, "")
}

// The edits lead from one text to the other whatever the bytes are, also for
// more lines than there are code points in the basic plane.
func TestLineEditsAreExact(t *testing.T) {
	t.Parallel()
	check := func(t testkit.Fataler, a, b string) {
		var from, to strings.Builder
		for _, e := range lineEdits(a, b) {
			text := strings.Join(e.lines, "")
			if e.op != '+' {
				from.WriteString(text)
			}
			if e.op != '-' {
				to.WriteString(text)
			}
		}
		if from.String() != a || to.String() != b {
			t.Fatalf("edits of %.100q and %.100q are of %.100q and %.100q", a, b, from.String(), to.String())
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a\n", "b\n", "\xff\n", "\r", "\x00", "c", "\n"}), 0, 40).Draw(t, "parts"), "")
		})
		check(t, text.Draw(t, "a"), text.Draw(t, "b"))
	})
	rng := rand.New(rand.NewPCG(1, 2))
	var a, b strings.Builder
	for i := range 70_000 { // past the surrogates
		fmt.Fprintf(&a, "%d\n", i)
		if rng.IntN(1000) > 0 {
			fmt.Fprintf(&b, "%d\n", i)
		} else {
			fmt.Fprintf(&b, "new %d\n", i)
		}
	}
	check(t, a.String(), b.String())
	many := strings.Repeat("x\n", maxLines)
	check(t, many, many+"y")
}
