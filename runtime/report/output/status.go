package output

import (
	"cmp"
	"slices"
	"strings"

	"hank/recovery/finding"
	"hank/runtime/agents"
	"hank/runtime/breaker"
	"hank/runtime/exitcode"
	"hank/runtime/gate"
	"hank/runtime/report"
	"hank/runtime/verdict"
	"hank/state"
)

// Status is what hank status prints.
type Status struct {
	*report.Status
	Expected      string         `json:"codonsExpected"` // how many codons the plan comes to, as text: 9, ≤12, or ? where it is not known
	StartedAt     *state.Time    `json:"startedAt"`      // the first run
	LastEventAt   *state.Time    `json:"lastEventAt"`
	LastEventSeq  uint64         `json:"lastEventSeq"` // of the last event that the state knows
	HankPath      *string        `json:"hankPath"`
	RunningCodon  *state.CodonID `json:"runningCodonId"`
	NextCodon     *state.CodonID `json:"nextCodonId"`
	NextGate      *string        `json:"nextGate"`    // that asks, or has asked, before nextCodonId begins; null: none
	ExpiredGate   *gate.Lapsed   `json:"expiredGate"` // that nobody has answered in time: the next run has its codon fail; null: none
	LastCodonID   *state.CodonID `json:"lastCodonId"` // of lastCodon
	AwaitsLoop    *state.CodonID `json:"awaitsVerdictOfLoop"`
	NextCommand   *string        `json:"nextCommand"`
	NextAdvice    *string        `json:"nextAdvice"`
	ResumeCommand *string        `json:"resumeCommand"`
	FinishCommand *string        `json:"finishCommand"`
	Decisions     []Decision     `json:"decisions"` // what waits for a person
	LiveCodon     *Record        `json:"liveCodon,omitempty"`
	LastCodon     *Record        `json:"lastCodon,omitempty"`
	Hold          *Hold          `json:"hold,omitempty"`
	Paused        *Pause         `json:"paused,omitempty"`
}

// Pause is why a run could not continue.
type Pause struct {
	*state.Pause
	PausedAt state.Time `json:"pausedAt"`
}

// Decision is something that a person is to decide.
type Decision struct {
	Kind     string   `json:"kind"` // gate, hold, blocked, limit
	What     string   `json:"what"`
	Commands []string `json:"commands"` // those that answer; [] where what says what to do
}

// StatusOf is a status as it is printed.
func StatusOf(s *report.Status) *Status {
	out := &Status{Status: s, Expected: s.Extent.String(), StartedAt: at(s.Began), LastEventAt: at(s.LastEvent), LastEventSeq: s.Seq, HankPath: null(s.Hank),
		NextCodon: null(s.Next), NextGate: null(s.NextGate), ExpiredGate: s.Expired, AwaitsLoop: null(s.Awaits), NextCommand: programsOwn(s.Command, s.Choices), NextAdvice: null(s.After),
		ResumeCommand: null(s.Resume), FinishCommand: null(s.Finish), Decisions: decisionsOfStatus(s),
		LiveCodon: recordOf(s.LiveCodon), LastCodon: recordOf(s.LastCodon), Hold: holdOf(s.Hold)}
	if s.LiveCodon != nil {
		out.RunningCodon = &s.LiveCodon.CodonID
	}
	if s.LastCodon != nil {
		out.LastCodonID = &s.LastCodon.CodonID
	}
	if s.Paused != nil {
		out.Paused = &Pause{s.Paused, s.Paused.Time}
	}
	return out
}

func decisionsOfStatus(s *report.Status) []Decision {
	var out []Decision
	if s.Gate != nil {
		out = append(out, Decision{"gate", s.Gate.Waits(), []string{s.Gate.Approve, s.Gate.Reject}})
	}
	if s.Hold != nil {
		out = append(out, Decision{"hold", "the execution is held " + report.HeldText(s.Hold), commands(s.Release)})
	}
	out = append(out, blockedBy(s.Findings, s.Command, s.Choices)...)
	if s.Personal != "" && s.Gate == nil && s.Hold == nil {
		limit := Decision{"limit", whyPersonal(s), commands(s.Personal)}
		switch {
		case s.Raise: // before that it would spend again
			limit.What, limit.Commands = limit.What+"; "+verdict.RaiseFirst(s.Personal, cmp.Or(s.Used, s.EndDetail))+" first", []string{}
		case len(s.Choices) > 0:
			limit.Commands = s.Choices
		}
		out = append(out, limit)
	}
	return out
}

// whyPersonal is why the command to run next is the user's to give.
func whyPersonal(s *report.Status) string {
	detail := s.EndDetail
	if s.Paused != nil {
		detail = s.Paused.Detail
	}
	switch {
	case s.EndReason == state.EndBudget || s.Why == "" && !strings.Contains(s.Personal, " --max-"):
		return cmp.Or(report.FirstLine(detail), s.After)
	case s.Used != "":
		return s.Used
	case s.Why == "":
		return "a limit of the execution is used up; nothing runs before it is raised"
	}
	return s.Why
}

// programsOwn is the command to run next for a program; null where it is one of those between
// which the user has to choose.
func programsOwn(command string, choices []string) *string {
	if slices.Contains(choices, command) {
		return nil
	}
	return null(command)
}

// blockedBy are the findings that need a person, and the command that settles them, or those
// between which the person has to choose.
func blockedBy(found []finding.Finding, command string, choices []string) (out []Decision) {
	if len(choices) == 0 {
		choices = commands(command)
	}
	for _, f := range found {
		if f.Severity == finding.Blocked {
			out = append(out, Decision{"blocked", f.What, choices})
		}
	}
	return out
}

func commands(list ...string) []string {
	return slices.DeleteFunc(list, func(c string) bool { return c == "" })
}

// Executions are what hank ls prints.
type Executions struct {
	Schema     int      `json:"schema"`
	Executions []Listed `json:"executions"`
}

// Listed is an execution of this machine.
type Listed struct {
	*Status
	LastUsedAt *state.Time `json:"lastUsedAt"`
}

// ExecutionsOf is a list of executions as it is printed.
func ExecutionsOf(e *report.Executions) *Executions {
	out := &Executions{Schema: e.Schema, Executions: make([]Listed, len(e.Executions))}
	for i := range e.Executions {
		s := &e.Executions[i]
		out.Executions[i] = Listed{StatusOf(s), at(&s.LastUsed)}
	}
	return out
}

// Diagnosis is what hank doctor prints.
type Diagnosis struct {
	*report.Diagnosis
	LastEventSeq  uint64           `json:"lastEventSeq"`
	NextCommand   *string          `json:"nextCommand"`
	NextAdvice    *string          `json:"nextAdvice"`
	ResumeCommand *string          `json:"resumeCommand"`
	FinishCommand *string          `json:"finishCommand"`
	Decisions     []Decision       `json:"decisions"`
	Lost          []LostCheckpoint `json:"lost,omitempty"`
	Error         *Problem         `json:"error"`
}

// DiagnosisOf is a diagnosis as it is printed.
func DiagnosisOf(d *report.Diagnosis) *Diagnosis {
	var ended *Problem
	if d.Condition == report.NeedsYou {
		ended = atExit(exitcode.Decision, "", "the execution needs your decision; next: "+d.Next)
		ended.NextCommand = programsOwn(d.Command, d.Choices)
	}
	return &Diagnosis{Diagnosis: d, LastEventSeq: d.Seq, NextCommand: programsOwn(d.Command, d.Choices), NextAdvice: null(d.Next), ResumeCommand: null(d.Resume),
		FinishCommand: null(d.Finish), Decisions: blockedBy(d.Findings, d.Command, d.Choices), Lost: lostOf(d.Lost), Error: ended}
}

// Tree is what hank status --tree prints.
type Tree struct {
	*report.Tree
	Runs []TreeRun `json:"runs"`
}

// TreeRun is a run of a tree.
type TreeRun struct {
	report.TreeRun
	state.Bill
	StartedAt    state.Time     `json:"startedAt"`
	FirstCodonID *state.CodonID `json:"firstCodonId"`
	LastCodonID  *state.CodonID `json:"lastCodonId"`
}

// TreeOf is a tree as it is printed.
func TreeOf(t *report.Tree) *Tree {
	out := &Tree{Tree: t, Runs: make([]TreeRun, len(t.Runs))}
	for i, r := range t.Runs {
		out.Runs[i] = TreeRun{TreeRun: r, Bill: r.Bill, StartedAt: r.Started, FirstCodonID: null(r.First), LastCodonID: null(r.Last)}
	}
	return out
}

// Agents is what hank doctor --agents prints.
type Agents struct {
	Schema int               `json:"schema"`
	Agents []agents.Surveyed `json:"agents"`
	// Breakers are those that are open, of all providers.
	Breakers []breaker.View `json:"breakers,omitempty"`
	Error    *Problem       `json:"error"`
}

// AgentsOf is a survey as it is printed. ended is why the command fails; nil: it does not.
func AgentsOf(survey []agents.Surveyed, open []breaker.View, ended *Problem) *Agents {
	return &Agents{Schema: 1, Agents: survey, Breakers: open, Error: ended}
}
