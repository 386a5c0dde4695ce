package reset

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hank/internal/short"
	"hank/internal/vfs"
	"hank/recovery/layout"
)

// TestMain keeps the executions of tests out of the user's registry.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "hank-reset-test-")
	if err != nil {
		panic(err)
	}
	os.Setenv("HANK_STATE_DIR", dir)
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// laidOut is a directory with what looks like an execution, and files of the user's.
func laidOut(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for _, name := range []string{".hankweave/state.json", ".hankweave/events/events.jsonl", "agentRoot/a/b", "rigArchive/c", "hank-20260102T030405Z.log", "notes.txt", "results/r"} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// files are the files below a directory, without what a reset itself writes.
func files(t *testing.T, root string) string {
	t.Helper()
	var names []string
	if err := filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if rel, err := filepath.Rel(root, path); err != nil {
			return err
		} else if e.IsDir() && strings.HasPrefix(e.Name(), layout.ResetPrefix) {
			names = append(names, "D/")
		} else if !e.IsDir() {
			names = append(names, layoutName(rel))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// layoutName replaces the name with the time.
func layoutName(rel string) string {
	if first, rest, found := strings.Cut(rel, "/"); found && strings.HasPrefix(first, layout.ResetPrefix) {
		return "D/" + rest
	}
	return rel
}

// killed carries something out until step n, as if the process ended there; it reports
// whether there are so many.
func killed(m *Move, n int, do func(layout.Reset) error, r layout.Reset) (cut bool, err error) {
	type end struct{}
	defer func() {
		if what := recover(); what != nil {
			if _, ok := what.(end); !ok {
				panic(what)
			}
			cut = true
		}
	}()
	m.passed = func(string) {
		if n--; n == 0 {
			panic(end{})
		}
	}
	return false, do(r)
}

func TestAResetAndItsUndoKilledAnywhereAreFinishedOrTakenBack(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	want := map[bool]string{
		false: "D/ D/.gitignore D/.hankweave/events/events.jsonl D/.hankweave/reset.json D/.hankweave/state.json D/agentRoot/a/b D/hank-20260102T030405Z.log D/rigArchive/c notes.txt results/r",
		true:  ".hankweave/events/events.jsonl .hankweave/state.json agentRoot/a/b hank-20260102T030405Z.log notes.txt results/r rigArchive/c",
	}
	steps := 0
	for _, undo := range []bool{false, true} { // what is killed
		for _, then := range []bool{false, true} { // what follows
			for n := 1; ; n++ {
				root := laidOut(t)
				if undo {
					if _, err := Reset(root).held(Options{}); err != nil {
						t.Fatal(err)
					}
				}
				name := fmt.Sprintf("undo %v killed at step %d, then undo %v", undo, n, then)
				task := Reset(root)
				if undo {
					task = must(t)(Undo(root))
				}
				m := moveOf(root, task.record, undo)
				do := m.forward
				if undo {
					do = m.back
				}
				cut, err := killed(m, n, do, task.record)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if !cut {
					break
				}
				steps++
				if _, open := layout.Resetting(vfs.OS, root); !open && layout.Exists(root) {
					t.Errorf("%s: nothing refuses the execution of which a part is elsewhere", name)
				}
				switch {
				case then:
					task = must(t)(Undo(root))
				case layout.Exists(root):
					task = Reset(root)
				default:
					if got := files(t, root); got != want[false] {
						t.Errorf("%s: left\n%s", name, got)
					}
					continue
				}
				if _, err := task.held(Options{}); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if got := files(t, root); got != want[then] {
					t.Errorf("%s:\n%s\nwant\n%s", name, got, want[then])
				}
			}
		}
	}
	if steps < 20 {
		t.Errorf("only %d steps were interrupted", steps)
	}
}

// A record that names something elsewhere, such as one that came with files of others, is
// none: a reset moves nothing by it.
func TestARecordLeadsNowhereElse(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"../theirs", "/etc/hostname", "agentRoot/../../theirs", ".", "..", ""} {
		root := laidOut(t)
		theirs := filepath.Join(filepath.Dir(root), "theirs")
		if err := os.WriteFile(theirs, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		m := moveOf(root, layout.Reset{}, false)
		if err := m.record(root, layout.Reset{Schema: 1, From: root, To: layout.ResetPrefix + "x", Names: []string{"agentRoot", name}}); err != nil {
			t.Fatal(err)
		}
		task := Reset(root)
		if task.Begun || slices.Contains(task.record.Names, name) {
			t.Errorf("%q is taken for something to be moved", name)
		}
		if _, err := task.held(Options{}); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		if !exists(theirs) {
			t.Errorf("%q: moved", name)
		}
	}
}

// Where not even the record can be written, nothing is said to be elsewhere.
func TestAResetWithoutARecordHasMovedNothing(t *testing.T) {
	t.Parallel()
	root := laidOut(t)
	before := files(t, root)
	if err := os.Mkdir(layout.Layout{Root: root}.Reset(), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Reset(root).held(Options{}); err == nil || !strings.Contains(err.Error(), "nothing was moved") || strings.Contains(err.Error(), "continues") {
		t.Errorf("%v", err)
	}
	if got := strings.Replace(files(t, root), ".hankweave/reset.json.tmp ", "", 1); got != before {
		t.Errorf("now there is\n%s\nand there was\n%s", got, before)
	}
}

func must(t *testing.T) func(*Task, error) *Task {
	return func(task *Task, err error) *Task {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return task
	}
}

// What cannot be moved leaves nothing moved, and what is in the way of an undo stays.
func TestAResetThatCannotBeDoneMovesNothing(t *testing.T) {
	t.Parallel()
	root := laidOut(t)
	before := files(t, root)
	task := Reset(root)
	theirs := filepath.Join(root, task.record.To, "hank-20260102T030405Z.log")
	if err := os.Mkdir(filepath.Dir(theirs), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(theirs, []byte("not a reset's"), 0o644); err != nil {
		t.Fatal(err)
	}
	m := moveOf(root, task.record, false)
	if err := m.forward(task.record); err == nil {
		t.Fatal("it moved over what was there")
	}
	if err := m.takeBack(task.record); err == nil || !strings.Contains(err.Error(), "could not be moved back") {
		t.Fatal(err) // it is in both places
	}
	if err := os.Remove(theirs); err != nil {
		t.Fatal(err)
	}
	if _, err := must(t)(Undo(root)).held(Options{}); err != nil {
		t.Fatal(err)
	}
	if got := files(t, root); got != before {
		t.Errorf("now there is\n%s\nand there was\n%s", got, before)
	}
	if _, err := Reset(root).held(Options{}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "agentRoot"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := must(t)(Undo(root)).held(Options{}); err == nil || !strings.Contains(err.Error(), "is in the way") {
		t.Errorf("an undo over a file of the user's: %v", err)
	}
}
