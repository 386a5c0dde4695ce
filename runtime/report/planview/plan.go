package planview

import (
	"slices"
	"time"

	"hank/plan"
	"hank/plan/config"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/recovery/githistory"
	"hank/runtime/gate"
	"hank/runtime/history"
	"hank/runtime/verdict"
	"hank/state"
)

// Plan is a list of codons in the order in which they run.
type Plan struct {
	Schema    int       `json:"schema"`
	Execution string    `json:"execution,omitempty"`
	Hank      string    `json:"hank,omitempty"`
	Codons    []Planned `json:"codons"`

	Loops    []Loop            `json:"loops"`             // those that are in the plan
	Sessions [][]state.CodonID `json:"sessions"`          // codons that share one, each list in the order of the plan
	Budget   *plan.Budget      `json:"budget,omitempty"`  // of the whole hank
	Ceiling  *config.Ceiling   `json:"ceiling,omitempty"` // what the settings allow the whole hank
	Limits   *state.Limits     `json:"limits,omitempty"`  // of the execution (--max-cost, --max-time)
	Total    Total             `json:"total"`

	NextGate string `json:"-"` // that asks before the next codon begins, or at the end of the plan; empty: none does

	Unread string `json:"-"` // why prompts, loops and budgets are not told; empty: they are

	laidOut int

	undecided state.CodonID // the loop of which the next run decides first whether it continues
}

// Total is how many codons a plan comes to in the end.
type Total struct {
	Codons int  `json:"codons"`
	AtMost bool `json:"atMost"` // a loop may end earlier
	Open   bool `json:"open"`   // a loop has no limit: more codons may come

	extent plan.Extent
}

// Planned is an entry of a plan.
type Planned struct {
	Index      int               `json:"index"` // from 1
	CodonID    state.CodonID     `json:"codonId"`
	Name       string            `json:"name"`
	Model      string            `json:"model"`
	Session    plan.Continuation `json:"continuationMode"`
	LoopID     state.CodonID     `json:"loopId,omitempty"`
	Iteration  *int              `json:"iteration,omitempty"` // from 0
	Status     state.CodonStatus `json:"status,omitempty"`    // empty: to come
	Verdict    verdict.Verdict   `json:"verdict,omitempty"`   // the status in a word for people
	Checkpoint state.SHA         `json:"checkpointSha,omitempty"`
	Next       bool              `json:"next,omitzero"`

	Prompt  *Prompt           `json:"prompt,omitempty"` // absent where the program cannot be read
	Tracks  Tracked           `json:"tracks"`
	Budget  *plan.CodonBudget `json:"budget,omitempty"`
	Gate    *plan.Gate        `json:"gate,omitempty"` // of the codon; that of a loop is in loops
	Timeout float64           `json:"timeoutSeconds,omitempty"`
	// Fallback are the models for attempts that the provider of Model does not let work.
	Fallback []string       `json:"fallback,omitempty"`
	Failure  plan.OnFailure `json:"onFailure"`

	But string `json:"-"` // what the verdict leaves unsaid
}

// Prompt is how much a codon is told, in bytes: with comments and front matter taken off,
// and without what placeholders stand for.
type Prompt struct {
	Bytes     int `json:"bytes"`     // of the prompt or script
	System    int `json:"system"`    // of the system prompt that is added; 0: none
	Extension int `json:"extension"` // of exhaustWithPrompt; 0: none
}

// Tracked is what the checkpoint of a codon takes: what the codon and those before it track.
type Tracked struct {
	Everything bool     `json:"everything"`         // all that is not ignored; patterns that begin with ! take out
	Patterns   []string `json:"patterns"`           // of the codons up to this one
	Own        []string `json:"own,omitempty"`      // those that no codon before it has
	Never      bool     `json:"nothing,omitzero"`   // the checkpoint is empty
	Archive    []string `json:"archives,omitempty"` // files that go from the workspace after it has succeeded
}

// Loop is a loop of the plan.
type Loop struct {
	LoopID      state.CodonID    `json:"loopId"`
	Name        string           `json:"name"`
	Codons      []state.CodonID  `json:"codons"` // as in hank.json
	TerminateOn plan.TerminateOn `json:"terminateOn"`
	Ends        string           `json:"ends"` // the same in words
	Budget      *plan.Budget     `json:"budget,omitempty"`
	Gate        *plan.Gate       `json:"gate,omitempty"`
	Archive     []string         `json:"archives,omitempty"`
}

// Initial is the plan with which an execution of a hank would start.
func Initial(path string, program *plan.Program) *Plan {
	entries := program.Initial()
	p := &Plan{Schema: 1, Hank: path, Codons: []Planned{}, laidOut: len(entries)}
	p.total(program.Extent(len(entries), func(i int) *plan.LoopContext { return entries[i].LoopContext }, 0))
	x := expander{plan: p, program: program, prompts: map[plan.CodonID]*Prompt{}, loops: map[plan.CodonID]bool{}}
	for i, e := range entries {
		p.Codons = append(p.Codons, x.entry(i, e))
	}
	x.whole()
	if c := program.Settings.Budget; c != nil && (c.MaxDollars > 0 || c.MaxTimeSeconds > 0) {
		p.Ceiling = c
	}
	return p
}

// Of is the plan of an execution, with what has run; nil if it has none yet.
func Of(v *recovery.View) *Plan { return of(v, true) }

// WithoutCodons is Of that makes no list of the codons and sessions, and measures no prompt.
func WithoutCodons(v *recovery.View) *Plan { return of(v, false) }

func of(v *recovery.View, codons bool) *Plan {
	ahead, undecided := history.Ahead(v)
	entries := ahead.ExecutionPlan()
	if len(entries) == 0 {
		return nil
	}
	p := &Plan{Schema: 1, Execution: v.Layout.Root, Hank: v.Meta.HankPath, Codons: []Planned{}, laidOut: len(entries)}
	p.total(v.Extent())
	next := ahead.Next()
	p.undecided = undecided
	unknown := undecided != "" // which codon is next
	if !unknown {
		p.NextGate, unknown = gate.Ask(ahead, time.Now())
		unknown = unknown && !v.Live
	} else if own := gate.OfEnded(ahead); own != nil {
		p.NextGate = own.Name
	}
	newest := map[state.CodonID]state.LineageEntry{}
	for _, step := range v.State.LineagePath() {
		newest[step.Codon.CodonID] = step
	}
	x := expander{plan: p, adopted: v.State.Adopted, prompts: map[plan.CodonID]*Prompt{}, loops: map[plan.CodonID]bool{}}
	x.program, p.Unread = frozen(v)
	for i, e := range entries {
		if !codons {
			x.loop(e.Entry)
			continue
		}
		entry := x.entry(i, e.Entry)
		entry.Next = i == next && !unknown
		if at := newest[e.CodonID]; at.Codon != nil && (i < next || i == next && !at.Codon.Settled()) {
			entry.Status, entry.Checkpoint = at.Codon.Status, at.Codon.Checkpoint()
			entry.Verdict, entry.But = verdict.OfCodon(at.Codon, verdict.OfRun(v, at.Run)), verdict.Qualification(at.Codon)
		}
		p.Codons = append(p.Codons, entry)
	}
	x.whole()
	if v.State.Limits.Any() {
		limits := v.State.Limits
		p.Limits = &limits
	}
	return p
}

// frozen is the program of an execution, or why it cannot be read.
func frozen(v *recovery.View) (*plan.Program, string) {
	if v.State.Program == "" {
		return nil, "this execution has no copy of its hank"
	}
	store, err := v.Store()
	if err != nil {
		return nil, err.Error()
	}
	defer store.Close()
	program, err := githistory.LoadProgram(store, v.State.Program)
	if err != nil {
		return nil, err.Error()
	}
	return program, ""
}

// expander makes the entries of a plan, one after the other.
type expander struct {
	plan    *Plan
	program *plan.Program // nil where it cannot be read
	adopted bool

	tracked execution.Tracking
	prompts map[plan.CodonID]*Prompt // by the codon's id in hank.json
	sizes   func(plan.Entry) (system, user, more int, err error)
	session []state.CodonID       // of the codon before
	loops   map[plan.CodonID]bool // that are in the plan
}

func (x *expander) entry(i int, e plan.Entry) Planned {
	c := e.Codon
	p := Planned{Index: i + 1, CodonID: e.CodonID, Name: c.Name, Model: c.Model.String(), Session: c.ContinuationMode,
		Budget: c.Budget, Gate: c.Gate, Timeout: c.Timeout, Failure: c.Failure(), Prompt: x.prompt(e), Tracks: x.tracks(e)}
	for _, f := range c.Fallback {
		p.Fallback = append(p.Fallback, f.Model.String())
	}
	if l := e.LoopContext; l != nil {
		p.LoopID, p.Iteration = l.LoopID, &l.Iteration
	}
	x.loop(e)
	x.share(e)
	return p
}

// prompt measures what a codon is told. The iterations of a loop are told the same, but for
// what placeholders stand for.
func (x *expander) prompt(e plan.Entry) *Prompt {
	if x.program == nil {
		return nil
	}
	if p, known := x.prompts[e.Codon.ID]; known {
		return p
	}
	var p *Prompt
	if x.sizes == nil {
		x.sizes = x.program.Sizes()
	}
	if system, user, more, err := x.sizes(e); err == nil {
		p = &Prompt{Bytes: user, System: system, Extension: more}
	}
	x.prompts[e.Codon.ID] = p
	return p
}

// tracks adds up what the checkpoints of the codons take.
func (x *expander) tracks(e plan.Entry) Tracked {
	had := len(x.tracked.Patterns)
	x.tracked.Track(e, x.adopted)
	all := slices.Clip(x.tracked.Patterns) // shared by the codons: a list for each would take the square of their number
	if all == nil {
		all = []string{}
	}
	return Tracked{Everything: x.tracked.All, Patterns: all, Own: all[had:], Never: !x.tracked.All && len(all) == 0, Archive: e.Codon.ArchiveOnSuccess}
}

// share notes which codons work in the session of the one before.
func (x *expander) share(e plan.Entry) {
	if !e.Codon.ContinuesSession() || len(x.session) == 0 {
		x.closeSession()
	}
	x.session = append(x.session, e.CodonID)
}

func (x *expander) closeSession() {
	if len(x.session) > 1 {
		x.plan.Sessions = append(x.plan.Sessions, x.session)
	}
	x.session = nil
}

// loop notes the loop around an entry, if there is one, the first time.
func (x *expander) loop(e plan.Entry) {
	if e.LoopContext == nil || x.program == nil || x.loops[e.LoopContext.LoopID] {
		return
	}
	id := e.LoopContext.LoopID
	around := x.program.Loop(id)
	if around == nil { // the plan was made from another hank
		return
	}
	l := Loop{LoopID: id, Name: around.Name, TerminateOn: around.TerminateOn, Ends: around.TerminateOn.String(), Budget: around.Budget, Gate: around.Gate, Archive: around.ArchiveOnSuccess}
	for i := range around.Codons {
		l.Codons = append(l.Codons, around.Codons[i].ID)
	}
	x.plan.Loops, x.loops[id] = append(x.plan.Loops, l), true
}

// whole adds what holds for the hank as a whole.
func (x *expander) whole() {
	x.closeSession()
	p := x.plan
	if p.Loops == nil {
		p.Loops = []Loop{}
	}
	if p.Sessions == nil {
		p.Sessions = [][]state.CodonID{}
	}
	if x.program != nil && x.program.Hank.Overrides != nil {
		p.Budget = x.program.Hank.Overrides.Budget
	}
}

func (p *Plan) total(e plan.Extent) {
	p.Total = Total{Codons: e.Codons, AtMost: e.AtMost, Open: e.Open, extent: e}
}

// Begun reports whether a codon of the plan has run, or is next in an execution.
func (p *Plan) Begun() bool { return p.Execution != "" }

// More says what the list has not: the iterations that loops add when they begin, and that it
// is undecided whether one comes next; empty if there are none.
func (p *Plan) More() string {
	text := "loops are laid out one iteration at a time: " + p.Total.extent.Text() + " codons in all"
	decided := "whether loop " + string(p.undecided) + " continues is decided first"
	switch whole := p.laidOut == p.Total.Codons && !p.Total.Open; {
	case p.undecided != "" && whole:
		return decided
	case p.undecided != "":
		return text + "; " + decided
	case whole:
		return ""
	}
	return text
}
