package plan

import (
	"fmt"
	"strings"

	"hank/plan/diagnostic"
	"hank/plan/jsonshape"
)

// scope is a budget together with what it is divided among.
type scope struct {
	pointer  string // of the budget
	what     string // "the hank", `loop "x"`
	budget   *Budget
	children []child
}

// child is a codon or loop under a budget.
type child struct {
	pointer string
	id      CodonID
	cap     float64 // its own maxDollars; 0 is none
	codon   *Codon  // nil for a loop
}

// slack is what sums of shares may be off by: they are written as decimals.
const slack = 1e-9

// budgetRules reports budgets that contradict themselves, and those that do
// not do what they seem to.
func (h *Hank) budgetRules(out *diagnostic.Reporter) {
	whole := scope{pointer: "/overrides/budget", what: "the hank", children: make([]child, 0, len(h.Items))}
	if h.Overrides != nil {
		whole.budget = h.Overrides.Budget
	}
	for i, item := range h.Items {
		at := fmt.Sprintf("/hank/%d", i)
		switch {
		case item.Codon != nil:
			whole.children = append(whole.children, codonChild(at, item.Codon))
		case item.Loop != nil:
			whole.children = append(whole.children, child{pointer: at, id: item.Loop.ID, cap: item.Loop.Budget.dollars()})
		}
	}
	h.scopeRules(whole, out)
	for i, item := range h.Items {
		if l := item.Loop; l != nil {
			in := scope{pointer: fmt.Sprintf("/hank/%d/budget", i), what: item.String(), budget: l.Budget}
			for j := range l.Codons {
				in.children = append(in.children, codonChild(fmt.Sprintf("/hank/%d/codons/%d", i, j), &l.Codons[j]))
			}
			h.scopeRules(in, out)
		}
	}
	for _, p := range h.places {
		if p.codon != nil {
			h.codonBudget(p, whole.budget, out)
		}
	}
}

// namesOf says which ids can have a share.
func (s scope) namesOf() string {
	const most = 12
	var ids []string
	for _, c := range s.children[:min(len(s.children), most)] {
		ids = append(ids, string(c.id))
	}
	if len(s.children) > most {
		ids = append(ids, "…")
	}
	return "inside " + s.what + " are " + strings.Join(ids, ", ")
}

func codonChild(at string, c *Codon) child {
	return child{pointer: at, id: c.ID, cap: c.Budget.dollars(), codon: c}
}

func (b *Budget) dollars() float64 {
	if b == nil {
		return 0
	}
	return b.MaxDollars
}

func (b *CodonBudget) dollars() float64 {
	if b == nil {
		return 0
	}
	return b.MaxDollars
}

// scopeRules checks one budget against its children.
func (h *Hank) scopeRules(s scope, out *diagnostic.Reporter) {
	b := s.budget
	if b == nil {
		return
	}
	proportional := b.Allocation == Proportional || b.Allocation == ProportionalStrict
	if len(b.Shares) > 0 && !proportional {
		h.report(out, s.pointer+"/shares", "budget-shares", `set "allocation": "proportional"`, "shares need a proportional allocation")
	}
	if proportional && b.MaxDollars == 0 {
		h.report(out, s.pointer, "budget-allocation", "add maxDollars, or remove allocation", "a proportional allocation needs maxDollars")
	}
	sum, inside := 0.0, map[CodonID]bool{}
	for _, c := range s.children {
		inside[c.id] = true
	}
	for id, share := range b.Shares {
		sum += share
		if !inside[id] {
			h.report(out, s.pointer+"/shares/"+jsonshape.Escape(string(id)), "budget-shares", s.namesOf(), "%q is not directly inside %s", id, s.what)
		}
	}
	if sum > 1+slack {
		h.report(out, s.pointer+"/shares", "budget-shares", "lower one of them", "the shares add up to %.6g, which is more than 1", sum)
	}
	if proportional && b.MaxDollars > 0 {
		h.shareRules(s, sum, out)
	}
	h.lateFailures(s, out)
}

// shareRules warns about shares that do not work out.
func (h *Hank) shareRules(s scope, sum float64, out *diagnostic.Reporter) {
	rest := max(0, 1-sum) * s.budget.MaxDollars
	takers, takeable := 0, 0.0 // children without a share, and the sum of their caps
	for _, c := range s.children {
		share, fixed := s.budget.Shares[c.id]
		most := rest
		if fixed {
			most = share * s.budget.MaxDollars
		} else {
			takers++
			takeable += c.cap
			if c.cap == 0 {
				takeable = rest
			}
		}
		switch {
		case !fixed && c.cap == 0 && sum >= 1-slack && c.id != "":
			h.report(out, c.pointer, "budget-zero", "give it a share, or lower those of the others", "%q has no share of the budget of %s, and the shares leave nothing", c.id, s.what)
		case c.cap > most+slack && most > 0:
			h.report(out, c.pointer+"/budget/maxDollars", "budget-cap", "raise its share, or lower its maxDollars", "%q may spend %s, but its part of the budget of %s is %s", c.id, diagnostic.Dollars(c.cap), s.what, diagnostic.Dollars(most))
		}
	}
	if rest > slack*s.budget.MaxDollars && (takers == 0 || takeable < rest-slack) {
		h.report(out, s.pointer+"/shares", "budget-unused", "raise a share, or leave one codon without a share and without maxDollars", "%s of the budget of %s is unallocated", diagnostic.Dollars(rest-takeable), s.what)
	}
}

// lateFailures warns about codons that fail for what others have spent.
func (h *Hank) lateFailures(s scope, out *diagnostic.Reporter) {
	if s.budget.MaxDollars == 0 || s.budget.Allocation == Proportional || s.budget.Allocation == ProportionalStrict {
		return
	}
	for i, c := range s.children {
		if i > 0 && c.codon != nil && c.codon.Budget != nil && c.codon.Budget.OnExceeded == Fail && c.cap == 0 {
			h.report(out, c.pointer+"/budget/onExceeded", "budget-fail-late", "give it maxDollars, or a share of its own (allocation)", "%q fails if earlier codons have spent the budget of %s", c.id, s.what)
		}
	}
}

// codonBudget warns about limits that do not do what they seem to.
func (h *Hank) codonBudget(p place, whole *Budget, out *diagnostic.Reporter) {
	c, own := p.codon, p.codon.Budget
	var around *Budget
	if p.inside != nil {
		around = p.inside.Budget
	}
	if own != nil && (own.MaxDollars > 0 && len(c.Sentinels) == 0 || own.MaxOutputTokens > 0 || own.MaxContextTokens > 0) && !mayReport(c, "usage") {
		h.report(out, p.pointer+"/budget", "budget-shell-price", "use maxTimeSeconds", "%q is a script: it spends only what it reports by ::hank usage", c.ID)
	}
	if own == nil {
		own = &CodonBudget{}
	}
	if c.Model.Kind().ReportsLate && own.MaxTimeSeconds == 0 && (own.dollars()+around.dollars()+whole.dollars() > 0 || own.MaxOutputTokens > 0 || own.MaxContextTokens > 0) {
		h.report(out, p.pointer+"/exec", "budget-late", "let it report its usage request by request, or add maxTimeSeconds", "a limit ends %q only where its program has reported what it uses; one that reports at its end is over the limit by then", c.ID)
	}
	if c.ExhaustWithPrompt != "" && own.MaxTimeSeconds > 0 {
		h.report(out, p.pointer+"/budget/maxTimeSeconds", "budget-exhaust", "remove one of the two, or limit maxExtensions instead", "the time may be over before the context of %q is full", c.ID)
	}
	if around != nil && around.MaxTimeSeconds > 0 && own.MaxTimeSeconds > around.MaxTimeSeconds {
		h.report(out, p.pointer+"/budget/maxTimeSeconds", "budget-time-loop", "lower it, or raise that of the loop", "%q may take longer than all of loop %q", c.ID, p.inside.ID)
	}
	if c.OnFailure == Retry && exceeding(own, around, whole) == Fail {
		h.report(out, p.pointer+"/onFailure", "budget-fail-retry", "set onExceeded to complete, or do not retry", "when its budget is spent %q fails, and that is never retried", c.ID)
	}
}

// mayReport reports whether something of an attempt may be reported to its harness. An
// agent does it unasked. A script does not if all its text is in hank.json and does not
// have the words. What a file or another program prints is not known here.
func mayReport(c *Codon, report string) bool {
	return !c.Model.Kind().RunsScript || len(c.PromptFile) > 0 || strings.Contains(c.PromptText+c.ExhaustWithPrompt, "hank "+report)
}

// exceeding is how a codon ends that runs out of budget: by its own word, else
// by that of its loop, else of the hank.
func exceeding(own *CodonBudget, around, whole *Budget) OnExceeded {
	if own != nil && own.OnExceeded != "" {
		return own.OnExceeded
	}
	for _, b := range []*Budget{around, whole} {
		if b != nil && b.OnExceeded != "" {
			return b.OnExceeded
		}
	}
	return Complete
}
