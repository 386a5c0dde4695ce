package plan

import (
	"fmt"
	"path"

	"hank/plan/frontmatter"
	"hank/plan/kind"
	"hank/plan/variables"
)

// systemFits reports a system prompt that is too long for the agent of a codon, or for that of a
// fallback, because that is given it as an argument. parts are its texts; comments may go from one
// to another, and between two is a blank line: what may be too long is put together.
func (l *loader) systemFits(p place, parts []variables.Measured, read func(file string) string) {
	c, facts := p.codon, variables.Facts{Codon: string(p.codon.ID), Declared: l.hank.Variables}
	is := func(at, what string, of kind.Harness) bool {
		if !of.SystemArgument {
			return false
		}
		around := aroundSystem(of)
		limit := maxArgument - around
		if variables.Longer(parts, facts, limit-2*len(parts), of.SystemSetting != "") == 0 {
			return false
		}
		var texts []string
		for _, files := range []struct {
			of  Refs
			own string
		}{{l.hank.GlobalSystemPromptFile, l.hank.GlobalSystemPromptText}, {c.AppendSystemPromptFile, c.AppendSystemPromptText}} {
			for _, file := range files.of {
				texts = append(texts, frontmatter.WithoutMark(read(path.Clean(file))))
			}
			texts = append(texts, files.own)
		}
		whole := []variables.Measured{variables.Measure(frontmatter.WithoutComments(frontmatter.Join(texts)))}
		size := variables.Longer(whole, facts, limit, of.SystemSetting != "")
		if size > 0 {
			l.hank.fits(at, what, size+around, &l.out)
		}
		return size > 0
	}
	if is(p.pointer, "the system prompt with the values of its placeholders", c.Model.Kind()) {
		return
	}
	for i, f := range c.Fallback {
		is(fmt.Sprintf("%s/fallback/%d", p.pointer, i), fmt.Sprintf("for the fallback %s, the system prompt with the values of its placeholders", f.Model), f.Model.Kind())
	}
}

// aroundSystem is how many bytes the argument of a system prompt has besides it.
func aroundSystem(of kind.Harness) int {
	if of.SystemSetting == "" {
		return 0
	}
	return len(of.SystemSetting) + len(`""`)
}

// SystemTooLong is how long the argument of an entry's system prompt would be with these values, if
// that is longer than an argument may be; 0: it is not, or the agent is given the prompt otherwise.
func (p *Program) SystemTooLong(e Entry, v Vars) int {
	resolved, err := p.Resolve(e)
	if err != nil || !resolved.Codon.Model.Kind().SystemArgument {
		return 0
	}
	system, _, _, err := p.Prompt(e, v)
	of := resolved.Codon.Model.Kind()
	size := variables.Longer([]variables.Measured{variables.Measure(system)}, Vars{}, maxArgument-aroundSystem(of), of.SystemSetting != "")
	if err != nil || size == 0 {
		return 0
	}
	return size + aroundSystem(of)
}
