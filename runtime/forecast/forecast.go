// Package forecast is what a command that runs codons would do, told without doing it
// (--dry-run).
//
// A Forecast is made of what the runtime itself would decide, by the same functions, of the
// plan of the move that would come first, and of the budgets. It reads, and writes
// nothing. What codons are going to do, and how often loops repeat, nobody knows before:
// it tells the plan as far as it is laid out, and how many codons it comes to at most.
package forecast

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"hank/checkpoint/restore"
	"hank/internal/term"
	"hank/plan"
	"hank/recovery/execution"
	"hank/runtime/budget"
	"hank/runtime/exitcode"
	"hank/runtime/fallback"
	"hank/runtime/history"
	"hank/runtime/request"
	"hank/runtime/verdict"
	"hank/state"
)

// Forecast is what a command would do.
type Forecast struct {
	Schema    int           `json:"schema"`
	Execution string        `json:"execution"`
	Creates   bool          `json:"creates,omitzero"` // the execution, which there is not yet
	ExitCode  exitcode.Code `json:"exitCode"`         // 0: it would run; else with which it would end before it runs anything
	Message   string        `json:"message,omitempty"`
	Questions []Question    `json:"questions,omitempty"` // that it would ask first
	Adopts    []string      `json:"adopts,omitempty"`    // changes of the hank that it would take over
	Repairs   []string      `json:"repairs,omitempty"`   // what the opening of the execution would bring in order
	Remarks   []string      `json:"remarks,omitempty"`   // what it would say before it runs anything
	Move      *Move         `json:"move,omitempty"`      // what it would do to the workspace first
	Codons    []Codon       `json:"codons"`
	Expected  *int          `json:"codonsExpected"` // how many codons the plan comes to at most; null: not known
	Extent    string        `json:"codonsPlanned"`  // how many codons the plan comes to, as text: ≤12, or ? where it is not known
	Finished  int           `json:"codonsDone"`
	Limits    state.Limits  `json:"limits,omitzero"` // of the execution, with those of the command
	Spent     state.Bill    `json:"spent"`
	Worked    float64       `json:"workedSeconds"`
	Budget    *Budget       `json:"budget,omitempty"` // what the next codon may use, where that is limited
	Unmoved   bool          `json:"-"`                // it would run nothing, and end before it moves anything

	// Asked is the first of Questions, with which the command would end; nil: it asks none.
	Asked error `json:"-"`

	limits string
	extent string // Extent in words
}

// Question is a decision that the command would ask for.
type Question struct {
	What    string   `json:"what"`
	Options []string `json:"options,omitempty"`
}

// Move is what would happen to the workspace.
type Move struct {
	Kind    string        `json:"kind"` // retry, restart, branch
	To      state.SHA     `json:"to,omitempty"`
	CodonID state.CodonID `json:"codonId,omitempty"` // that is done again
	Stays   bool          `json:"stays,omitzero"`    // the workspace stays as it is
	Add     int           `json:"add"`
	Change  int           `json:"change"`
	Delete  int           `json:"delete"`
}

// What would become of a codon.
const (
	isFinished = "finished" // it is, and is not run
	runs       = "run"
	runsAgain  = "run again"
	resumes    = "resume" // its interrupted attempt is continued
	isLeft     = "not run"
)

// Codon is an entry of the plan, and what would become of it.
type Codon struct {
	CodonID    state.CodonID `json:"codonId"`
	Name       string        `json:"name"`
	Model      string        `json:"model"`                // with which it would begin
	Harness    string        `json:"harness,omitempty"`    // of that model
	FallbackOf string        `json:"fallbackOf,omitempty"` // its own model, where it would begin with a fallback
	Because    string        `json:"because,omitempty"`    // why it would
	Action     string        `json:"action"`               // finished, run, run again, resume, not run
	// More: iterations of its loop may come after it that are not in the list.
	More bool `json:"moreIterations,omitzero"`
}

// Budget is what the next codon may use.
type Budget struct {
	Dollars state.USD `json:"dollars,omitzero"`
	Seconds float64   `json:"seconds,omitzero"`
	Over    string    `json:"over,omitempty"` // it is used up: the run would end before the codon
}

// Of works out what a command would do.
func Of(ctx context.Context, r request.Request, a request.Answers) (*Forecast, error) {
	f, seen, err := of(ctx, r, a)
	if err != nil || seen.State == nil || seen.Program == nil {
		return f, err
	}
	return f, f.ofMove(ctx, seen)
}

// AfterMove works out what a command would do after the move that it begins with, which somebody
// else previews, with the question whether the workspace may be moved.
func AfterMove(ctx context.Context, r request.Request, a request.Answers) (*Forecast, error) {
	a.Restore = !a.KeepTree
	f, _, err := of(ctx, r, a)
	return f, err
}

// Refusal is the code with which the command would end before it moves anything; Done: it would
// not.
func (f *Forecast) Refusal() exitcode.Code {
	if f.Unmoved {
		return f.ExitCode
	}
	return exitcode.Done
}

// Next is the codon that would run first; nil: none would.
func (f *Forecast) Next() *Codon {
	i := slices.IndexFunc(f.Codons, func(c Codon) bool { return c.Action != isFinished && c.Action != isLeft })
	if i < 0 {
		return nil
	}
	return &f.Codons[i]
}

// Begins tells in words what would run first of a command that does a codon again; in a
// changed hank it can be another one.
func (f *Forecast) Begins(redone state.CodonID) string {
	if next := f.Next(); next != nil && next.CodonID != redone {
		return fmt.Sprintf("codon %s runs", next.CodonID)
	}
	return fmt.Sprintf("codon %s runs again", redone)
}

// of is the forecast without the move.
func of(ctx context.Context, r request.Request, a request.Answers) (*Forecast, *foreseen, error) {
	seen, err := foresee(ctx, r, a)
	if err != nil {
		return nil, nil, err
	}
	f := &Forecast{Schema: 1, Execution: seen.Root, Creates: seen.View == nil, ExitCode: seen.exitCode(), Message: seen.Over, Unmoved: seen.Unmoved, Adopts: seen.Adopts, Remarks: seen.Remarks, Codons: []Codon{}}
	if len(seen.Asks) > 0 {
		f.Asked = seen.Asks[0]
	}
	for _, ask := range seen.Asks {
		f.Questions = append(f.Questions, Question{ask.What, ask.Options})
	}
	if v := seen.View; v != nil {
		for _, found := range v.Report.Findings {
			f.Repairs = append(f.Repairs, found.What)
		}
	}
	if seen.State != nil && seen.Program != nil {
		f.ofPlan(seen, r)
		f.ofBudget(seen, r)
	}
	return f, seen, nil
}

// growsAfter reports whether iterations of a loop may come after the i-th entry, with which the list
// of the loop ends.
func (f *foreseen) growsAfter(i int) bool {
	at := f.Entries[i].LoopContext
	if at == nil || i+1 < len(f.Entries) && f.Entries[i+1].LoopContext != nil && f.Entries[i+1].LoopContext.LoopID == at.LoopID {
		return false
	}
	loop := f.Program.Loop(at.LoopID)
	return loop != nil && (loop.TerminateOn.Type == plan.ContextExceeded || at.Iteration+1 < loop.TerminateOn.Limit)
}

func (f *Forecast) ofPlan(seen *foreseen, r request.Request) {
	next, count, ended := seen.State.Next(), 0, false
	f.Finished = next
	for i, e := range seen.Entries {
		c := Codon{CodonID: e.CodonID, Name: e.Codon.Name, Action: runs}
		c.begins(seen, e.Codon, i-next, r)
		if i > 0 && i >= next {
			before := seen.Entries[i-1]
			ended = ended || seen.Bounds.Between(&state.Codon{CodonID: before.CodonID, LoopContext: before.LoopContext}, e) != ""
		}
		switch {
		case i < next:
			c.Action = isFinished
		case seen.Over != "", r.StopAfter > 0 && count >= r.StopAfter, r.Only && (i > next || seen.Awaits && e.CodonID != seen.Bounds.Codon), ended:
			c.Action = isLeft
		case e.CodonID == seen.Redone:
			c.Action = runsAgain
		case e.CodonID == seen.Resumed && r.Mode == request.ModeResume:
			c.Action = resumes
		}
		if c.Action != isFinished && c.Action != isLeft {
			count++
		}
		c.More = c.Action != isLeft && (i >= next || seen.Awaits && i == next-1) && seen.growsAfter(i)
		f.Codons = append(f.Codons, c)
	}
	if seen.Awaits { // its loop may continue
		next--
	}
	settings := *seen.Program
	extent := settings.Extent(len(seen.Entries), func(i int) *plan.LoopContext { return seen.Entries[i].LoopContext }, next)
	if f.Extent, f.extent = extent.String(), extent.Text(); !extent.Open {
		f.Expected = &extent.Codons
	}
}

// begins is with which model a codon would begin: the at-th of those that are to run. The
// remark about it is the one of the run.
func (c *Codon) begins(seen *foreseen, with *plan.Codon, at int, r request.Request) {
	if own := with.Model.String(); at >= 0 && at < len(seen.Rest) {
		var series []*state.Codon
		if at == 0 {
			series = seen.Series
		}
		environ := r.ProcessEnviron()
		whole := seen.Rest[at].Codon // with its variables
		if with = fallback.Choose(whole, series, seen.Found.Usable(whole, environ)); with.Model.String() != own {
			c.FallbackOf = own
			c.Because = cmp.Or(seen.Found.Problem(whole, environ), "its provider did not let the attempt before it work")
		}
	}
	c.Model, c.Harness = with.Model.String(), with.Model.Kind().Name
}

func (f *Forecast) ofBudget(seen *foreseen, r request.Request) {
	s := *seen.State
	if c := r.Limits.MaxDollars; c != nil {
		s.Limits.MaxDollars = *c
	}
	if c := r.Limits.MaxTimeSeconds; c != nil {
		s.Limits.MaxTimeSeconds = *c
	}
	accounts := budget.NewAccounts(&s, seen.replays(r))
	f.Limits, f.Spent, f.Worked = s.Limits, s.Bill(), accounts.Total.Time.Seconds()
	f.limits = verdict.DescribeLimits(s.Limits, f.Spent.Paid(), accounts.Total.Time)
	next := s.Next()
	if next >= len(seen.Entries) || seen.Over != "" && !seen.Ahead {
		return
	}
	p := *seen.Program
	p.Settings = r.Layers.Merge(p.Hank.Overrides.Settings())
	e := seen.Entries[next]
	l := accounts.Limits(&p, e, accounts.UsedBefore(&s, seen.Before, e.CodonID))
	if l.Over == nil && (seen.Ahead || l.Dollars == 0 && l.Time == 0) {
		return
	}
	f.Budget = &Budget{Dollars: l.Dollars, Seconds: l.Time.Seconds()}
	if l.Over != nil {
		f.Budget.Over = l.Describe(l.Over)
		if f.ExitCode == exitcode.Done || f.ExitCode == exitcode.Waiting {
			f.ends(exitcode.Budget, fmt.Sprintf("codon %s: %s", e.CodonID, f.Budget.Over))
		}
	}
}

// ends foresees that the command runs nothing.
func (f *Forecast) ends(code exitcode.Code, why string) {
	f.ExitCode, f.Message = code, why
	for i := f.Finished; i < len(f.Codons); i++ {
		f.Codons[i].Action = isLeft
	}
}

// ofMove plans the move that would come first.
func (f *Forecast) ofMove(ctx context.Context, seen *foreseen) error {
	if seen.Move == "" {
		return nil
	}
	kind := seen.Move
	if kind == "rollback" { // the only one that a run makes is to where a branch begins
		kind = "branch"
	}
	f.Move = &Move{Kind: kind, To: seen.To, CodonID: seen.Redone, Stays: seen.To == ""}
	if seen.To == "" {
		return nil
	}
	v := seen.View
	store, err := v.Store()
	if err != nil {
		return err
	}
	defer store.Close()
	at, done, err := history.ForReader(v.Layout)
	if err != nil {
		return err
	}
	defer done()
	ws, err := at.OpenWorkspace()
	if err != nil {
		return err
	}
	defer ws.Close()
	defer store.Abort() // what the scan has found is not kept
	src := execution.Sources{Layout: at, State: v.State, Store: store, Workspace: ws}
	move, err := execution.PlanMove(ctx, src, execution.Move{Kind: seen.Move, To: seen.To, Tracked: history.TrackedAround(v.State, store, *seen.Position), Position: seen.Position})
	if err != nil {
		return err
	}
	plan, err := move.Preview()
	if err != nil {
		return err
	}
	if len(plan.Blocked) > 0 && f.ExitCode == exitcode.Done {
		f.Move, f.Unmoved = nil, true
		f.ends(exitcode.Decision, (&restore.BlockedError{Blocked: plan.Blocked}).Error())
		return nil
	}
	f.Move.Add, f.Move.Change, f.Move.Delete = len(plan.Add)+len(plan.MakeDirs), len(plan.Change), len(plan.Delete)+len(plan.RemoveDirs)
	return nil
}

// worker is the model of a codon, with its agent where the name does not say it.
func (c Codon) worker() string {
	if first, _, _ := strings.Cut(c.Model, "/"); first == c.Harness || c.Harness == "" {
		return c.Model
	}
	return c.Model + " (" + c.Harness + ")"
}

// Lines are the forecast for people.
func (f *Forecast) Lines() (lines []string) {
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if f.Creates {
		add("would create an execution in %s", f.Execution)
	}
	for _, what := range f.Repairs {
		add("when it opens the execution: %s", what)
	}
	for _, q := range f.Questions {
		add("would ask first: %s", q.What)
		for _, o := range q.Options {
			add("  - %s", o)
		}
	}
	if len(f.Adopts) > 0 {
		add("would use the changed hank: %s", strings.Join(f.Adopts, "; "))
	}
	if m := f.Move; m != nil && m.Stays {
		add("the workspace would stay as it is (%s of codon %s)", m.Kind, m.CodonID)
	} else if m != nil {
		add("would restore the workspace to checkpoint %.12s first (%s): %d to add, %d to change, %d to delete; a checkpoint of what is there comes before", m.To, m.Kind, m.Add, m.Change, m.Delete)
	}
	lines = append(lines, f.Remarks...)
	if f.Message != "" {
		add("would run nothing: %s", f.Message)
	}
	if f.Finished > 0 {
		add("finished: %s", term.Count(f.Finished, "codon"))
	}
	for i, c := range f.Codons {
		if c.Action != isFinished {
			add("%4d  %-10s %s  %s  %s", i+1, c.Action, c.CodonID, c.worker(), c.Name)
			if c.FallbackOf != "" {
				add("      instead of its own model %s: %s", c.FallbackOf, c.Because)
			}
		}
	}
	if f.Extent != "" && f.Extent != fmt.Sprint(len(f.Codons)) {
		add("      loops are laid out one iteration at a time: %s codons in all", f.extent)
	}
	if f.limits != "" {
		add("limit: %s", f.limits)
	}
	if b := f.Budget; b != nil && b.Over == "" {
		var parts []string
		if b.Dollars > 0 {
			parts = append(parts, b.Dollars.Text())
		}
		if b.Seconds > 0 {
			parts = append(parts, budget.Seconds(b.Seconds).String())
		}
		add("the next codon may use: %s", strings.Join(parts, " and "))
	}
	return append(lines, "nothing was changed")
}
