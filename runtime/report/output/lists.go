package output

import (
	"fmt"
	"path/filepath"
	"strings"

	"hank/plan/diagnostic"
	"hank/runtime/exitcode"
	"hank/runtime/gc"
	"hank/runtime/hankfile"
	"hank/runtime/land"
	"hank/runtime/report"
	"hank/runtime/report/cost"
	"hank/runtime/report/eventlog"
	"hank/runtime/report/models"
	"hank/runtime/report/statecheck"
	"hank/runtime/reset"
	"hank/runtime/transfer"
	"hank/runtime/validation"
	"hank/state"
)

// Costs are what hank cost prints.
type Costs struct {
	Schema    int          `json:"schema"`
	Execution string       `json:"execution"`
	RunID     *state.RunID `json:"runId"` // the only run whose attempts are counted; null: all are
	By        string       `json:"by"`
	TimeZone  *string      `json:"timeZone"` // in which days begin and end; null: the sums are not by day
	Sums      []Sum        `json:"sums"`
	Total     Sum          `json:"total"` // of all sums, listed or not
	NoIndex   string       `json:"noIndex,omitempty"`

	Unpriced cost.Unpriced `json:"unpriced"` // of models without a known price: what these tokens cost is in no sum
	// Unreported is what was interrupted before it was told: what it cost is in no sum.
	Unreported cost.Unreported `json:"unreported"`
}

// Sum is the cost of all attempts that have a key in common.
type Sum struct {
	cost.Sum
	Group *string `json:"group"` // the key; null: none, as of codons that are in no loop
}

// CostsOf are costs as they are printed.
func CostsOf(s *cost.Sums) *Costs {
	out := &Costs{Schema: s.Schema, Execution: s.Execution, RunID: null(s.Run), By: s.By, Unpriced: s.Unpriced, Unreported: s.Unreported, TimeZone: null(s.Zone), NoIndex: s.NoIndex, Sums: make([]Sum, len(s.Sums)), Total: Sum{Sum: s.Total}}
	for i, sum := range s.Sums {
		out.Sums[i] = Sum{sum, null(sum.Key)}
	}
	return out
}

// Event is a line that hank events prints.
type Event struct {
	eventlog.Event
	OccurredAt state.Time `json:"occurredAt"`
}

// EventOf is an event as it is printed.
func EventOf(e eventlog.Event) Event { return Event{e, e.Timestamp} }

// Landing is what hank land prints.
type Landing struct {
	*land.Landing
	LandedAt *state.Time   `json:"landedAt"` // null: nothing was written
	BaseSHA  *string       `json:"baseSha"`
	TipSHA   *string       `json:"tipSha"`
	From     Target        `json:"from"`
	To       Target        `json:"to"`
	Commits  []Commit      `json:"commits"`
	Codons   []LandedCodon `json:"codons"`
	Error    *Problem      `json:"error"`
}

// Commit is a commit on the branch.
type Commit struct {
	land.Commit
	CommitSHA     *string   `json:"commitSha"` // null: it is not made yet
	CheckpointSHA state.SHA `json:"checkpointSha"`
}

// LandedCodon is a record on the lineage path that the landing is of.
type LandedCodon struct {
	land.Codon
	CodonStatus state.CodonStatus `json:"codonStatus"`
	CommitSHA   *string           `json:"commitSha"` // null: it changed nothing that is on the branch
}

// LandingOf is a landing as it is printed.
func LandingOf(l *land.Landing) *Landing {
	out := &Landing{Landing: l, BaseSHA: null(l.Base), TipSHA: null(l.Tip), From: targetOf(l.From), To: targetOf(l.To),
		Commits: make([]Commit, len(l.Commits)), Codons: make([]LandedCodon, len(l.Codons)), Error: failedCheck(l)}
	if !l.DryRun {
		out.LandedAt = at(&l.Time)
	}
	for i, k := range l.Commits {
		out.Commits[i] = Commit{k, null(k.SHA), k.Checkpoint}
	}
	for i, k := range l.Codons {
		out.Codons[i] = LandedCodon{k, k.Status, null(k.Commit)}
	}
	return out
}

// failedCheck is the first check of a landing that is not right; nil: all are.
func failedCheck(l *land.Landing) *Problem {
	for _, check := range l.Checks {
		if !check.Right {
			return atExit(exitcode.Decision, "check", fmt.Sprintf("a check of the branch %s failed: %s: %s", l.Branch, check.What, check.Why))
		}
	}
	return nil
}

// Expired are what hank gc prints of whole executions.
type Expired struct {
	Schema  int           `json:"schema"`
	Applied bool          `json:"applied"`
	Bytes   int64         `json:"bytes"` // that went, or would go
	Items   []ExpiredItem `json:"items"` // with applied: what went, and what was kept
	Error   *Problem      `json:"error"`
}

// ExpiredItem is an execution that could be deleted, or was.
type ExpiredItem struct {
	gc.Expired
	LastUsedAt state.Time `json:"lastUsedAt"`
}

// ExpiredOf are expired executions as they are printed; ended is why not all went.
func ExpiredOf(e *report.Expired, ended *Problem) *Expired {
	out := &Expired{e.Schema, e.Applied, e.Bytes, make([]ExpiredItem, len(e.Items)), ended}
	for i, x := range e.Items {
		out.Items[i] = ExpiredItem{x, x.LastUsed}
	}
	return out
}

// Garbage is what hank gc prints of an execution.
type Garbage struct {
	*report.Garbage
	Error *Problem `json:"error"`
}

// Transfer is what hank checkpoints export and import print.
type Transfer struct {
	*transfer.Transfer
	Error *Problem `json:"error"`
}

// TransferOf is a transfer as it is printed.
func TransferOf(t *transfer.Transfer) Transfer {
	if len(t.Refused) == 0 {
		return Transfer{t, nil}
	}
	return Transfer{t, atExit(exitcode.Decision, "diverged", Diverged(t))}
}

// Diverged says which branches of a transfer the other side has something else for.
func Diverged(t *transfer.Transfer) string {
	return fmt.Sprintf("%s rejected: diverged on the other side: %s; another --prefix keeps both", Branches(len(t.Refused)), strings.Join(t.Refused, ", "))
}

// Branches is a number of branches in words.
func Branches(n int) string {
	if n == 1 {
		return "1 branch"
	}
	return fmt.Sprintf("%d branches", n)
}

// Reset is what hank reset prints.
type Reset struct{ *reset.Move }

// Validation is what hank validate prints.
type Validation struct {
	*validation.Validation
	HankPath   *string  `json:"hankPath"`
	HankGiven  *string  `json:"hankGiven"`
	CodonCount int      `json:"codonCount"`
	Error      *Problem `json:"error"`
}

// ValidationOf is a validation as it is printed, of what was given.
func ValidationOf(v *validation.Validation, given string) *Validation {
	out := &Validation{Validation: v, HankGiven: null(given), CodonCount: v.Codons}
	if v.Hank != nil {
		if file, err := hankfile.File(*v.Hank); err == nil {
			if abs, err := filepath.Abs(file); err == nil {
				out.HankPath = &abs
			}
		}
	}
	if !v.Valid {
		out.Error = atExit(exitcode.Invalid, "", v.Sentence())
	}
	return out
}

// StateCheck is what hank validate --state prints.
type StateCheck struct {
	*statecheck.Check
	Error *Problem `json:"error"`
}

// StateCheckOf is a check of a state as it is printed.
func StateCheckOf(c *statecheck.Check) *StateCheck {
	out := &StateCheck{Check: c}
	if !c.Valid {
		out.Error = atExit(exitcode.Invalid, "", "the execution is not valid: see diagnostics")
	}
	return out
}

// Formatted is what hank fmt prints.
type Formatted struct {
	Schema int             `json:"schema"`
	Check  bool            `json:"check"` // nothing was written
	Files  []FormattedFile `json:"files"`
	Error  *Problem        `json:"error"`
}

// FormattedFile is a file that hank fmt has laid out, or would.
type FormattedFile struct {
	File        string                  `json:"file"`
	Changed     bool                    `json:"changed"`        // or would be
	Line        int                     `json:"line,omitempty"` // the first that is laid out otherwise
	Diagnostics []diagnostic.Diagnostic `json:"diagnostics,omitempty"`
}

// End says with which code the command ends: 1 where a file is to be laid out, 3
// where one cannot be.
func (f *Formatted) End(code exitcode.Code) {
	message := "a file would be laid out otherwise: see files"
	if code == exitcode.Invalid {
		message = "a file is not valid JSON, or cannot be read or laid out: see the diagnostics of files"
	}
	f.Error = atExit(code, "", message)
}

// SchemaFiles is what hank schema --write prints.
type SchemaFiles struct {
	Schema int      `json:"schema"`
	Files  []string `json:"files"`
}

// Rules are what hank validate --rules prints.
type Rules struct {
	Schema int               `json:"schema"`
	Rules  []diagnostic.Rule `json:"rules"`
}

// ModelNames are what hank models prints of names.
type ModelNames struct {
	models.ModelNames
	Error *Problem `json:"error"` // why a name stands for nothing
}

// ModelNamesOf are names as they are printed.
func ModelNamesOf(n models.ModelNames) ModelNames {
	out := ModelNames{ModelNames: n}
	for _, name := range n.Names {
		if name.Error != "" {
			out.Error = atExit(exitcode.Invalid, "model", name.Error)
			break
		}
	}
	return out
}

// Begun is what hank init prints.
type Begun struct {
	Schema    int     `json:"schema"`
	Hank      string  `json:"hank"` // as the directory was given
	HankPath  string  `json:"hankPath"`
	HankGiven *string `json:"hankGiven"` // the directory

	Template string   `json:"template"`
	Files    []string `json:"files"` // that were written
}

// BegunOf is a new hank, which was written to a directory as given, from a template.
func BegunOf(hank, path, given, template string, files []string) Begun {
	return Begun{1, hank, path, null(given), template, files}
}

// Version is what hank version prints.
type Version struct {
	Schema      int    `json:"schema"`
	Version     string `json:"version"`
	Commit      string `json:"commit,omitempty"`
	Modified    bool   `json:"modified"` // the source differed from the commit
	StateSchema int    `json:"stateSchema"`
	Models      string `json:"models"` // day of the list of models that is built in
	Go          string `json:"go"`
	OS          string `json:"os"`
	Arch        string `json:"arch"`
}
