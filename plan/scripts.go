package plan

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"hank/plan/diagnostic"
	"hank/plan/frontmatter"
	"hank/plan/jsonshape"
	"hank/plan/loop"
)

// Script is a text of a hank that sh is given.
type Script struct {
	Pointer string  // of the field that has it
	Command bool    // a command of a rig, a check or a rule, and not the script of a codon
	Owner   CodonID // the codon or loop
	*ScriptText
}

// ScriptText is one for all codons that have the same files, however many there are.
type ScriptText struct {
	Text  string   // with the values of variables, and a word in place of each other placeholder
	Files []string // whose texts are joined in it; none if it is in hank.json
	parts []string // the texts of Files
}

// Place is a line of a script as the author has it: in a file, or, without any, in hank.json.
func (s Script) Place(line int) (file string, at int) {
	at = line
	for i, name := range s.Files {
		if before := strings.Count(frontmatter.Join(append(slices.Clone(s.parts[:i]), "x")), "\n"); s.parts[i] != "" && before < line {
			file, at = name, line-before
		}
	}
	return file, at
}

// Scripts are all texts that sh is given and whose failure is not allowed, in the order
// of the hank.
func (p *Program) Scripts() (all []Script) {
	all = make([]Script, 0, len(p.Hank.places))
	joined := map[string]*ScriptText{}
	add := func(at place, pointer, text string, command bool) {
		if text != "" {
			all = append(all, Script{at.pointer + pointer, command, at.id(), &ScriptText{Text: text}})
		}
	}
	command := func(at place, pointer, run string) { add(at, pointer, run, true) }
	rigs := func(at place, pointer string, rigs []Rig) {
		for i, r := range rigs {
			if r.Command != nil && !r.AllowFailure {
				command(at, fmt.Sprintf("%s/%d/command/run", pointer, i), r.Command.Run)
			}
		}
	}
	for _, at := range p.Hank.places {
		if at.loop != nil {
			for i, r := range append([]loop.Rule{at.loop.TerminateOn}, at.loop.TerminateOn.Of...) {
				pointer := "/terminateOn/until"
				if i > 0 {
					pointer = fmt.Sprintf("/terminateOn/of/%d/until", i-1)
				}
				command(at, pointer, r.Until)
			}
			continue
		}
		c := at.codon
		rigs(at, "/rigSetup", c.RigSetup)
		for i, o := range c.OutputFiles {
			rigs(at, fmt.Sprintf("/outputFiles/%d/beforeCopy", i), o.BeforeCopy)
		}
		if c.SkipIf != nil && c.SkipIf.Command != nil {
			command(at, "/skipIf/command/run", c.SkipIf.Command.Run)
		}
		if c.Expect != nil && c.Expect.Command != nil {
			command(at, "/expect/command/run", c.Expect.Command.Run)
		}
		if !c.Model.Kind().RunsScript {
			continue
		}
		if len(c.PromptFile) == 0 {
			add(at, "/promptText", p.Hank.known.Blank(c.PromptText, "x"), false)
		} else if parts, err := p.read(c, c.PromptFile); err == nil { // the program has all files that it loaded
			key := strings.Join(c.PromptFile, "\x00")
			if joined[key] == nil {
				joined[key] = &ScriptText{p.Hank.known.Blank(frontmatter.Join(parts), "x"), slices.Clone(c.PromptFile), parts}
				for i, name := range c.PromptFile {
					joined[key].Files[i] = path.Clean(name)
				}
			}
			all = append(all, Script{at.pointer + "/promptFile", false, c.ID, joined[key]})
		}
		add(at, "/exhaustWithPrompt", p.Hank.known.Blank(c.ExhaustWithPrompt, "x"), false)
	}
	return all
}

// Diagnose makes a diagnostic of what others have found out about the program, at a JSON
// pointer of the hank.
func (p *Program) Diagnose(pointer, rule, hint, message string) diagnostic.Diagnostic {
	var out diagnostic.Reporter
	p.Hank.report(&out, pointer, rule, hint, "%s", message)
	return out.List[0]
}

// DiagnoseFile is Diagnose at a line of a file that the hank refers to.
func (p *Program) DiagnoseFile(file string, line int, rule, hint, message string) diagnostic.Diagnostic {
	var out diagnostic.Reporter
	text, at := p.texts[file], 0
	for ; line > 1; line-- {
		n := strings.IndexByte(text[at:], '\n')
		if n < 0 {
			break
		}
		at += n + 1
	}
	out.At(&jsonshape.Document{File: file, Data: []byte(text)}, at, "", rule, message, hint)
	return out.List[0]
}

// EachCodon calls do for each codon, those in loops once, with its JSON pointer.
func (h *Hank) EachCodon(do func(pointer string, c *Codon)) {
	for _, at := range h.places {
		if at.codon != nil {
			do(at.pointer, at.codon)
		}
	}
}
