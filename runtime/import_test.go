//go:build unix

package runtime

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hank/checkpoint/remote"
	"hank/internal/short"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/layout"
	"hank/runtime/exitcode"
	"hank/runtime/internal/testkit"
	"hank/runtime/keeper"
	"hank/runtime/verdict"
)

func init() {
	testkit.Parts["import"] = func(args []string) error {
		return importFrom(args[1], args[0])
	}
}

func importFrom(address, root string) error {
	x, _, err := recovery.Import(context.Background(), root, remote.Remote{Address: address, Prefix: "hank/x"}, execution.Options{Reap: keeper.ReapNames})
	if err != nil {
		return err
	}
	return x.Close()
}

// importPoints are the failpoints that an import passes, with how often it may.
var importPoints = map[string]int{
	"import.begun": 1, "import.marked": 1, "pack.written": 2, "pack.renamed": 2, "pack.indexed": 2, "transfer.copied": 1,
	"ref.locked": 1, "ref.written": 2, "ref.renamed": 3, "transfer.moved": 4, "journal.appended": 2, "journal.synced": 2,
	"snapshot.written": 1, "snapshot.renamed": 1, "import.opened": 1, "move.safe": 1, "move.intended": 1, "restore.started": 1, "restore.written": 2,
	"restore.renamed": 2, "move.applied": 1, "import.filled": 1,
}

// Killed anywhere, an import into a new directory leaves none that anybody takes for
// an execution, or a whole one; and the same import continues with it.
func TestAnImportKilledAnywhereIsFinishedByTheNext(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s, mirror := exported(t)
	want, records := s.tree(), s.records()
	killed := 0
	for point, most := range importPoints {
		for n := 1; n <= most; n++ {
			root := filepath.Join(t.TempDir(), "again")
			if !s.killImport(fmt.Sprintf("%s:%d", point, n), root, mirror) {
				break // it is not passed so often
			}
			killed++
			_, cut := recovery.Importing(root)
			if !cut && layout.Exists(root) { // nothing is left to do
				s.isImported(root, want, records)
			}
			if cut {
				if _, err := recovery.Read(root); verdict.CodeOf(err) != exitcode.Decision {
					t.Errorf("%s:%d: a reader finds %v", point, n, err)
				}
				if _, err := s.at(root).run(ModeRun); verdict.CodeOf(err) != exitcode.Decision {
					t.Errorf("%s:%d: a run on half an import says %v", point, n, err)
				}
			}
			if err := importFrom(mirror, root); err != nil {
				t.Errorf("%s:%d: the next import: %v", point, n, err)
				continue
			}
			s.isImported(root, want, records)
			if n == 1 && strings.HasPrefix(point, "transfer") {
				s.at(root).mustRollback("initial")
				s.at(root).must(ModeRun, exitcode.Done)
			}
		}
	}
	if killed < 25 {
		t.Errorf("it was killed %d times only", killed)
	}
}

// Into an execution that has lost its store an import can be killed anywhere, too.
func TestAnImportIntoAnExecutionKilledAnywhereIsFinishedByTheNext(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s, mirror := exported(t)
	want, records := s.tree(), s.records()
	template := filepath.Join(t.TempDir(), "template")
	if err := os.CopyFS(template, os.DirFS(s.root)); err != nil {
		t.Fatal(err)
	}
	for _, point := range []string{"pack.written", "pack.indexed", "transfer.copied", "ref.locked:1", "ref.written:2", "ref.renamed:1", "transfer.moved:1", "transfer.moved:3", "snapshot.renamed"} {
		root := filepath.Join(t.TempDir(), "again")
		if err := os.CopyFS(root, os.DirFS(template)); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(layout.LayoutOf(root).Store()); err != nil {
			t.Fatal(err)
		}
		if !s.killImport(point, root, mirror) {
			t.Errorf("%s is not passed", point)
			continue
		}
		if err := importFrom(mirror, root); err != nil {
			t.Errorf("%s: the next import: %v", point, err)
			continue
		}
		s.isImported(root, want, records)
	}
}

// exported is an execution with a rollback in it, and a directory with its checkpoints.
func exported(t *testing.T) (s *stage, mirror string) {
	t.Helper()
	s = stageOf(t, `{"hank": [
	  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "date +%N >a; mkdir d; echo a >d/a"},
	  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "date +%N >b; rm d/a"}
	]}`)
	s.must(ModeRun, exitcode.Done)
	s.mustRollback("a")
	s.must(ModeRun, exitcode.Done)
	mirror = filepath.Join(t.TempDir(), "mirror")
	store, err := s.view().Store()
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if _, err := remote.Export(context.Background(), store.DB, remote.Remote{Address: mirror, Prefix: "hank/x"}); err != nil {
		t.Fatal(err)
	}
	return s, mirror
}

// killImport reports whether an import was killed at a failpoint.
func (s *stage) killImport(point, root, mirror string) bool {
	s.t.Helper()
	cmd := exec.Command(os.Args[0], "__part", "import", root, mirror)
	cmd.Env = append(os.Environ(), "HANK_FAILPOINT="+point)
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState.ExitCode() != -1 {
		s.t.Fatalf("%s: it ended by itself: %v: %s", point, err, out)
	}
	return err != nil
}

// at is the same hank with an execution elsewhere.
func (s *stage) at(root string) *stage {
	again := &stage{t: s.t, root: root, opts: s.opts}
	again.opts.Execution, again.opts.Say = root, again.say
	return again
}

// isImported wants the execution that was exported.
func (s *stage) isImported(root string, want map[string]string, records []string) {
	s.t.Helper()
	again := s.at(root)
	v := again.view()
	if found := v.Validate(); !found.Valid || v.Report.Has(finding.Lost) || v.Report.Has(finding.Blocked) {
		s.t.Errorf("a reader finds %+v, %+v", v.Report, found)
	}
	if _, cut := recovery.Importing(root); cut {
		s.t.Error("it is still marked as half imported")
	}
	sameTree(s.t, "imported", again.tree(), want)
	if got := again.records(); fmt.Sprint(got) != fmt.Sprint(records) {
		s.t.Errorf("records %v, want %v", got, records)
	}
	again.fsck()
}
