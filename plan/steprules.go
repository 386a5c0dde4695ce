package plan

import (
	"fmt"
	"slices"
	"strings"

	"hank/internal/lazyregexp"
	"hank/plan/diagnostic"
	"hank/plan/jsonshape"
	"hank/plan/steps"
	"hank/plan/variables"
)

// stepRules reports what is wrong with skipIf, expect, timeout and the rules of
// retryConfig.
func (h *Hank) stepRules(p place, out *diagnostic.Reporter) {
	c := p.codon
	if s := c.SkipIf; s != nil {
		at := p.pointer + "/skipIf"
		h.checks(at, "skipIf", s.Files, s.Command, out)
	}
	if e := c.Expect; e != nil {
		at := p.pointer + "/expect"
		h.checks(at, "expect", e.Files, e.Command, out)
		if c.Model.Kind().RunsScript && strings.Contains(e.Marker, "\n") && !out.AnyIDs {
			h.report(out, at+"/marker", "bad-value", "", "no line of a script has a line break: the last one that it prints is looked at")
		}
		h.placeholderRules(at+"/marker", e.Marker, c.Model.Kind().RunsScript, out)
	}
	if b := c.Budget; b != nil && b.MaxTimeSeconds > 0 && c.Timeout >= b.MaxTimeSeconds {
		h.report(out, p.pointer+"/timeout", "timeout-unused", "lower timeout, or remove it", "the budget of %q ends it before (maxTimeSeconds)", c.ID)
	}
	if c.RetryConfig == nil {
		return
	}
	seen := map[steps.Kind]int{}
	for i, r := range c.RetryConfig.Rules {
		for j, kind := range r.On {
			if first, twice := seen[kind]; twice {
				h.report(out, fmt.Sprintf("%s/retryConfig/rules/%d/on/%d", p.pointer, i, j), "unused-rule", "remove it from one of them", "rule %d names %s already, and the first one holds", first+1, kind)
			} else {
				seen[kind] = i
			}
		}
	}
}

var variableName = lazyregexp.New(`^[A-Z][A-Z0-9_]{0,63}$`)

// variableRules reports variables that no prompt can name, or no process can get.
func (h *Hank) variableRules(out *diagnostic.Reporter) {
	every := variables.Placeholders()
	for name, value := range h.Variables {
		at := "/variables/" + jsonshape.Escape(name)
		switch {
		case !variableName.MatchString(name):
			h.report(out, at, "variable-name", "", "%q is no name of a variable: capital letters, digits and underscores, at most 64, a letter first", name)
		case slices.Contains(every, name):
			h.report(out, at, "variable-name", "", "<%%%s%%> is one of the placeholders that every hank has", name)
		case strings.IndexByte(value, 0) >= 0:
			h.report(out, at, "bad-value", "", "%q cannot be in an environment: it has a NUL character", name)
		}
		h.fits(at, "the variable", len("HANK_VAR_"+name+"="+value), out)
	}
}

// checks reports what is wrong with the parts of a condition or an expectation.
func (h *Hank) checks(at, what string, files []string, command *steps.Command, out *diagnostic.Reporter) {
	if n := h.doc.At(at); n != nil && len(n.Kids) == 0 {
		h.report(out, at, "empty-check", "name files or a command", "%s has nothing to look at", what)
	}
	if command != nil {
		h.commandRules(at, command.Run, out)
	}
	replace := variables.NewReplacer(variables.Sample(h.Variables))
	for i, text := range files {
		pointer, becomes := fmt.Sprintf("%s/files/%d", at, i), text
		if !out.AnyIDs { // what is stored was taken with what it says
			becomes = replace.Replace(text)
		}
		h.pattern(pointer, text, becomes, out)
		if strings.HasPrefix(becomes, "!") {
			h.report(out, pointer, "bad-glob", "leave it out", "%s: each pattern is looked for by itself, so that ! has nothing to take away from", jsonshape.Quote(text))
		}
		h.placeholderRules(pointer, text, true, out)
	}
}

// Patterns returns patterns of an entry's codon with their placeholders replaced. They are
// relative to the workspace, and so is what stands for it or a file in it.
func (p *Program) Patterns(e Entry, patterns []string, v Vars) []string {
	v.Workspace = "."
	replace, out := p.replacer(e, v), slices.Clone(patterns)
	for i := range out {
		out[i] = replace.Replace(out[i])
	}
	return out
}

// Marker is the text that the last message of an entry's agent must have; empty: none.
func (p *Program) Marker(e Entry, v Vars) string {
	if e.Codon.Expect == nil {
		return ""
	}
	return p.replacer(e, v).Replace(e.Codon.Expect.Marker)
}
