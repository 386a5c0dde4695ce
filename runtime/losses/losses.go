// Package losses finds what is no longer there of what an execution has written beside its
// state and its checkpoints: transcripts of agents, and events of the journal.
//
// It only reads, and reports as lost only what the records prove was written. No command
// brings any of it back, and an execution can continue without it.
package losses

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"hank/internal/term"
	"hank/internal/vfs"
	"hank/recovery"
	"hank/recovery/finding"
	"hank/recovery/layout"
	"hank/recovery/load"
	"hank/runtime/harness/transcript"
	"hank/state"
	"hank/state/journal"
)

// Find looks at all transcripts and at the journal.
func Find(v *recovery.View) (found []finding.Finding) {
	if text := transcripts(v); text != "" {
		found = append(found, finding.Finding{Severity: finding.Lost, What: text})
	}
	if text := events(v); text != "" {
		found = append(found, finding.Finding{Severity: finding.Lost, What: text})
	}
	return found
}

// fault is what a transcript lacks.
type fault string

// The faults. Each ends a sentence about a transcript.
const (
	none  fault = ""
	gone  fault = "is not there"
	empty fault = "is empty"
	cut   fault = "has lost its end"
)

// faultOf looks at the transcript of a record that has the path of one. known: hank had written
// what is not there.
//
//   - The file is made, and gets its first entry, before its path is recorded.
//   - The last entry of each turn is the exit of its process. It is synced before the codon
//     is recorded as completed or failed.
func faultOf(l layout.Layout, c *state.Codon) (f fault, known bool) {
	path := l.Resolve(c.ClaudeLogPath)
	of := c.Harness != "" // else it is Hankweave's
	switch fi, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist) || err == nil && !fi.Mode().IsRegular():
		_, err := os.Stat(filepath.Dir(path))
		return gone, of && err == nil // an import has no directory either, and gc deletes it whole
	case err != nil:
		return none, false
	case fi.Size() == 0:
		return empty, of
	case of && hadEnded(c) && !endsWithExit(path, fi.Size()):
		return cut, true
	}
	return none, false
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
	case cut:
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

// endsWithExit reports whether the last line of a transcript is the exit of a process, or
// cannot be read.
func endsWithExit(path string, size int64) bool {
	f, err := os.Open(path)
	if err != nil {
		return true
	}
	defer f.Close()
	text := make([]byte, min(size, 4<<10)) // an exit is shorter
	if _, err := f.ReadAt(text, size-int64(len(text))); err != nil {
		return true
	}
	whole, ends := bytes.CutSuffix(text, []byte("\n"))
	e, err := transcript.Parse(whole[bytes.LastIndexByte(whole, '\n')+1:])
	return ends && err == nil && e.Stream == transcript.StreamExit
}

// transcripts is a sentence about the transcripts that are known to lack something. One that
// is gone counts while its run is needed: gc deletes others.
func transcripts(v *recovery.View) string {
	needed := v.State.Needed()
	began := sync.OnceValue(func() map[state.RunID]bool { return begunHere(v) })
	var lost []string
	for _, r := range slices.Backward(v.State.Runs) {
		for i := range r.Len() {
			c := r.Codon(i)
			if c.ClaudeLogPath == "" {
				continue
			}
			f, known := faultOf(v.Layout, c)
			if f == gone && needed[r.RunID] && !known && c.Harness != "" {
				known = began()[r.RunID]
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

// begunHere are the runs of whose beginning the journal tells: an import does not bring those
// events. Complexity: the journal.
func begunHere(v *recovery.View) map[state.RunID]bool {
	begun := map[state.RunID]bool{}
	_ = journal.ReadWanted(vfs.OS, v.Layout.Events(), 1, func(_, data []byte) bool {
		of, known := state.TypeIn(data)
		return known && of == state.RunStarted{}.Type()
	}, func(e journal.Event) error {
		if t, err := state.Decode(e.Data); err == nil {
			if started, is := t.(state.RunStarted); is && started.Run != nil {
				begun[started.Run.RunID] = true
			}
		}
		return nil
	})
	return begun
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

// imported reports whether the journal begins with what an import has made of checkpoints: it
// gives the same reason as one after a loss, but the directories of the runs before it never
// were here.
func imported(v *recovery.View, base uint64) bool {
	read := errors.New("read")
	is := false
	_ = journal.Read(vfs.OS, v.Layout.Events(), base, func(e journal.Event) error {
		t, err := state.Decode(e.Data)
		of, rebased := t.(state.Rebased)
		is = err == nil && rebased && of.Reason == load.FromCheckpoints && !slices.ContainsFunc(v.State.Runs, func(r *state.Run) bool {
			_, err := os.Stat(v.Layout.RunDir(r.RunID))
			return r.StartTime.Before(e.Timestamp) && err == nil
		})
		return read
	})
	return is
}
