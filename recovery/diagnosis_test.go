package recovery

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hank/internal/vfs"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/state"
)

// foresight is what a reader has reported of an execution that is about to be opened.
type foresight struct {
	v   *View
	err error
}

func foresee(fsys vfs.FS, root string) foresight {
	v, err := read(fsys, root, false)
	return foresight{v, err}
}

// came checks that the next opening has done what the reader has reported, and nothing
// else.
func (f foresight) came(t testing.TB, what string, x *execution.Execution, err error) {
	t.Helper()
	var asked, question *finding.DecisionError
	switch {
	case errors.As(f.err, &asked):
	case f.err != nil:
		if err == nil {
			t.Errorf("%s: a reader reports %v, and the execution opens", what, f.err)
		}
		return
	default:
		asked = f.v.Blocked
	}
	if errors.As(err, &question) {
		switch {
		case asked == nil:
			t.Errorf("%s: an opening asks\n%v\nand a reader reports nothing of it: %s", what, question, listed(f.v.Report))
		case asked.What != question.What || asked.Command != question.Command || !slices.Equal(asked.Options, question.Options):
			t.Errorf("%s: an opening asks\n%v (%s)\nand a reader\n%v (%s)", what, question, question.Command, asked, asked.Command)
		}
		return
	}
	if err != nil {
		return // the disk, or the execution of somebody else
	}
	if asked != nil {
		t.Errorf("%s: a reader asks %v, and the execution opens", what, asked)
		return
	}
	if f.v.Report.Source != x.Report.Source || f.v.Report.Unsure != x.Report.Unsure {
		t.Errorf("%s: a reader reads from %s, an opening from %s", what, f.v.Report.Source, x.Report.Source)
	}
	did := found(x.Report, x.State())
	for key, foreseen := range found(f.v.Report, f.v.State) {
		if _, done := did[key]; !done && foreseen != finding.Warning && !strings.Contains(key, "is not the directory that hank last had") { // both are for who runs the hank
			t.Errorf("%s: a reader reports %s: %s, and an opening\n%s", what, foreseen, key, listed(x.Report))
		}
	}
	foreseen := found(f.v.Report, f.v.State)
	for key, severity := range did {
		if _, said := foreseen[key]; !said && !strings.HasPrefix(key, "not as in the checkpoint") { // which shows only in the attempt
			t.Errorf("%s: an opening reports %s: %s, and a reader\n%s", what, severity, key, listed(f.v.Report))
		}
	}
	for _, r := range f.v.State.Runs {
		now := x.State().Run(r.RunID)
		if now == nil {
			t.Errorf("%s: run %s, which a reader reports, is not there", what, r.RunID)
			continue
		}
		want := r.Status
		switch {
		case f.v.Crashed(r):
			want = state.StatusCrashed
		case r.Status == state.StatusRunning && r.Paused != nil:
			want = state.StatusFailed
		}
		if now.Status != want {
			t.Errorf("%s: run %s is %s, and a reader has reported %s", what, r.RunID, now.Status, want)
		}
	}
}

// found are the findings of a report without what becomes of them.
func found(rep finding.Report, s *state.State) map[string]finding.Severity {
	all := map[string]finding.Severity{}
	for _, f := range rep.Findings {
		what := strings.TrimSuffix(strings.TrimSuffix(f.What, f.Next), "; ")
		for _, r := range s.Runs {
			if r.Paused != nil { // why is only a reader's to tell
				what = strings.TrimSuffix(what, ": "+r.Paused.Detail)
			}
		}
		all[what] = f.Severity
	}
	return all
}

func listed(rep finding.Report) string {
	var b strings.Builder
	for _, f := range rep.Findings {
		fmt.Fprintf(&b, "  %s: %s\n", f.Severity, f.What)
	}
	return b.String()
}
