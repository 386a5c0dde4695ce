package plan

import (
	"fmt"
	"slices"

	"hank/plan/diagnostic"
	"hank/plan/model"
)

// sessionRules reports codons that cannot continue the session before them.
func (h *Hank) sessionRules(out *diagnostic.Reporter) {
	var before *Item
	for i := range h.Items {
		item := &h.Items[i]
		at := fmt.Sprintf("/hank/%d", i)
		switch {
		case item.Codon != nil:
			h.continues(out, at, item.Codon, before, `set "fresh"`)
		case item.Loop != nil && len(item.Loop.Codons) > 0:
			h.loopSessions(out, at, item.Loop, before)
		default:
			continue
		}
		before = item
	}
}

func (h *Hank) loopSessions(out *diagnostic.Reporter, at string, l *Loop, before *Item) {
	first, other := `set "fresh"`, `set "fresh"`
	if l.TerminateOn.Type == ContextExceeded { // in which no codon may be fresh
		first, other = `put a codon with "fresh" before the loop`, `end the loop by iterationLimit and set "fresh"`
	}
	for i := range l.Codons {
		c := &l.Codons[i]
		pointer := fmt.Sprintf("%s/codons/%d", at, i)
		mend := first
		if i > 0 {
			before, mend = &Item{Codon: &l.Codons[i-1]}, other
		}
		h.continues(out, pointer, c, before, mend)
		if l.TerminateOn.Type == ContextExceeded && c.ContinuationMode == Fresh && c.Model.Kind().HasSessions {
			hint := `set "continue-previous", or end the loop by iterationLimit`
			if i == 0 && !h.canContinue(*c, before) {
				hint = first + " and " + hint
			}
			h.report(out, pointer+"/continuationMode", "loop-fresh-codon", hint, "%q starts a new session in each iteration, so the context that ends loop %q never fills", c.ID, l.ID)
		}
		last := &l.Codons[len(l.Codons)-1]
		if again := l.TerminateOn.Type == ContextExceeded || l.TerminateOn.Limit > 1; i > 0 || !c.ContinuesSession() || !again || last == c {
			continue
		}
		if !last.Model.Kind().HasSessions && l.TerminateOn.Type != ContextExceeded && !out.AnyIDs { // what is frozen may be past its loop
			h.report(out, pointer+"/continuationMode", "continue-model", other+", or let a codon of the same model end the loop",
				"from the second iteration on, %q would continue the session of %q, and a script has none", c.ID, last.ID)
			continue
		}
		if last.ExhaustWithPrompt != "" || last.Model.WithoutEffort().String() != c.Model.WithoutEffort().String() {
			h.report(out, pointer+"/continuationMode", "continue-wrap", other+", or let a codon of the same model end the loop", "from the second iteration on, %q continues the session of %q, whose context is full or whose model is another", c.ID, last.ID)
		}
	}
}

// ContinuesSession reports whether the codon needs a session to continue with. One
// whose harness has none does not, whatever its mode.
func (c *Codon) ContinuesSession() bool {
	return c.ContinuationMode == ContinuePrevious && c.Model.Kind().HasSessions
}

// canContinue reports whether a codon could continue what is before it.
func (h *Hank) canContinue(c Codon, before *Item) bool {
	var out diagnostic.Reporter
	c.ContinuationMode = ContinuePrevious
	h.continues(&out, "", &c, before, "")
	return len(out.List) == 0
}

// continues reports why a codon cannot continue with what is before it. mend is what makes
// it right in each case.
func (h *Hank) continues(out *diagnostic.Reporter, pointer string, c *Codon, before *Item, mend string) {
	if !c.ContinuesSession() {
		return
	}
	at := pointer + "/continuationMode"
	if before == nil {
		h.report(out, at, "continue-first", mend, "%q has no previous session to continue, so that it fails", c.ID)
		return
	}
	previous := before.Codon
	if l := before.Loop; l != nil {
		previous = &l.Codons[len(l.Codons)-1]
		if l.TerminateOn.Type == ContextExceeded {
			h.report(out, at, "continue-after-exhausted", mend, "loop %q ends when the context is full, so no session is left to continue", l.ID)
			return
		}
	}
	if previous.ExhaustWithPrompt != "" {
		h.report(out, at, "continue-after-exhausted", mend, "%q fills its context (exhaustWithPrompt), so no session is left to continue", previous.ID)
	}
	if a, b := previous.Model.WithoutEffort().String(), c.Model.WithoutEffort().String(); a != b && a != "" && b != "" {
		h.report(out, at, "continue-model", mend+`, or use the same model`, "%q would continue the session of %q with another model: %s after %s", c.ID, previous.ID, b, a)
	}
	if previous.CheckpointedFiles != nil && len(previous.CheckpointedFiles) == 0 {
		h.report(out, at, "continue-untracked", mend+`, or let it track files (checkpointedFiles)`, "%q checkpoints nothing: a rollback does not bring back the files that its session speaks of", previous.ID)
	}
	if previous.SkipIf != nil {
		h.report(out, at, "continue-after-skip", mend+`, or remove skipIf there`, "%q may be skipped (skipIf) and leave no session to continue", previous.ID)
	}
	if slices.ContainsFunc(previous.Fallback, func(f model.Fallback) bool { return f.Model.Kind().Name != previous.Model.Kind().Name }) {
		h.report(out, at, "continue-after-fallback", mend+`, if it must not depend on it`, "%q has fallbacks of another agent and may leave a session of it; %q then begins a new one", previous.ID, c.ID)
	}
	if previous.OnFailure == Ignore {
		h.report(out, at, "continue-after-ignore", mend+`, or "onFailure": "retry" there`, "%q may have failed and leave no session to continue", previous.ID)
	}
}
