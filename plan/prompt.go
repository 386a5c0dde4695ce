package plan

import (
	"fmt"
	"path"
	"strings"

	"hank/plan/frontmatter"
	"hank/plan/variables"
)

// Vars are the facts about an attempt that prompts can name. Those of the codon and its
// loop are put in by the program.
type Vars = variables.Facts

// Variables are what a codon is told: in its prompts by placeholders, and in the
// environment of its processes.
func (p *Program) Variables(e Entry, v Vars) Vars {
	v.Codon, v.Declared = string(e.CodonID), p.Hank.Variables
	if e.LoopContext != nil {
		v.Loop = &variables.Loop{Iteration: e.LoopContext.Iteration, ProgressFile: e.LoopContext.ProgressFile}
		if l := p.Loop(e.LoopContext.LoopID); l != nil {
			v.Loop.Limit = l.TerminateOn.Limit
		}
	}
	return v
}

// replacer replaces the placeholders of prompts.
func (p *Program) replacer(e Entry, v Vars) variables.Replacer {
	return variables.NewReplacer(p.Variables(e, v))
}

// Prompt puts the prompts of an entry together:
//
//  1. The user prompt is promptFile, or promptText if there is none. The front
//     matter of files is taken off; that of the first is returned.
//  2. The system prompt is the global one, then that of the codon. Front matter
//     stays there.
//  3. Several texts have a blank line between them.
//  4. HTML comments go, each with one newline after it.
//  5. Placeholders are replaced.
//
// The prompt of a shell codon is a script, which must arrive as it was written:
// for it steps 1 and 4 leave front matter and comments alone, and there is no
// system prompt.
func (p *Program) Prompt(e Entry, v Vars) (system, user string, meta frontmatter.Meta, err error) {
	if e, err = p.Resolve(e); err != nil {
		return "", "", meta, err
	}
	replace := p.replacer(e, v)
	if user, meta, err = p.user(e.Codon); err == nil {
		system, err = p.system(e.Codon)
	}
	if err != nil {
		return "", "", meta, err
	}
	return replace.Replace(system), replace.Replace(user), meta, nil
}

// user is the user prompt of a codon with its placeholders.
func (p *Program) user(c *Codon) (text string, meta frontmatter.Meta, err error) {
	parts := []string{c.PromptText}
	if len(c.PromptFile) > 0 {
		if parts, err = p.read(c, c.PromptFile); err != nil {
			return "", meta, err
		}
	}
	if c.Model.Kind().RunsScript {
		return frontmatter.Join(parts), meta, nil
	}
	if len(c.PromptFile) > 0 {
		for i := len(parts) - 1; i >= 0; i-- {
			meta, parts[i], _ = frontmatter.Split(parts[i])
		}
	}
	return frontmatter.WithoutComments(frontmatter.Join(parts)), meta, nil
}

// system is the system prompt of a codon with its placeholders.
func (p *Program) system(c *Codon) (string, error) {
	if c.Model.Kind().RunsScript {
		return "", nil
	}
	global, err := p.read(c, p.Hank.GlobalSystemPromptFile)
	if err != nil {
		return "", err
	}
	own, err := p.read(c, c.AppendSystemPromptFile)
	if err != nil {
		return "", err
	}
	systems := append(append(global, p.Hank.GlobalSystemPromptText), append(own, c.AppendSystemPromptText)...)
	return frontmatter.WithoutComments(frontmatter.Join(systems)), nil
}

// Sizes returns what measures the prompts of entries. It looks at equal ones once, and puts
// none together with the values of placeholders, which may be much longer.
func (p *Program) Sizes() func(e Entry) (system, user, more int, err error) {
	seen := map[string]variables.Measured{}
	return func(e Entry) (system, user, more int, err error) {
		if e, err = p.Resolve(e); err != nil {
			return 0, 0, 0, err
		}
		c, replace := e.Codon, p.replacer(e, Vars{})
		size := func(what string, files Refs, own string, text func() (string, error)) int {
			key := fmt.Sprintf("%s %t %d\x00%s\x00%s", what, c.Model.Kind().RunsScript, len(files), strings.Join(files, "\x00"), own)
			m, known := seen[key]
			if !known && err == nil {
				var whole string
				whole, err = text()
				m = variables.Measure(whole)
				seen[key] = m
			}
			bytes, _ := replace.Size(m)
			return bytes
		}
		user = size("user", c.PromptFile, c.PromptText, func() (string, error) { text, _, err := p.user(c); return text, err })
		system = size("system", c.AppendSystemPromptFile, c.AppendSystemPromptText, func() (string, error) { return p.system(c) })
		more = size("extension", nil, c.ExhaustWithPrompt, func() (string, error) { return extension(c), nil })
		return system, user, more, err
	}
}

// Extension is the prompt that is repeated until the context is full; empty
// if the codon has none. That of a script is a script, with its comments.
func (p *Program) Extension(e Entry, v Vars) (string, error) {
	e, err := p.Resolve(e)
	if err != nil {
		return "", err
	}
	return p.replacer(e, v).Replace(extension(e.Codon)), nil
}

func extension(c *Codon) string {
	if c.Model.Kind().RunsScript {
		return c.ExhaustWithPrompt
	}
	return frontmatter.WithoutComments(c.ExhaustWithPrompt)
}

// read returns the texts of files.
func (p *Program) read(c *Codon, refs Refs) ([]string, error) {
	var texts []string
	for _, ref := range refs {
		text, ok := p.texts[path.Clean(ref)]
		if !ok {
			return nil, fmt.Errorf("codon %q: the program has no file %q: the plan was made from another hank", c.ID, ref)
		}
		texts = append(texts, text)
	}
	return texts, nil
}
