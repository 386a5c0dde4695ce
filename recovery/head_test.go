package recovery

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hank/internal/vfs"
	"hank/recovery/layout"
	"hank/recovery/load"
	"hank/state"
	"hank/state/journal"
)

// where is all that is asked of a glance.
func where(v *View) string {
	next, known := v.Head.Next()
	said := fmt.Sprintln(v.Live, v.Head.Done, v.Head.Planned, v.Head.Bill(), v.Head.Worked, next, known, v.State.Position != nil, v.State.CurrentPosition().RestartAt == next || v.State.Position == nil, v.Report.Findings, v.Blocked)
	said += fmt.Sprintf("%+v\n", v.Head.Caveats)
	for _, r := range v.State.Runs {
		said += fmt.Sprintln(r.RunID, r.Status, r.EndReason, r.Head, v.Crashed(r))
		if r.Len() > 0 {
			c := r.Codon(r.Len() - 1)
			said += fmt.Sprintln(c.CodonID, c.Status, c.Cost(), c.Checkpoint())
		}
	}
	return said
}

// named is all that names are made of.
func named(s *state.State) string {
	said := fmt.Sprintln(s.InitialCheckpoint, len(s.LineagePath()))
	for _, e := range s.ExecutionPlan() {
		said += fmt.Sprintln(e.CodonID)
	}
	for _, r := range s.Runs {
		said += fmt.Sprintln(r.RunID)
		for _, c := range r.Codons() {
			said += fmt.Sprintln(c.CodonID, c.Status, c.Settled(), c.CompletionCheckpoint, c.ErrorCheckpoint, c.SkipCheckpoint, c.RigSetupCheckpoint)
		}
	}
	return said
}

// glance is a view by the head alone; nil if the head does not do.
func glance(t *testing.T, root string) *View {
	t.Helper()
	v := must(look(vfs.OS, root))(t)
	if !v.readSummary() {
		return nil
	}
	return v
}

// TestAGlanceSaysWhatReadingSays: at every moment of an execution, at work and
// at rest, whether the head does or not; and mostly it does.
func TestAGlanceSaysWhatReadingSays(t *testing.T) {
	t.Parallel()
	if _, told := vfs.Identify(vfs.OS, "head_test.go"); !told {
		t.Skip("files cannot be told apart here")
	}
	root := filepath.Join(t.TempDir(), "x")
	a := begin(t, root, 12, CreateOptions{})
	byHead := 0
	compare := func(when string, want bool) {
		t.Helper()
		if v := glance(t, root); v != nil {
			byHead++
			if got, want := where(v), where(must(Read(root))(t)); got != want {
				t.Fatalf("%s, by the head:\n%s\nby all:\n%s", when, got, want)
			}
		} else if want {
			t.Errorf("%s the head does not do", when)
		}
		if got, want := where(must(ReadSummary(root))(t)), where(must(Read(root))(t)); got != want {
			t.Fatalf("%s, at a glance:\n%s\nby all:\n%s", when, got, want)
		}
		if got, want := named(must(ReadNames(root))(t)), named(must(Read(root))(t).State); got != want {
			t.Fatalf("%s, the names:\n%s\nby all:\n%s", when, got, want)
		}
		if known, whole := must(ReadKnown(root))(t), must(Read(root))(t); where(known) != where(whole) || told(t, known.State) != told(t, whole.State) {
			t.Fatalf("%s, as viewers read it:\n%s\nby all:\n%s", when, where(known), where(whole))
		}
	}
	ok(t, a.start())
	a.settle()
	compare("when a run has begun", true)
	for i := range 6 { // a codon and a loop, with nothing saved in between
		how := attempt{}
		switch i {
		case 2:
			how = attempt{end: state.Failed, fail: "ignored", on: true}
		case 3:
			how = attempt{end: state.Skipped}
		}
		ok(t, a.play(how))
		compare(fmt.Sprintf("after codon %d", i), false)
		if i%2 == 1 {
			a.settle()
			compare(fmt.Sprintf("when codon %d is saved", i), true)
		}
	}
	if got := must(ReadSummary(root))(t).Head.Caveats; len(got.Ignored) != 1 || len(got.Skipped) != 1 {
		t.Errorf("caveats %+v", got)
	}
	ok(t, a.play(attempt{end: state.Failed, fail: "for good"}))
	a.settle()
	compare("when a codon has failed", true)
	ok(t, a.exit(state.EndCodonFailed))
	a.close()
	compare("at rest", true)
	a.x = reopen(t, root)
	a.close()
	compare("when it was opened for nothing", true)
	a.x = reopen(t, root)
	ok(t, a.back(2))
	a.close()
	compare("after a rollback", true)
	moved := filepath.Join(filepath.Dir(root), "moved")
	ok(t, os.Rename(root, moved))
	root = moved
	compare("where it was moved to", false)
	if byHead < 8 {
		t.Errorf("only %d times by the head", byHead)
	}
}

// Whatever is done to a file that the head depends on, or to itself, it is not
// believed.
func TestAHeadIsNotBelievedWhenAFileWasTouched(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "x")
	history(t, root, 12, CreateOptions{}).close()
	if glance(t, root) == nil {
		if _, told := vfs.Identify(vfs.OS, "head_test.go"); told {
			t.Fatal("the head does not do at rest")
		}
		t.Skip("files cannot be told apart here")
	}
	l := layout.Layout{Root: root}
	files := []string{l.State(), l.State() + ".bak", filepath.Join(l.Events(), "events.jsonl"), l.Head(), l.Meta()}
	for _, path := range files {
		good := must(os.ReadFile(path))(t)
		info := must(os.Stat(path))(t)
		afterTick(t, path)
		for name, hurt := range map[string]func() error{
			"flipped": func() error {
				bad := append([]byte{}, good...)
				bad[len(bad)/2] ^= 1
				return os.WriteFile(path, bad, 0o600)
			},
			"gone":      func() error { return os.Remove(path) },
			"cut short": func() error { return os.Truncate(path, info.Size()/2) },
			"longer": func() error {
				return os.WriteFile(path, append(append([]byte{}, good...), good[:len(good)/2]...), 0o600)
			},
		} {
			if path == l.Meta() && name != "gone" && name != "cut short" {
				continue // what it says is read anyway
			}
			ok(t, hurt())
			if name == "flipped" {
				ok(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
			}
			if v := glance(t, root); v != nil {
				t.Errorf("%s, %s: the head is believed", filepath.Base(path), name)
			}
			ok(t, os.WriteFile(path, good, 0o600))
		}
		// Nor is it when the file is as it was: that cannot be seen. An opening
		// makes another one.
		reopenOnce(t, root)
		if glance(t, root) == nil {
			t.Fatalf("after %s was put back and hank has opened the execution, the head does not do", filepath.Base(path))
		}
	}
	// A branch that has moved is for those who read everything.
	v := must(look(vfs.OS, root))(t)
	s := must(Read(root))(t).State
	ref := filepath.Join(l.Store(), "refs", "heads", s.Newest().GitBranch)
	ok(t, os.WriteFile(ref, []byte(string(s.InitialCheckpoint)+"\n"), 0o600))
	if v.readSummary() {
		t.Error("the head is believed, and a branch has moved")
	}
}

// TestAViewerVerifiesWhatNobodyVouchesFor: damage of the journal that a file's identity shows, or
// that a crash may have left, is reported as by those who read everything. What the writer of the
// execution vouches for is left to them; the state is the same.
func TestAViewerVerifiesWhatNobodyVouchesFor(t *testing.T) {
	t.Parallel()
	if _, told := vfs.Identify(vfs.OS, "head_test.go"); !told {
		t.Skip("files cannot be told apart here")
	}
	root := filepath.Join(t.TempDir(), "x")
	a := history(t, root, 12, CreateOptions{})
	end := a.x.Journal.End()
	a.close()
	l := layout.Layout{Root: root}
	if got := load.KnownEnd(vfs.OS, l, layout.Boot(), false); got != end {
		t.Fatalf("at rest the writer vouches up to %+v; want %+v", got, end)
	}
	if got := load.KnownEnd(vfs.OS, l, "another boot", false); got != (journal.Place{}) {
		t.Errorf("in another boot, %+v", got)
	}
	sound := must(Read(root))(t)
	path := journal.Current(l.Events())
	damaged := func(v *View) bool { return strings.Contains(fmt.Sprint(v.Report.Findings), "the journal is damaged") }
	look := func(when string, want bool) {
		t.Helper()
		whole, known := must(Read(root))(t), must(ReadKnown(root))(t)
		if !damaged(whole) {
			t.Fatalf("%s, nothing is found by reading all", when)
		}
		if damaged(known) != want {
			t.Errorf("%s, as viewers read it: %v", when, known.Report.Findings)
		}
		for _, v := range []*View{whole, known} {
			if told(t, v.State) != told(t, sound.State) {
				t.Errorf("%s, the state differs", when)
			}
		}
	}
	afterTick(t, path)
	text, info := must(os.ReadFile(path))(t), must(os.Stat(path))(t)
	text[len(text)/2] ^= 1
	ok(t, os.WriteFile(path, text, 0o600))
	ok(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
	look("when a byte was changed, and the time put back", true)
	load.WriteHead(vfs.OS, l, layout.Boot(), sound.State, end) // the same, with nothing to see it by
	look("when nothing shows it", false)
	f := must(os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0))(t)
	_, err := f.WriteString("{")
	ok(t, errors.Join(err, f.Close()))
	look("when a crash has left a part of an event", true)
	reopenOnce(t, root)
	if v := must(ReadKnown(root))(t); damaged(v) || told(t, v.State) != told(t, must(Read(root))(t).State) {
		t.Errorf("after it was opened: %v", v.Report.Findings)
	}
}

// afterTick returns when a change of a file would show in its times.
func afterTick(t *testing.T, path string) {
	t.Helper()
	id, _ := vfs.Identify(vfs.OS, path)
	clock := filepath.Join(t.TempDir(), "clock")
	for at := int64(0); at <= id.CTime; at = must(os.Stat(clock))(t).ModTime().UnixNano() {
		ok(t, os.WriteFile(clock, nil, 0o600))
	}
}

func reopenOnce(t *testing.T, root string) {
	t.Helper()
	ok(t, reopen(t, root).Close())
}
