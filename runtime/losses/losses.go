// Package losses finds what is no longer there of what an execution has written, and what its
// state does not name: transcripts of agents, events of the journal, and checkpoints.
//
// It only reads, and reports as lost only what the records prove was written. No command
// brings any of it back, and an execution can continue without it.
package losses

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/go-json-experiment/json"

	"hank/checkpoint"
	"hank/checkpoint/repair"
	"hank/internal/term"
	"hank/internal/vfs"
	"hank/recovery"
	"hank/recovery/finding"
	"hank/recovery/githistory"
	"hank/recovery/layout"
	"hank/recovery/load"
	"hank/runtime/harness/transcript"
	"hank/state"
	"hank/state/journal"
)

// Find looks at all transcripts, at the journal, and at what repairs have given up.
func Find(ctx context.Context, v *recovery.View) (found []finding.Finding) {
	if text := transcripts(v); text != "" {
		found = append(found, finding.Finding{Severity: finding.Lost, What: text})
	}
	if text := events(v); text != "" {
		found = append(found, finding.Finding{Severity: finding.Lost, What: text})
	}
	for _, text := range checkpoints(ctx, v) {
		found = append(found, finding.Finding{Severity: finding.Lost, What: text})
	}
	return found
}

// checkpoints are sentences about those that a repair has given up, and that the state does
// not name: these are counted elsewhere.
func checkpoints(ctx context.Context, v *recovery.View) (all []string) {
	store, err := v.Store()
	if err != nil || v.Live {
		return nil // whoever needs checkpoints says so
	}
	defer store.Close()
	verifier, named := store.Verifier(ctx), map[state.SHA]bool{}
	for _, k := range githistory.KnownCheckpoints(v.State) {
		named[k.SHA] = true
	}
	add := func(sha state.SHA, format string, args ...any) {
		if whole, err := verifier.IsComplete(checkpoint.SHA(sha)); err == nil && !whole && !named[sha] {
			named[sha] = true
			all = append(all, fmt.Sprintf(format, args...))
		}
	}
	ends, _ := repair.Ends(store.DB) // what cannot be read of it the check of the store says
	for _, end := range ends {
		add(state.SHA(end.Before), "checkpoint %.12s cannot be read whole; it came right before checkpoint %.12s, with which the history begins there now", end.Before, end.First)
	}
	for _, name := range v.Layout.Quarantined() {
		path := filepath.Join(v.Layout.Quarantine(), name)
		why, _ := os.ReadFile(path + ".why") // without it there is nothing to be said
		if !strings.Contains(string(why), githistory.ErrLostTip.Error()) {
			continue
		}
		text, _ := os.ReadFile(path)
		sha, ref, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
		if branch := strings.TrimPrefix(ref, githistory.Heads); branch != githistory.ProgramBranch && v.State.RemovedAt(branch) == nil {
			add(state.SHA(sha), "checkpoint %.12s, the newest of branch %s, cannot be read whole", sha, branch)
		}
	}
	return all
}

// fault is what a transcript lacks.
type fault string

// The faults. Each ends a sentence about a transcript.
const (
	none  fault = ""
	gone  fault = "is not there"
	empty fault = "is empty"
	cut   fault = "has lost its end"
	holed fault = "has lost a part before its end"
)

// faultOf looks at the transcript of a record that has the path of one. known: hank had written
// what is not there.
//
//   - The file is made, and gets its first entry, before its path is recorded.
//   - The last entry of each turn is the exit of its process. It is synced before the codon
//     is recorded as completed or failed, and has its place in the file.
func faultOf(l layout.Layout, c *state.Codon) (f fault, known bool) {
	path := l.Resolve(c.ClaudeLogPath)
	of := c.Harness != "" // else it is Hankweave's
	switch fi, err := os.Stat(path); {
	case IsGone(fi, err):
		_, err := os.Stat(filepath.Dir(path))
		return gone, of && err == nil // an import has no directory either, and gc deletes it whole
	case err != nil:
		return none, false
	case fi.Size() == 0:
		return empty, of
	case of && hadEnded(c):
		f = faultAtEnd(path, fi.Size())
	}
	return f, f != none
}

// IsGone reports whether no file is where one was looked for.
func IsGone(fi fs.FileInfo, err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || err == nil && !fi.Mode().IsRegular()
}

// Text is a sentence about the transcript of a record, for those who read it; empty where
// nothing is known to be wrong with it, or no start of an agent is recorded.
func Text(l layout.Layout, c *state.Codon) string {
	if c.ClaudeLogPath == "" {
		return ""
	}
	f, known := faultOf(l, c)
	text := "the transcript " + string(f)
	switch f {
	case none:
		return ""
	case gone:
		text = "no such transcript: " + term.ShortPath(l.Resolve(c.ClaudeLogPath))
	case cut, holed:
		return text
	}
	if known {
		text += "; what hank had written to it is lost"
	}
	return text
}

// hadEnded reports whether the last process of an attempt had ended when the record was made.
func hadEnded(c *state.Codon) bool {
	switch {
	case c.Status == state.Completed:
		return true
	case c.Status != state.Failed || c.FailedDuring != state.Running || c.Interrupted == state.InterruptedByCrash || c.Interrupted == state.InterruptedByPause:
		return false
	}
	return c.FailureReason != nil && c.FailureReason.Class != "start" // of a turn that did not begin
}

// faultAtEnd is what the last line of a transcript shows, which must be the exit of a process.
func faultAtEnd(path string, size int64) fault {
	f, err := os.Open(path)
	if err != nil {
		return none
	}
	defer f.Close()
	text := make([]byte, min(size, 4<<10)) // an exit is shorter
	if _, err := f.ReadAt(text, size-int64(len(text))); err != nil {
		return none
	}
	whole, ends := bytes.CutSuffix(text, []byte("\n"))
	last := whole[bytes.LastIndexByte(whole, '\n')+1:]
	switch e, err := transcript.Parse(last); {
	case !ends || err != nil || e.Stream != transcript.StreamExit:
		return cut
	case e.Exit.Offset > size-int64(len(last))-1:
		return holed
	}
	return none
}

// transcripts is a sentence about the transcripts that are known to lack something. One that
// is gone counts while its run is needed, and unless gc has deleted it: gc deletes those of
// others, and older versions of it did not record that.
func transcripts(v *recovery.View) string {
	needed := v.State.Needed()
	told := sync.OnceValue(func() runs { return journaled(v) })
	var lost []string
	for _, r := range slices.Backward(v.State.Runs) {
		for i := range r.Len() {
			c := r.Codon(i)
			if c.ClaudeLogPath == "" {
				continue
			}
			f, known := faultOf(v.Layout, c)
			if f == gone && needed[r.RunID] {
				known = (known || c.Harness != "" && told().begun[r.RunID]) && !told().deleted[r.RunID]
			}
			if f == none || !known || f == gone && !needed[r.RunID] {
				continue
			}
			of := "run " + string(r.RunID)
			if c.Attempt > 1 {
				of = fmt.Sprintf("attempt %d in %s", c.Attempt, of)
			}
			lost = append(lost, fmt.Sprintf("%s (%s) %s", c.CodonID, of, f))
		}
	}
	what := "the transcript of codon "
	switch n := len(lost); {
	case n == 0:
		return ""
	case n > 1:
		what = fmt.Sprintf("%d transcripts are not as they were written: codon ", n)
	}
	return what + listed(lost) + "; no command brings back what is missing, and the execution can continue without it"
}

// listed are the first of a list.
func listed(all []string) string {
	const most = 3
	text := strings.Join(all[:min(most, len(all))], ", ")
	if n := len(all) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// Deleted is the type of the events with which hank gc records whose transcripts it deletes.
const Deleted = "transcripts.deleted"

// Deletion are the data of such an event.
type Deletion struct {
	RunID state.RunID `json:"runId"`
}

// runs is what the journal tells of runs and their transcripts.
type runs struct {
	begun   map[state.RunID]bool // here: an import does not bring those events
	deleted map[state.RunID]bool // by hank gc
}

// journaled reads the journal, past what is damaged. Complexity: the journal.
func journaled(v *recovery.View) runs {
	told := runs{map[state.RunID]bool{}, map[state.RunID]bool{}}
	wanted := func(quotedType, data []byte) bool {
		of, known := state.TypeIn(data)
		return known && of == state.RunStarted{}.Type() || string(quotedType) == `"`+Deleted+`"`
	}
	take := func(e journal.Event) error {
		if e.Type == Deleted {
			var of Deletion
			if json.Unmarshal(e.Data, &of) == nil {
				told.deleted[of.RunID] = true
			}
		} else if t, err := state.Decode(e.Data); err == nil {
			if started, is := t.(state.RunStarted); is && started.Run != nil {
				told.begun[started.Run.RunID] = true
			}
		}
		return nil
	}
	for from := uint64(1); ; {
		err := journal.ReadWanted(vfs.OS, v.Layout.Events(), from, wanted, take)
		var gap *journal.GapError
		if !errors.As(err, &gap) || gap.Next <= from {
			return told
		}
		from = gap.Next
	}
}

// events is a sentence about the events that the journal lacks.
func events(v *recovery.View) string {
	if v.Live || v.ForeignJournal || v.State.Lineage == "" {
		return "" // while a run is live, the files may change at any moment
	}
	found, err := layout.InspectJournal(v.Layout)
	none := errors.Is(err, fs.ErrNotExist) || layout.InTheWay(vfs.OS, v.Layout.Events()) != nil
	if err != nil && !none {
		return ""
	}
	through, at := found.Last, "the journal does not have "
	if none || !found.Whole() || v.Report.Behind != "" {
		through, at = max(found.Highest, v.State.Seq), "when the next command has repaired the journal, it does not have "
	}
	missing := found.Missing(through)
	if len(missing) > 0 && missing[0].First == 1 && imported(v, missing[0].Last+1) {
		missing = missing[1:]
	}
	if len(missing) == 0 {
		return ""
	}
	var list []string
	them := "them"
	for _, r := range missing {
		text := fmt.Sprintf("events %d to %d", r.First, r.Last)
		if r.First == r.Last {
			text = fmt.Sprintf("event %d", r.First)
		}
		list = append(list, text)
	}
	if len(missing) == 1 && missing[0].First == missing[0].Last {
		them = "it"
	}
	return at + listed(list) + strings.ReplaceAll(": `hank events` does not show THEM, and a rollback, retry or restore among THEM is not told any more; the execution can continue without THEM", "THEM", them)
}

// imported reports whether the journal begins with what an import has made of checkpoints. An
// older hank gave the same reason as after a loss: there the runs before it are older than the
// execution, and their directories never were here.
func imported(v *recovery.View, base uint64) bool {
	read := errors.New("read")
	is := false
	_ = journal.Read(vfs.OS, v.Layout.Events(), base, func(e journal.Event) error {
		t, err := state.Decode(e.Data)
		of, rebased := t.(state.Rebased)
		is = err == nil && rebased && (of.Reason == load.Imported || of.Reason == load.FromCheckpoints && !slices.ContainsFunc(v.State.Runs, func(r *state.Run) bool {
			_, err := os.Stat(v.Layout.RunDir(r.RunID))
			return r.StartTime.Before(e.Timestamp) && (err == nil || !r.StartTime.Before(v.Meta.CreatedAt.Time))
		}))
		return read
	})
	return is
}
