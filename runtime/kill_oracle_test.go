//go:build unix

package runtime

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"hank/checkpoint"
	"hank/checkpoint/repair"
	"hank/internal/proc"
	"hank/internal/vfs"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/recovery/layout"
	"hank/runtime/internal/testkit"
	"hank/state"
	"hank/state/journal"
)

// folded is what the journal on disk says, read by this file alone.
type folded struct {
	state  *state.State
	last   uint64                    // the number of its last event
	at     map[uint64][]byte         // states by the number of their event, their serial left out
	events []state.CodonTransitioned // in order

	attempts map[string]bool        // that were begun
	finished map[state.CodonID]bool // where the execution stands
	again    []string               // what was finished and began again although nobody went back
}

func (o order) layout() layout.Layout {
	return layout.Layout{Root: o.Execution, Workspace: layout.DefaultWorkspace(o.Execution)}
}

// fold reads the journal from its base. Before there is one it returns nil.
func (o order) fold(t *testing.T) *folded {
	t.Helper()
	found, err := journal.Inspect(vfs.OS, o.layout().Events())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || !found.Whole() {
		t.Fatalf("the journal is damaged: %v %v", err, found.Damage)
	}
	f := &folded{state: &state.State{}, at: map[uint64][]byte{}, attempts: map[string]bool{}, finished: map[state.CodonID]bool{}}
	err = journal.Read(vfs.OS, o.layout().Events(), found.Base, func(e journal.Event) error {
		f.last = e.Seq
		if e.Type != state.TransitionEvent {
			return nil
		}
		tr, err := state.Decode(e.Data)
		if err != nil {
			return err
		}
		if f.state, err = state.Apply(f.state, e.Seq, tr); err != nil {
			return err
		}
		f.follow(tr)
		f.at[e.Seq], err = unnumbered(f.state)
		return err
	})
	if err != nil {
		t.Fatalf("the journal cannot be folded: %v", err)
	}
	return f
}

// follow keeps account of what is finished. Only a move back, by the user's
// word, may make it unfinished; a run that continues redoes what was interrupted.
func (f *folded) follow(tr state.Transition) {
	switch tr := tr.(type) {
	case state.CodonStarted:
		id := tr.Record.CodonID
		f.attempts[recovery.Attempt(f.state.Lineage, tr.RunID, tr.Record)] = true
		if f.finished[id] {
			f.again = append(f.again, fmt.Sprintf("codon %s was finished, and run %s began it again", id, tr.RunID))
		}
	case state.CodonTransitioned:
		f.events = append(f.events, tr)
		if isDone(tr.Record) {
			f.finished[tr.Record.CodonID] = true
		}
	case state.IntentClosed:
		p := f.state.Position
		if p == nil || tr.Cancelled {
			return
		}
		before := f.finished
		f.finished = map[state.CodonID]bool{}
		for _, step := range f.state.LineagePath() {
			if isDone(step.Codon) {
				f.finished[step.Codon.CodonID] = true
			}
		}
		for id := range before {
			if p.Reason == state.ReasonContinue && !f.finished[id] {
				f.again = append(f.again, fmt.Sprintf("codon %s was finished, and a run that went on went back behind it", id))
			}
		}
	}
}

// isDone reports whether an agent has done its work, whatever its checkpoint.
func isDone(c *state.Codon) bool {
	return c.Status == state.Completed || c.Settling != nil && c.Settling.Status == state.Completed
}

// unnumbered is a state's text without the number of its save.
func unnumbered(s *state.State) ([]byte, error) {
	same := *s
	same.Serial = 0
	return same.Marshal()
}

// compareSaved checks that state.json and its backup, as far as they are
// there, are what the journal says at their position. It returns how many were.
func (o order) compareSaved(t *testing.T, f *folded) int {
	t.Helper()
	there := 0
	for _, name := range []string{o.layout().State(), o.layout().State() + ".bak"} {
		text, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		there++
		if err := state.Verify(text); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		s, err := state.Unmarshal(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := unnumbered(s)
		if err != nil {
			t.Fatal(err)
		}
		want, known := f.at[s.Seq]
		switch {
		case s.Seq > f.last:
			t.Errorf("%s knows event %d, and the journal ends at %d", name, s.Seq, f.last)
		case !known && len(f.at) > 0 && s.Seq >= f.state.Seq:
			t.Errorf("%s says event %d, which changed nothing", name, s.Seq)
		case known && !bytes.Equal(got, want):
			t.Errorf("%s is not what the journal says at event %d: %s", name, s.Seq, firstDifference(got, want))
		}
	}
	return there
}

func firstDifference(got, want []byte) string {
	a, b := bytes.Split(got, []byte("\n")), bytes.Split(want, []byte("\n"))
	for i := range min(len(a), len(b)) {
		if !bytes.Equal(a[i], b[i]) {
			return fmt.Sprintf("line %d is %s instead of %s", i+1, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d lines instead of %d", len(a), len(b))
}

// failures says of each record that failed why, for a test that has to tell.
func (o order) failures(t *testing.T) string {
	var b strings.Builder
	for _, e := range o.fold(t).events {
		if f := e.Record.FailureReason; f != nil {
			fmt.Fprintf(&b, "%s of %s: %+v, interrupted by %q, notes %q\n", e.Record.CodonID, e.RunID, *f, e.Record.Interrupted, e.Record.Notes)
		}
	}
	return b.String()
}

// done lists the codons whose agents may never start again: their ends, or
// that they ended well and only their checkpoints are to come, are in the
// journal.
func (f *folded) done() map[state.CodonID]bool {
	done := map[state.CodonID]bool{}
	for _, e := range f.events {
		if isDone(e.Record) {
			done[e.Record.CodonID] = true
		}
	}
	return done
}

// starts counts the lines "start CODON" that the agents have written.
func starts(t *testing.T, file string) map[state.CodonID]int {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	counts := map[state.CodonID]int{}
	for line := range strings.Lines(string(text)) {
		id, ok := strings.CutPrefix(strings.TrimSpace(line), "start ")
		if !ok {
			t.Fatalf("the counter has the line %q", line)
		}
		counts[state.CodonID(id)]++
	}
	return counts
}

// files is everything below a directory but hank's own: path, kind, permissions
// and every byte. Folders that are empty are in no checkpoint, and not here.
func files(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == layout.Dir {
			return fs.SkipDir
		}
		if d.IsDir() {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var content string
		if info.Mode()&fs.ModeSymlink != 0 {
			content, err = os.Readlink(path)
		} else {
			var b []byte
			b, err = os.ReadFile(path)
			content = string(b)
		}
		rel, _ := filepath.Rel(root, path)
		all[rel] = fmt.Sprintf("%s %s", info.Mode(), content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// sameFiles compares two directories byte by byte.
func sameFiles(t *testing.T, got, want string) {
	t.Helper()
	a, b := files(t, got), files(t, want)
	if len(b) < 10 {
		t.Fatalf("%s has only %d files to compare with", want, len(b))
	}
	if wrong := difference(a, b); wrong != "" {
		t.Errorf("%s and %s differ: %s", got, want, wrong)
	}
}

// difference tells how one set of files is not what is wanted.
func difference(got, want map[string]string) string {
	var wrong []string
	for name := range got {
		if _, there := want[name]; !there {
			wrong = append(wrong, name+" should not be there")
		}
	}
	for name := range want {
		if have, there := got[name]; !there {
			wrong = append(wrong, name+" is missing")
		} else if have != want[name] {
			wrong = append(wrong, name+" differs")
		}
	}
	sort.Strings(wrong)
	return strings.Join(wrong, "; ")
}

// clean is sound, with a workspace that is the newest checkpoint's.
func (o order) clean(t *testing.T) {
	t.Helper()
	o.sound(t)
	view, err := recovery.Read(o.Execution)
	if err != nil {
		t.Fatal(err)
	}
	store, err := view.Store()
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	o.headIsWorkspace(t, view, store)
}

// sound checks all that must hold of an execution at rest: nothing to mend, a
// state without a finding, a store that is whole by hank's check and by git's,
// and nobody left.
func (o order) sound(t *testing.T) {
	t.Helper()
	view, err := recovery.Read(o.Execution)
	if err != nil {
		t.Fatal(err)
	}
	if len(view.Report.Findings) > 0 || view.Report.Source != "state.json" && view.Report.Source != "journal" {
		t.Errorf("doctor finds, from %s: %v", view.Report.Source, view.Report.Findings)
	}
	if v := view.Validate(); !v.Valid || len(v.Errors)+len(v.Warnings) > 0 {
		t.Errorf("the state is not valid: errors %v, warnings %v", v.Errors, v.Warnings)
	}
	store, err := view.Store()
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	report, err := repair.Check(t.Context(), store.DB)
	if err != nil || !report.IsComplete() {
		t.Errorf("the store is not whole: %v %+v", err, report)
	}
	git := exec.CommandContext(t.Context(), "git", "--git-dir="+o.layout().Store(), "fsck", "--strict", "--full")
	out, err := git.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "dangling ") {
			t.Errorf("git fsck: %s", line)
		}
	}
	if err != nil {
		t.Errorf("git fsck: %v\n%s", err, out)
	}
	left, err := proc.WithEnv("HANK_WORKSPACE", o.layout().Workspace)
	if err != nil || len(left) > 0 {
		t.Errorf("still alive: %v %v", left, err)
	}
	for _, name := range []string{".hankweave/state.json.tmp", ".hankweave/state.json.bak.tmp"} {
		if testkit.Exists(filepath.Join(o.Execution, name)) {
			t.Errorf("%s was left behind", name)
		}
	}
}

// headIsWorkspace checks that the newest checkpoint is the tree on disk.
func (o order) headIsWorkspace(t *testing.T, view *recovery.View, store *checkpoint.Store) {
	t.Helper()
	if view.State.Newest() == nil {
		t.Fatal("there is no run")
	}
	info, err := store.CommitInfo(checkpoint.SHA(execution.Head(view.State)))
	if err != nil {
		t.Fatal(err)
	}
	index := filepath.Join(t.TempDir(), "index")
	for _, args := range [][]string{{"read-tree", string(info.SHA)}, {"status", "--porcelain", "--untracked-files=all"}} {
		git := exec.CommandContext(t.Context(), "git", append([]string{"--git-dir=" + o.layout().Store(), "--work-tree=" + o.layout().Workspace}, args...)...)
		git.Env = append(os.Environ(), "GIT_INDEX_FILE="+index, "GIT_CONFIG_GLOBAL=/dev/null")
		out, err := git.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		for line := range strings.Lines(string(out)) {
			// The first letter compares with a branch that is not there.
			if line[1] != ' ' && !strings.HasSuffix(strings.TrimSpace(line), layout.DataName) {
				t.Errorf("the newest checkpoint is not the workspace, by git: %s", line)
			}
		}
	}
}
