package plan

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"hank/plan/diagnostic"
	"hank/plan/loop"
	"hank/plan/variables"
)

// ProgressFile is the progress file of a loop, relative to the workspace; a loop is once in an
// execution. It is in the workspace itself, as nobody has to make a directory for it.
func ProgressFile(id CodonID) string { return ".hank-progress-" + SafeFileName(id) + ".md" }

// noteProgressFiles gives a progress file to each loop whose codons name it.
func (p *Program) noteProgressFiles() {
	shared, text := variables.Mentions{}, func(name string) string { return p.texts[name] }
	for _, at := range p.Hank.places { // a loop before its codons
		if at.loop != nil {
			at.loop.progress = ""
		}
		if at.inside != nil && slices.ContainsFunc(textsOfCodon(p.Hank, at.codon), func(t promptPart) bool { return t.mentioned(shared, text).AnyProgress }) {
			at.inside.progress = ProgressFile(at.inside.ID)
		}
	}
}

// promptPart is a text of a codon, or the file that has it.
type promptPart struct{ field, text, file string }

// mentioned is what the text asks for. One that many codons are given is looked at once.
func (t promptPart) mentioned(shared variables.Mentions, read func(file string) string) variables.Mentioned {
	switch {
	case t.file != "":
		return shared.Of(t.file, func() string { return read(path.Clean(t.file)) })
	case t.field == "":
		return shared.Of("", func() string { return t.text })
	}
	return variables.MentionedIn(t.text)
}

// textsOfCodon are the texts that a codon is given, in which placeholders are replaced.
func textsOfCodon(h *Hank, c *Codon) []promptPart {
	parts := []promptPart{{field: "promptText", text: c.PromptText}, {field: "exhaustWithPrompt", text: c.ExhaustWithPrompt}}
	for _, file := range c.PromptFile {
		parts = append(parts, promptPart{field: "promptFile", file: file})
	}
	if c.SkipIf != nil {
		parts = append(parts, promptPart{field: "skipIf/files", text: strings.Join(c.SkipIf.Files, "\n")})
	}
	if c.Expect != nil {
		parts = append(parts, promptPart{field: "expect", text: strings.Join(append(slices.Clone(c.Expect.Files), c.Expect.Marker), "\n")})
	}
	if c.Model.Kind().RunsScript {
		return parts
	}
	parts = append(parts, promptPart{field: "appendSystemPromptText", text: c.AppendSystemPromptText}, promptPart{text: h.GlobalSystemPromptText})
	for _, file := range c.AppendSystemPromptFile {
		parts = append(parts, promptPart{field: "appendSystemPromptFile", file: file})
	}
	for _, file := range h.GlobalSystemPromptFile {
		parts = append(parts, promptPart{file: file})
	}
	return parts
}

// misplaced reports placeholders that stand for nothing where they are, and codons that
// vote without being told where.
func (l *loader) misplaced() {
	shared, read := variables.Mentions{}, func(name string) string {
		if f := l.files[name]; f != nil && f.ok {
			return f.text
		}
		return ""
	}
	for _, p := range l.hank.places {
		if p.codon == nil {
			continue
		}
		votes, told, system := p.inside != nil && p.inside.votes(p.codon.ID), false, []variables.Measured{}
		for _, part := range textsOfCodon(l.hank, p.codon) {
			text, at := part.mentioned(shared, read), p.pointer
			if part.field != "" {
				at += "/" + part.field
			}
			if part.field == "" || strings.HasPrefix(part.field, "append") {
				system = append(system, text.Measured)
			}
			told = told || text.AnyDecision
			if p.inside == nil && text.Progress {
				l.hank.report(&l.out, at, "placeholder-place", "use it in the codons of a loop", "%s names the progress file of a loop, and codon %q is in none", variables.ProgressPlaceholder, p.codon.ID)
			}
			if !votes && text.Decision {
				l.hank.report(&l.out, at, "placeholder-place", `a codon votes by "vote": "agent" (the last of the loop) or "vote": "judge" (the one that "judge" names)`,
					"%s names the file for a decision, and codon %q has none to make", variables.DecisionPlaceholder, p.codon.ID)
			}
		}
		l.systemFits(p, system, read)
		if votes && !told && !p.codon.Model.Kind().RunsScript {
			l.hank.report(&l.out, p.pointer, "vote-unasked", `say in its prompt: write {"decision": "stop" or "continue", "reason": "…"} to `+variables.DecisionPlaceholder,
				"codon %q is to decide whether loop %q stops, and its prompt names no %s", p.codon.ID, p.inside.ID, variables.DecisionPlaceholder)
		}
	}
}

// votes reports whether a codon of the loop is asked for a decision after each iteration.
func (l *Loop) votes(id CodonID) bool {
	return slices.ContainsFunc(l.TerminateOn.Members(), func(r loop.Rule) bool { return r.Asked(string(l.Codons[len(l.Codons)-1].ID)) == string(id) })
}

// Votes reports whether the codon of an entry is asked whether its loop stops.
func (p *Program) Votes(e Entry) bool {
	if e.LoopContext == nil {
		return false
	}
	l := p.Loop(e.LoopContext.LoopID)
	return l != nil && l.votes(e.Codon.ID)
}

// judgedRules reports what is wrong with a rule that needs a verdict.
func (h *Hank) judgedRules(p place, out *diagnostic.Reporter) {
	rule, at := p.loop.TerminateOn, p.pointer+"/terminateOn"
	if !rule.Judged() {
		return
	}
	h.ruleRules(p, at, rule, out)
	for i, of := range rule.Of {
		h.ruleRules(p, fmt.Sprintf("%s/of/%d", at, i), of, out)
	}
}

func (h *Hank) ruleRules(p place, at string, r loop.Rule, out *diagnostic.Reporter) {
	if r.Type == loop.Command {
		if r.Until != "" && strings.TrimSpace(r.Until) == "" {
			h.report(out, at+"/until", "bad-value", "", "the command is blank")
		}
		h.dangerous(out, at+"/until", r.Until)
		h.fits(at+"/until", "the command", len(r.Until), out)
	}
	if r.Type != loop.Plateau {
		return
	}
	h.patterns(at+"/ignore", r.Ignore, out)
	for _, field := range []struct {
		name  string
		given bool
		vote  loop.Voter
	}{
		{"minChangedLines", r.MinChangedLines > 0, loop.ByTree}, {"ignore", len(r.Ignore) > 0, loop.ByTree},
		{"judge", r.Judge != "", loop.ByJudge}, {"maxJudgeFailures", r.MaxJudgeFailures > 0 && r.Vote != loop.BySentinel, loop.ByJudge},
		{"sentinel", r.Sentinel != "", loop.BySentinel},
	} {
		if field.given && r.Vote != field.vote {
			h.report(out, at+"/"+field.name, "vote-field", "remove it, or change vote", "%s is for \"vote\": %q only", field.name, field.vote)
		}
	}
	if limit := p.loop.TerminateOn.Limit; limit > 0 && r.Needs() > limit {
		h.report(out, at, "plateau-unreachable", "raise limit, or lower what the plateau needs (consensus, minIterations)", "the plateau needs %d iterations, and the limit of loop %q is %d", r.Needs(), p.loop.ID, p.loop.TerminateOn.Limit)
	}
	switch r.Vote {
	case loop.ByTree:
		if !h.tracksBefore(p.loop) {
			h.report(out, at+"/vote", "plateau-untracked", "let a codon of the loop track files (checkpointedFiles), or choose another vote",
				"no file is tracked in loop %q or before it: each iteration would look the same", p.loop.ID)
		}
	case loop.ByJudge:
		i := slices.IndexFunc(p.loop.Codons, func(c Codon) bool { return string(c.ID) == r.Judge })
		if r.Judge != "" && i < 0 {
			h.report(out, at+"/judge", "judge-unknown", "name a codon of the loop", "%q is no codon of loop %q", r.Judge, p.loop.ID)
		}
	}
	for i, c := range p.loop.Codons {
		if (r.Vote == loop.ByAgent && i == len(p.loop.Codons)-1 || r.Vote == loop.ByJudge && string(c.ID) == r.Judge) && c.ContinuesSession() {
			h.report(out, fmt.Sprintf("%s/codons/%d/continuationMode", p.pointer, i), "vote-remembered", `set "fresh"`,
				"%q votes in a session that may remember its earlier votes: votes are to be independent", c.ID)
		}
	}
}

// tracksBefore reports whether checkpoints at a loop's end have any files: those of a codon
// in the loop, or before it.
func (h *Hank) tracksBefore(l *Loop) bool {
	for _, p := range h.places {
		if p.codon != nil && (p.codon.CheckpointedFiles == nil || slices.ContainsFunc(p.codon.CheckpointedFiles, func(s string) bool { return !strings.HasPrefix(s, "!") })) {
			return true
		}
		if p.inside == l && p.codon == &l.Codons[len(l.Codons)-1] {
			return false
		}
	}
	return false
}
