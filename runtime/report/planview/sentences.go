package planview

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hank/internal/term"
	"hank/plan"
	"hank/state"
)

// TracksText says in a word or two what the checkpoint of a codon takes.
func (p Planned) TracksText() string {
	switch {
	case p.Tracks.Never:
		return "nothing"
	case p.Tracks.Everything && len(p.Tracks.Patterns) == 0:
		return "everything"
	case p.Tracks.Everything:
		return "everything, " + term.Count(len(p.Tracks.Patterns), "pattern")
	}
	return term.Count(len(p.Tracks.Patterns), "pattern")
}

// PromptText is how much a codon is told; "-" where that is not known.
func (p Planned) PromptText() string {
	if p.Prompt == nil {
		return "-"
	}
	return term.Bytes(int64(p.Prompt.Bytes + p.Prompt.System))
}

// Sentence is one fact about the plan that its list of codons has no room for.
type Sentence struct {
	About string // loop, fallback, gate, budget, session or tracks
	Text  string
}

// Sentences are those facts, in the order in which they matter.
func (p *Plan) Sentences() []Sentence {
	var out []Sentence
	say := func(about, format string, args ...any) {
		out = append(out, Sentence{about, fmt.Sprintf(format, args...)})
	}
	for _, l := range p.Loops {
		say("loop", "%s (%s): repeated: %s", l.LoopID, listed(l.Codons), l.Ends)
	}
	for _, l := range p.Loops {
		if l.Gate != nil {
			say("gate", "%s", gateText(l.Gate, "loop "+string(l.LoopID)))
		}
	}
	for i, e := range p.Codons {
		if len(e.Fallback) > 0 && p.first(i) {
			say("fallback", "%s: %s, where the provider of %s does not let it work", p.named(e), strings.Join(e.Fallback, ", then "), e.Model)
		}
		if e.Gate != nil && p.first(i) {
			say("gate", "%s", gateText(e.Gate, p.named(e)))
		}
	}
	if b := p.Ceiling; b != nil && (p.Budget == nil || b.MaxDollars != p.Budget.MaxDollars || b.MaxTimeSeconds != p.Budget.MaxTimeSeconds) {
		say("budget", "settings: %s for the whole hank", amounts(state.Dollars(b.MaxDollars), b.MaxTimeSeconds, 0, 0))
	}
	if l := p.Limits; l != nil {
		say("budget", "limits of the execution: %s", amounts(l.MaxDollars, l.MaxTimeSeconds, 0, 0))
	}
	if p.Budget != nil {
		say("budget", "hank: %s", budgetText(p.Budget))
	}
	for _, l := range p.Loops {
		if l.Budget != nil {
			say("budget", "loop %s: %s", l.LoopID, budgetText(l.Budget))
		}
	}
	for i, e := range p.Codons {
		if b := e.Budget; b != nil && p.first(i) {
			say("budget", "%s: %s%s", p.named(e), amounts(state.Dollars(b.MaxDollars), b.MaxTimeSeconds, b.MaxOutputTokens, b.MaxContextTokens), exceeded(b.OnExceeded))
		}
	}
	for _, s := range p.Sessions {
		say("session", "%s share a session%s", listed(s), p.again(s[len(s)-1]))
	}
	for i, e := range p.Codons {
		if len(e.Tracks.Own) > 0 && p.first(i) {
			say("tracks", "from %s on: %s", p.named(e), strings.Join(e.Tracks.Own, ", "))
		}
	}
	return out
}

// again says that the iterations of a loop that are not laid out yet work in the session of
// its last codon, too.
func (p *Plan) again(last state.CodonID) string {
	at := slices.IndexFunc(p.Codons, func(e Planned) bool { return e.CodonID == last })
	if p.Codons[at].Iteration == nil {
		return ""
	}
	first := slices.IndexFunc(p.Codons, func(e Planned) bool { return e.LoopID == p.Codons[at].LoopID })
	if p.Codons[first].Session != plan.ContinuePrevious {
		return ""
	}
	return ", and so does what follows in loop " + string(p.Codons[at].LoopID)
}

// first reports whether an entry is the first of its codon: what is said of it holds for
// its later iterations.
func (p *Plan) first(i int) bool {
	e := p.Codons[i]
	return e.Iteration == nil || *e.Iteration == 0
}

// named is an entry, or the codon of hank.json where each iteration has it.
func (p *Plan) named(e Planned) string {
	if e.Iteration == nil {
		return string(e.CodonID)
	}
	return strings.TrimSuffix(string(e.CodonID), "#0") + " (each iteration)"
}

func listed(ids []state.CodonID) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = string(id)
	}
	return strings.Join(names, ", ")
}

func gateText(g *plan.Gate, of string) string {
	text := fmt.Sprintf("%s, %s %s, asks to %s: %s", g.ID, g.When, of, g.Kind, g.Summary)
	if g.Artifact != "" {
		text += " (look at " + g.Artifact + ")"
	}
	if d := g.Expiry(); d > 0 {
		text += ", for " + term.Duration(d)
	}
	return text
}

func budgetText(b *plan.Budget) string {
	text := amounts(state.Dollars(b.MaxDollars), b.MaxTimeSeconds, 0, 0)
	if b.Allocation != "" && b.Allocation != plan.Shared {
		text += ", " + string(b.Allocation)
	}
	return text + exceeded(b.OnExceeded)
}

func exceeded(o plan.OnExceeded) string {
	switch o {
	case plan.Fail:
		return "; fails when it is used up"
	case plan.Pause:
		return "; the run ends when it is used up, and continues when it is raised"
	}
	return ""
}

func amounts(money state.USD, secs float64, output, context int64) string {
	var parts []string
	if money > 0 {
		parts = append(parts, money.Text())
	}
	if secs > 0 {
		parts = append(parts, term.Duration(time.Duration(min(secs, 9e9)*float64(time.Second))))
	}
	if output > 0 {
		parts = append(parts, fmt.Sprintf("%d output tokens", output))
	}
	if context > 0 {
		parts = append(parts, fmt.Sprintf("%d context tokens", context))
	}
	if len(parts) == 0 {
		return "no limit"
	}
	return "at most " + strings.Join(parts, ", ")
}
