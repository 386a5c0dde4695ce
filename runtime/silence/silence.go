// Package silence gathers what is known of an agent that shows no sign of life, so that the
// user, or the hank, can tell one that works from one that is stuck.
//
//   - A silence begins with the last line that the agent has printed.
//   - Evidence is what its processes have done since: the processor time that they have
//     taken, the newest change in the workspace, and the tool or the question that it waits
//     for.
//   - A Watch looks a few times in each silence, as cheaply as it can.
//
// The package looks, and decides nothing: who is stuck is for the silence limit of the codon,
// and for people. It stops nothing and records nothing.
package silence

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v3/process"

	"hank/internal/proc"
	"hank/internal/term"
)

// Evidence is what is known of a silence.
type Evidence struct {
	Since     time.Time  `json:"since"`                        // of the last line
	Processes int        `json:"processes"`                    // that are alive
	CPU       float64    `json:"cpuSeconds"`                   // that they have taken since the watch began to look
	Observed  float64    `json:"observedSeconds"`              // since then
	Changed   *time.Time `json:"workspaceChangedAt,omitempty"` // the newest change that was seen since the silence began
	Tool      string     `json:"tool,omitempty"`               // that it waits for
	Question  bool       `json:"question,omitzero"`            // the tool asks somebody, and nobody is there
}

// Waits is what an agent waits for.
type Waits struct {
	Tool     string
	Question bool
}

// asking are parts of the names of tools by which agents ask their user.
var asking = []string{"askuserquestion", "ask_user", "askuser", "question", "request_user_input"}

// WaitsFor is what an agent waits for that has called a tool and has no answer; empty: none.
func WaitsFor(tool string) Waits {
	w := Waits{Tool: tool}
	for _, part := range asking {
		w.Question = w.Question || strings.Contains(strings.ToLower(tool), part)
	}
	return w
}

// first is how long a silence is before it is looked at, every how long nothing is looked at
// again, and Notable how long a silence is before anybody is shown it.
const (
	first   = time.Second
	every   = 5 * time.Second
	Notable = 30 * time.Second
)

// Watch looks at one process of an agent. It is used by one goroutine.
type Watch struct {
	Workspace string
	PID       int // of the agent's command; all that its keeper has started counts

	since  time.Time // of the silence that is looked at
	looked time.Time
	begun  time.Time // when it was first looked at in this silence
	base   float64   // processor time then
	seen   Evidence
}

// Look returns the evidence of the silence since a moment; nil: it is too early for one. It
// looks at the processes at most every few seconds, unless final is set.
func (w *Watch) Look(since, now time.Time, waits Waits, final bool) *Evidence {
	quiet := now.Sub(since)
	if quiet < first && !final {
		return nil
	}
	if !since.Equal(w.since) {
		w.since, w.looked, w.begun = since, now, now
		_, w.base = used(w.PID)
	}
	if final || now.Sub(w.looked) >= every {
		w.looked = now
		n, cpu := used(w.PID)
		w.seen = Evidence{Since: since.UTC(), Processes: n, CPU: max(0, cpu-w.base), Observed: now.Sub(w.begun).Seconds(), Changed: changed(w.Workspace, since)}
	}
	if quiet < Notable && !final {
		return nil
	}
	e := w.seen
	e.Tool, e.Question = waits.Tool, waits.Question
	return &e
}

// used is how many processes are alive below the keeper of a process, and the processor time
// that they have taken, in seconds.
func used(pid int) (n int, seconds float64) {
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		return 0, 0
	}
	keeper, err := p.Ppid()
	if err != nil {
		return 0, 0
	}
	all, err := proc.Descendants(int(keeper))
	if err != nil {
		return 0, 0
	}
	for _, id := range all {
		if p, err := process.NewProcess(int32(id.PID)); err == nil {
			if t, err := p.Times(); err == nil {
				n, seconds = n+1, seconds+t.User+t.System
			}
		}
	}
	return n, seconds
}

// mostEntries is how much of a workspace is looked at: a change is a hint, and no proof.
const mostEntries = 5000

// changed is the newest change in a workspace after a moment; nil: none was found.
func changed(workspace string, since time.Time) *time.Time {
	var newest time.Time
	n := 0
	_ = filepath.WalkDir(workspace, func(path string, d fs.DirEntry, err error) error {
		if n++; n > mostEntries {
			return fs.SkipAll
		}
		if err != nil {
			return nil
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == ".hankweave") {
			return fs.SkipDir
		}
		if info, err := d.Info(); err == nil && info.ModTime().After(newest) {
			newest = info.ModTime()
		}
		return nil
	})
	if !newest.After(since) {
		return nil
	}
	at := newest.UTC()
	return &at
}

// Text is the evidence in words.
func (e *Evidence) Text(now time.Time) string {
	parts := []string{fmt.Sprintf("nothing printed for %s", term.Duration(now.Sub(e.Since).Round(time.Second)))}
	if e.Processes == 0 {
		parts = append(parts, "its processes cannot be seen")
	} else {
		alive := "1 process is alive"
		if e.Processes > 1 {
			alive = fmt.Sprintf("%d processes are alive", e.Processes)
		}
		if e.Observed >= 1 {
			alive += fmt.Sprintf(" and took %.1fs of processor time in %s", e.CPU, term.Duration(time.Duration(e.Observed*float64(time.Second)).Round(time.Second)))
		}
		parts = append(parts, alive)
	}
	if e.Changed != nil {
		parts = append(parts, "the workspace last changed "+term.Age(*e.Changed, now))
	} else {
		parts = append(parts, "no change seen in the workspace")
	}
	switch {
	case e.Question:
		parts = append(parts, "it has asked a question ("+e.Tool+"), which nobody answers in a run")
	case e.Tool != "":
		parts = append(parts, "it waits for its tool "+e.Tool)
	}
	return strings.Join(parts, "; ")
}
