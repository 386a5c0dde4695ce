package plan

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"hank/internal/pattern"
	"hank/plan/config"
	"hank/plan/diagnostic"
	"hank/plan/fields"
	"hank/plan/frontmatter"
	"hank/plan/jsonshape"
	"hank/plan/steps"
)

// structure reports what is wrong with the hank beyond its fields.
func (h *Hank) structure(out *diagnostic.Reporter) {
	if h.GlobalSystemPromptText != "" && h.has("", "globalSystemPromptFile") {
		h.report(out, "/globalSystemPromptText", "exclusive-fields", "keep one of the two", "globalSystemPromptText and globalSystemPromptFile are mutually exclusive")
	}
	h.placeholderRules("/globalSystemPromptText", h.GlobalSystemPromptText, false, out)
	h.names(out)
	h.variableRules(out)
	for _, p := range h.places {
		h.literalPlaceholders(p, out)
		if p.loop != nil {
			h.loopRules(p, out)
			continue
		}
		h.promptRules(p, out)
		h.codonRules(p, out)
		h.rigRules(p, out)
		h.patternRules(p.pointer, p.codon, out)
		h.stepRules(p, out)
	}
	h.sessionRules(out)
	h.budgetRules(out)
	h.gateRules(out)
}

// has reports whether the file has a field, be its value right or wrong.
func (h *Hank) has(pointer, field string) bool {
	n := h.doc.At(pointer)
	return n != nil && n.Kind == '{' && n.Step(field) != nil
}

// names reports ids and names that occur twice.
func (h *Hank) names(out *diagnostic.Reporter) {
	n := len(h.places)
	ids, folded, names := make(map[CodonID]string, n), make(map[string]CodonID, n), make(map[string]CodonID, n)
	for _, p := range h.places {
		if p.id() == "" {
			continue
		}
		fold := strings.ToLower(string(p.id()))
		if first, twice := ids[p.id()]; twice {
			h.report(out, p.pointer+"/id", "duplicate-id", "give each codon and loop its own id", "duplicate id %q (first used at %s)", p.id(), first)
		} else if other, near := folded[fold]; near {
			h.report(out, p.pointer+"/id", "similar-id", "give one of them another id", "%q differs from %q in upper and lower case only", p.id(), other)
		}
		if other, twice := names[p.name()]; twice && p.name() != "" && other != p.id() {
			h.report(out, p.pointer+"/name", "duplicate-name", "give each its own name: lists and logs show it", "%q has the same name", other)
		}
		ids[p.id()], folded[fold], names[p.name()] = p.pointer, p.id(), p.id()
	}
}

func (h *Hank) loopRules(p place, out *diagnostic.Reporter) {
	endless := p.loop.TerminateOn.Type == ContextExceeded && p.loop.Budget == nil
	var byDefault []string
	for i, c := range p.loop.Codons {
		at := fmt.Sprintf("%s/codons/%d", p.pointer, i)
		if n := h.doc.At(at); n != nil && n.Bad { // which is said
			continue
		}
		if mayReport(&p.loop.Codons[i], "context-exceeded") {
			endless = false
		}
		for j, r := range c.RigSetup {
			if !r.AllowFailure {
				h.report(out, fmt.Sprintf("%s/rigSetup/%d", at, j), "loop-rig-failure", "set allowFailure if a repetition may fail",
					"this operation runs in each iteration, and its failure ends the loop")
			}
		}
		switch c.OnFailure {
		case Abort:
			h.report(out, at+"/onFailure", "loop-abort", "", "a failure of %q in any iteration of loop %q ends the run", c.ID, p.loop.ID)
		case "":
			if !h.has(at, "onFailure") {
				byDefault = append(byDefault, strconv.Quote(string(c.ID)))
			}
		}
	}
	if len(byDefault) > 0 && !out.AnyIDs {
		h.report(out, p.pointer, "loop-abort", "set onFailure to retry or ignore where the loop is to continue", "onFailure is not set in %s: a failure there ends the run, in any iteration of loop %q", strings.Join(byDefault, ", "), p.loop.ID)
	}
	if endless && len(p.loop.Codons) > 0 {
		h.report(out, p.pointer+"/terminateOn", "loop-never-ends", "use iterationLimit, or give the loop a budget", "loop %q has only scripts: it ends when one of them prints ::hank context-exceeded", p.loop.ID)
	}
	h.judgedRules(p, out)
	h.patterns(p.pointer+"/archiveOnSuccess", p.loop.ArchiveOnSuccess, out)
}

func (h *Hank) promptRules(p place, out *diagnostic.Reporter) {
	c := p.codon
	file := h.has(p.pointer, "promptFile")
	switch {
	case !file && c.PromptText == "" && (!h.has(p.pointer, "promptText") || h.textIsEmpty(p.pointer+"/promptText")) && !fields.MeansPrompt(h.doc.At(p.pointer)):
		h.report(out, p.pointer, "prompt-missing", "add one of the two", "codon %q needs promptFile or promptText", c.ID)
	case file && c.PromptText != "":
		h.report(out, p.pointer+"/promptText", "prompt-twice", "remove one of the two", "promptFile takes precedence: this text is not used")
	}
	if c.AppendSystemPromptText != "" && h.has(p.pointer, "appendSystemPromptFile") {
		h.report(out, p.pointer+"/appendSystemPromptText", "exclusive-fields", "keep one of the two", "appendSystemPromptText and appendSystemPromptFile are mutually exclusive")
	}
	for _, t := range []struct{ field, text string }{
		{"promptText", c.PromptText}, {"appendSystemPromptText", c.AppendSystemPromptText}, {"exhaustWithPrompt", c.ExhaustWithPrompt},
	} {
		if t.text != "" {
			nothing := t.field == "promptText" && kindOfPrompt(c) == taskPrompt && frontmatter.IsNothing(t.text) && !out.AnyIDs
			frontmatter.Judge(t.text, nothing, func(rule, message string) { h.report(out, p.pointer+"/"+t.field, rule, "", "%s", message) })
			h.placeholderRules(p.pointer+"/"+t.field, t.text, c.Model.Kind().RunsScript, out)
		}
	}
}

// placeholderRules looks at a text of hank.json. What Hankweave ran, or is frozen,
// ran with what it says.
func (h *Hank) placeholderRules(pointer, text string, script bool, out *diagnostic.Reporter) {
	if out.AnyIDs {
		return
	}
	h.known.Unknown(text, script, func(_ int, message, hint string) {
		h.report(out, pointer, "unknown-placeholder", hint, "%s", message)
	})
}

// literalPlaceholders reports placeholders in fields in which none is replaced.
func (h *Hank) literalPlaceholders(p place, out *diagnostic.Reporter) {
	if out.AnyIDs {
		return
	}
	in := h.doc.At(p.pointer)
	for _, field := range []string{"/rigSetup", "/env", "/exec", "/checkpointedFiles", "/outputFiles", "/archiveOnSuccess", "/skipIf/command", "/expect/command", "/terminateOn"} {
		in.At(field).EachText(func(n *jsonshape.Node, pointer func() string) {
			if found, variable := h.known.First(n.Text); found != "" && !strings.HasSuffix(pointer(), "/copy/from") { // which does not exist
				h.report(out, p.pointer+field+pointer(), "placeholder-literal", "write what it stands for: paths here are in the workspace, and a process has its value in "+variable, "%s is not replaced here", found)
			}
		})
	}
}

func (h *Hank) textIsEmpty(pointer string) bool {
	n := h.doc.At(pointer)
	return n != nil && n.Kind == '"' && n.Text == ""
}

func (h *Hank) codonRules(p place, out *diagnostic.Reporter) {
	c := p.codon
	if c.RetryConfig != nil && c.OnFailure != Retry {
		h.report(out, p.pointer+"/retryConfig", "retry-config", "add it, or remove retryConfig", "retryConfig requires \"onFailure\": \"retry\"")
	}
	if c.MaxExtensions > 0 && c.ExhaustWithPrompt == "" {
		h.report(out, p.pointer+"/maxExtensions", "unused-extensions", "remove it, or add exhaustWithPrompt", "maxExtensions does nothing without exhaustWithPrompt")
	}
	for key, value := range c.Env {
		if key == "" || strings.ContainsAny(key, "=\x00") || strings.IndexByte(value, 0) >= 0 {
			h.report(out, p.pointer+"/env/"+jsonshape.Escape(key), "bad-value", "", "%q cannot be an environment variable", key)
		}
		h.fits(p.pointer+"/env/"+jsonshape.Escape(key), "the variable", len(key+"="+value), out)
	}
	for i, argument := range c.Exec {
		h.fits(fmt.Sprintf("%s/exec/%d", p.pointer, i), "the argument", len(argument), out)
	}
	if kind := c.Model.Kind(); kind.NamesProgram != (len(c.Exec) > 0) || kind.NamesProgram && c.Exec[0] != path.Base(c.Exec[0]) && !path.IsAbs(c.Exec[0]) {
		h.execRule(p, out)
	}
	if c.Model.Kind().RunsScript {
		h.dangerous(out, p.pointer+"/promptText", c.PromptText)
		h.dangerous(out, p.pointer+"/exhaustWithPrompt", c.ExhaustWithPrompt)
	}
}

// execRule reports a program that a codon does not name, cannot name, or has no use for.
func (h *Hank) execRule(p place, out *diagnostic.Reporter) {
	switch c := p.codon; {
	case len(c.Exec) == 0:
		h.report(out, p.pointer+"/model", "exec-program", `add "exec": ["PROGRAM"]`, "%q has the model %s, and names no program for it", c.ID, c.Model)
	case c.Model.Kind().NamesProgram:
		h.report(out, p.pointer+"/exec/0", "exec-program", "name one on the PATH, or its whole path", "%q is neither the name of a program nor an absolute path", c.Exec[0])
	case c.Model.Resolved():
		h.report(out, p.pointer+"/exec", "exec-unused", `name a model "exec/…", or remove exec`, "the model %s has an agent of its own: the program %q is not started", c.Model, c.Exec[0])
	}
}

func (h *Hank) rigRules(p place, out *diagnostic.Reporter) {
	targets := map[string]bool{}
	for i, r := range p.codon.RigSetup {
		at := fmt.Sprintf("%s/rigSetup/%d", p.pointer, i)
		if r.Copy != nil && r.Copy.To != "" {
			if why := steps.BadTarget(r.Copy.To); why != "" {
				h.report(out, at+"/copy/to", "bad-target", "name the whole target, relative to the workspace", "%q %s", r.Copy.To, why)
			} else if why := steps.TooLong(r.Copy.To); why != "" && !r.AllowFailure && !out.AnyIDs {
				h.report(out, at+"/copy/to", "bad-target", "", "%s", why)
			}
			to := path.Clean(r.Copy.To)
			if targets[to] {
				h.report(out, at+"/copy/to", "target-twice", "remove one of the two, or give it another target", "%q is the target of an earlier copy too; that one is replaced", to)
			}
			targets[to] = true
		}
		if r.Command != nil {
			h.commandRules(at, r.Command.Run, out)
		}
	}
	for i, o := range p.codon.OutputFiles {
		for j, r := range o.BeforeCopy {
			if r.Command != nil {
				h.commandRules(fmt.Sprintf("%s/outputFiles/%d/beforeCopy/%d", p.pointer, i, j), r.Command.Run, out)
			}
		}
	}
}

func (h *Hank) commandRules(at, run string, out *diagnostic.Reporter) {
	if run != "" && strings.TrimSpace(run) == "" {
		h.report(out, at+"/command/run", "bad-value", "", "the command is blank")
	}
	h.dangerous(out, at+"/command/run", run)
	h.fits(at+"/command/run", "the command", len(run), out)
}

// maxArgument is the longest argument, or variable with its name, that Linux gives a process
// (MAX_ARG_STRLEN with its NUL).
const maxArgument = 32*4096 - 1

// fits reports what no process can be given.
func (h *Hank) fits(pointer, what string, size int, out *diagnostic.Reporter) {
	if size > maxArgument && !out.AnyIDs { // what is stored has been taken
		h.report(out, pointer, "too-long", "put it into a file", "%s has %d bytes, and one argument or variable of a process may have %d", what, size, maxArgument)
	}
}

func (h *Hank) dangerous(out *diagnostic.Reporter, pointer, command string) {
	if found := steps.Destroyer(command); found != "" {
		h.report(out, pointer, "dangerous-command", "commands run with your rights, and not only in the workspace", "%s looks dangerous", jsonshape.Quote(strings.TrimSpace(found)))
	}
}

// patternRules checks the patterns of a codon.
func (h *Hank) patternRules(at string, c *Codon, out *diagnostic.Reporter) {
	h.patterns(at+"/checkpointedFiles", c.CheckpointedFiles, out)
	for i, o := range c.OutputFiles {
		h.patterns(fmt.Sprintf("%s/outputFiles/%d/copy", at, i), o.Copy, out)
	}
	h.patterns(at+"/archiveOnSuccess", c.ArchiveOnSuccess, out)
}

func (h *Hank) patterns(list string, patterns []string, out *diagnostic.Reporter) {
	for i, text := range patterns {
		h.pattern(fmt.Sprintf("%s/%d", list, i), text, text, out)
	}
}

// pattern judges what a pattern becomes when its placeholders are replaced.
func (h *Hank) pattern(pointer, text, becomes string, out *diagnostic.Reporter) {
	plain := strings.TrimPrefix(becomes, "!")
	switch {
	case text == "":
	case !pattern.Inside(plain):
		h.report(out, pointer, "bad-path", "patterns are relative to the workspace", "%s is not inside the workspace", jsonshape.Quote(text))
	case !pattern.Valid(plain):
		h.report(out, pointer, "bad-glob", pattern.Hint, "%s is not a pattern", jsonshape.Quote(text))
	case steps.NoName(becomes) != "" && !out.AnyIDs: // what is stored has been taken
		h.report(out, pointer, "bad-path", "", "the pattern gives no file: %s", steps.NoName(becomes))
	}
}

// idleChecks reports commands before a copy that is made nowhere, as far as is known now:
// --output may name a directory.
func (h *Hank) idleChecks(s config.Settings, out *diagnostic.Reporter) {
	if s.OutputDirectory != "" || s.ChecksOutputs() {
		return
	}
	for _, p := range h.places {
		if p.codon == nil {
			continue
		}
		for i, o := range p.codon.OutputFiles {
			if len(o.BeforeCopy) > 0 {
				h.report(out, fmt.Sprintf("%s/outputFiles/%d/beforeCopy", p.pointer, i), "before-copy-idle", "name an output directory with --output, or set checkOutputs",
					"beforeCopy of codon %q is not run where there is no output directory", p.codon.ID)
			}
		}
	}
}
