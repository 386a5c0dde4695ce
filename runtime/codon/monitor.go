package codon

import (
	"strings"
	"sync"
	"time"

	"hank/plan"
	"hank/runtime/harness"
	"hank/runtime/silence"
	"hank/state"
)

// Activity is what a run does at a moment, for whoever watches it.
type Activity struct {
	Codon    state.CodonID     // empty: no codon is running
	Number   int               // of the codon in the plan, from 1
	Extent   plan.Extent       // how many codons the plan comes to
	Attempt  int               // from 1
	Attempts int               // that there are at most; 0: nobody knows
	Allowed  state.USD         // what the attempt may cost; 0: there is no limit
	Next     *Coming           // what follows in the run, one after the other; nil: nothing
	Since    time.Time         // when the attempt began; where no codon is running, when the step did
	Cost     state.USD         // of the attempt so far
	Replayed state.USD         // the part of it that is not paid
	Step     string            // what is waited for, where no tool is running
	Tool     string            // the tool that is running, with its main argument
	Words    string            // what the agent or script printed last: the beginning of it
	Last     string            // the same: the end of it
	Silence  *silence.Evidence // what is known of an agent without a sign of life; nil: it shows one
	Stop     string            // what the run was asked to do when the codon has ended
}

// Coming is a codon, or a loop as a whole, that follows in a run.
type Coming struct {
	Name  string  // what the plan calls it
	About string  // what it is, for people; empty: the name says it
	Then  *Coming // what follows it; nil: nothing
}

// Monitor is where a run shows its Activity. To show it costs the run an
// assignment, whoever watches; any goroutine may look. A nil Monitor shows
// nothing.
type Monitor struct {
	mu   sync.Mutex
	now  Activity
	id   string // of the tool that is running
	mask func(string) string
}

// Now returns what the run does, without the secrets that hank masks.
func (p *Monitor) Now() Activity {
	if p == nil {
		return Activity{}
	}
	p.mu.Lock()
	now, mask := p.now, p.mask
	p.mu.Unlock()
	if mask != nil {
		now.Step, now.Tool, now.Words, now.Last = mask(now.Step), mask(now.Tool), mask(now.Words), mask(now.Last)
	}
	return now
}

// Begin says how secrets are masked from now on.
func (p *Monitor) Begin(mask func(string) string) {
	if p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.mask = mask
	}
}

// Change changes the activity that is shown. On a nil Monitor it does nothing.
func (p *Monitor) Change(change func(*Activity)) {
	if p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		change(&p.now)
	}
}

// Step names what is waited for. An empty one leaves it to the agent.
func (p *Monitor) Step(what string) {
	p.Change(func(a *Activity) { a.Step, a.Tool = what, "" })
}

// Wait names what is waited for where no codon is running. An empty one is nothing.
func (p *Monitor) Wait(what string) {
	p.Change(func(a *Activity) {
		if *a = (Activity{Stop: a.Stop}); what != "" {
			a.Step, a.Since = what, time.Now()
		}
	})
}

// observe shows what an agent does. thinks is what is waited for while it does
// nothing that can be seen; empty for a script, which does all that it does.
func (p *Monitor) observe(o harness.Observation, workspace, thinks string, bill state.Bill) {
	p.Change(func(a *Activity) {
		switch o := o.(type) {
		case harness.SessionStarted:
			if thinks != "" {
				a.Step = thinks
			}
		case harness.Message:
			a.Step = thinks
			if !o.Thinking {
				a.Words, a.Last = beginning(o.Text), ending(o.Text)
			}
		case harness.ToolUse:
			a.Step, a.Tool, p.id = "", strings.ReplaceAll(beginning(o.String()), workspace+"/", ""), o.ID
		case harness.ToolResult:
			if a.Step = thinks; o.ToolUseID == p.id {
				a.Tool = ""
			}
		case harness.Usage:
			a.Cost, a.Replayed = bill.Cost, bill.Replayed
		case harness.Retrying:
			a.Step, a.Tool = "waiting for the provider, "+o.Why, ""
		}
	})
}

// beginning is more of a text than any line shows, so that nobody masks and cuts
// all of a long one each time that it looks.
func beginning(text string) string { return text[:min(len(text), mostText)] }

// ending is the same from the end of a text, from a whole word on: a part of a secret
// would not be known as one.
func ending(text string) string {
	if len(text) <= mostText {
		return text
	}
	text = text[len(text)-mostText:]
	return text[strings.IndexAny(text+" ", " \n"):]
}

const mostText = 4000
