package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"hank/internal/term"
	"hank/recovery"
	"hank/runtime/verdict"
	"hank/state"
)

// Tree is how the runs of an execution follow from each other.
type Tree struct {
	Schema    int        `json:"schema"`
	Execution string     `json:"execution"`
	Runs      []TreeRun  `json:"runs"`            // a run before those that begin in it; the older ones first
	Moved     *TreePlace `json:"moved,omitempty"` // where a move has brought the execution, and no run has begun yet
}

// TreeRun is a run, and where it begins.
type TreeRun struct {
	RunID    state.RunID     `json:"runId"`
	From     *TreePlace      `json:"from,omitempty"` // absent: at the beginning of the plan
	How      string          `json:"how"`            // fresh, continue, retry, rollback, branch
	Verdict  verdict.Verdict `json:"verdict"`
	Started  state.Time      `json:"startTime"`
	First    state.CodonID   `json:"firstCodon,omitempty"`
	Last     state.CodonID   `json:"lastCodon,omitempty"`
	Attempts int             `json:"attempts"`
	Bill     state.Bill      `json:"bill"`
	Current  bool            `json:"current"` // it is on the lineage path to where the execution is
	Depth    int             `json:"depth"`   // how many forks lead to it
}

// TreePlace is a place in a run.
type TreePlace struct {
	RunID      state.RunID   `json:"runId"`
	AfterCodon state.CodonID `json:"afterCodon,omitempty"` // empty: at its beginning
	Checkpoint state.SHA     `json:"checkpointSha"`
}

// TreeOf draws up the tree of an execution.
func TreeOf(v *recovery.View) *Tree {
	s := v.State
	t := &Tree{Schema: 1, Execution: v.Layout.Root, Runs: []TreeRun{}}
	current := map[state.RunID]bool{}
	for _, step := range s.LineagePath() {
		current[step.Run.RunID] = true
	}
	if run := s.RunAtPosition(); run != nil {
		current[run.RunID] = true
	}
	begins := map[state.RunID][]*state.Run{} // by where they begin, older ones first
	for i := len(s.Runs) - 1; i >= 0; i-- {
		r := s.Runs[i]
		var from state.RunID
		if src := r.StartingConditions.Source; src != nil && s.Run(src.RunID) != nil && src.AfterCodon != nil {
			from = src.RunID
		}
		begins[from] = append(begins[from], r)
	}
	seen := map[state.RunID]bool{}
	var add func(from state.RunID, depth int)
	add = func(from state.RunID, depth int) {
		for i, r := range begins[from] {
			if seen[r.RunID] {
				continue
			}
			seen[r.RunID] = true
			at := depth
			if i > 0 || from != "" && !continues(s.Run(from), r) { // the first that continues its run is no fork
				at++
			}
			t.Runs = append(t.Runs, treeRun(v, r, current[r.RunID], at))
			add(r.RunID, at)
		}
	}
	add("", 0)
	if s.Position != nil && s.RunAtPosition() == nil {
		t.Moved = placeOf(s.Position)
	}
	return t
}

// continues reports whether a run begins where another one has ended.
func continues(before, r *state.Run) bool {
	src := r.StartingConditions.Source
	for i := before.Len() - 1; i >= 0; i-- {
		if c := before.Codon(i); c.Settled() {
			return c.CodonID == *src.AfterCodon && !src.Branch
		}
	}
	return true
}

func treeRun(v *recovery.View, r *state.Run, current bool, depth int) TreeRun {
	t := TreeRun{RunID: r.RunID, How: "fresh", Verdict: verdict.OfRun(v, r), Started: r.StartTime, Attempts: r.Attempts(), Bill: r.Bill(), Current: current, Depth: depth}
	if src := r.StartingConditions.Source; src != nil {
		t.From = placeOf(src)
		if t.How = r.StartingConditions.Reason; src.Branch {
			t.How = "branch"
		}
	}
	if n := r.Len(); n > 0 {
		t.First, t.Last = r.Codon(0).CodonID, r.Codon(n-1).CodonID
	}
	return t
}

func placeOf(p *state.Position) *TreePlace {
	at := &TreePlace{RunID: p.RunID, Checkpoint: p.CheckpointSHA}
	if p.AfterCodon != nil {
		at.AfterCodon = *p.AfterCodon
	}
	return at
}

// Row is the line of a run in a drawing: indented where it forks, * on the path to where the
// execution is. The last cell is where it begins.
func (r TreeRun) Row() []any {
	mark := "o"
	if r.Current {
		mark = "*"
	}
	codons := cmp.Or(string(r.First), "no codon")
	if r.First != r.Last {
		codons = fmt.Sprintf("%s … %s", r.First, r.Last)
	}
	return []any{strings.Repeat("| ", r.Depth) + mark + " " + string(r.RunID), r.Started.Local().Format(time.DateTime), r.Verdict, codons, r.Bill.Short(), r.origin()}
}

// Ends are the lines below the rows.
func (t *Tree) Ends() (lines []string) {
	if len(t.Runs) == 0 {
		lines = append(lines, "no run yet")
	}
	if m := t.Moved; m != nil {
		lines = append(lines, "the execution was moved to "+m.words()+": the next run begins there")
	}
	return lines
}

// origin is where the run begins, where that is no plain beginning.
func (r TreeRun) origin() string {
	if r.From == nil || r.How == "continue" && r.Depth == 0 {
		return ""
	}
	return term.OneLine(r.How + " from " + r.From.words())
}

func (p *TreePlace) words() string {
	if p.AfterCodon == "" {
		return fmt.Sprintf("checkpoint %s", Short(p.Checkpoint))
	}
	return fmt.Sprintf("%s of run %s, checkpoint %s", p.AfterCodon, p.RunID, Short(p.Checkpoint))
}
