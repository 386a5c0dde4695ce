package plan

import (
	"fmt"
	"path"
	"slices"

	"github.com/go-json-experiment/json"

	"hank/plan/fields"
	"hank/plan/jsonshape"
	"hank/plan/loop"
	"hank/plan/model"
	"hank/plan/sentinel"
	"hank/plan/trigger"
)

// SentinelConfig is the configuration of a sentinel, and the model that it names. The error
// says why it cannot run.
func (p *Program) SentinelConfig(s Sentinel) (*sentinel.Config, model.Ref, error) {
	text, file := string(s.Config), s.ref()
	if file != "" {
		file = path.Clean(file)
		text = p.texts[file]
	}
	c, err := sentinel.Parse([]byte(text), s.Settings, file, func(name string) (string, error) { return p.texts[name], nil })
	if err != nil {
		return nil, model.Ref{}, err
	}
	return c, p.models[c.Model], nil
}

// SentinelModel is the id of a sentinel and the model that it names, of one that can be read: what
// SentinelConfig reads besides takes a hundred times as long.
func (p *Program) SentinelModel(s Sentinel) (id string, ref model.Ref) {
	text := string(s.Config)
	if file := s.ref(); file != "" {
		text = p.texts[path.Clean(file)]
	}
	var config struct {
		ID    string `json:"id"`
		Model string `json:"model"`
	}
	_ = json.Unmarshal([]byte(text), &config) // it was read before
	return config.ID, p.models[config.Model]
}

// SentinelVotes reports whether the loop of an entry asks a sentinel whether it stops.
func (p *Program) SentinelVotes(e Entry, id string) bool {
	if e.LoopContext == nil || p.Loop(e.LoopContext.LoopID) == nil {
		return false
	}
	return slices.ContainsFunc(p.Loop(e.LoopContext.LoopID).TerminateOn.Members(), func(r loop.Rule) bool { return r.Vote == loop.BySentinel && r.Sentinel == id })
}

// sentinel checks a sentinel and reads its files. ids are those of the codon so far.
func (l *loader) sentinel(pointer string, s Sentinel, ids map[string]bool) {
	doc, at, base := l.hank.doc, pointer+"/sentinelConfig", "."
	if ref := s.ref(); ref != "" {
		name, text, ok := l.text(doc, at, ".", ref, l.mostOfDocument())
		if !ok {
			return
		}
		config := jsonshape.Read(name, []byte(text), l.out.Problem)
		if config.Root == nil {
			return
		}
		l.out.Check(config, fields.Sentinel)
		doc, at, base = config, "", path.Dir(name)
	}
	n := doc.At(at)
	if n == nil || n.Kind != '{' || n.Bad {
		return
	}
	report := func(doc *jsonshape.Document) sentinel.Report {
		return func(pointer, rule, hint, message string) { l.report(doc, pointer, rule, hint, "%s", message) }
	}
	lookup := func(name string) (rule, hint string, err error) {
		ref, err := l.lookup(name)
		if err != nil {
			rule, hint = modelProblem(err)
		} else if ref.Kind().RunsScript && !l.out.AnyIDs {
			rule, err = "sentinel-model", fmt.Errorf("%q is no model that a sentinel can ask", name)
		}
		return rule, hint, err
	}
	c, err := sentinel.Check(at, n, lookup, l.out.AnyIDs, report(doc))
	if err != nil {
		l.report(doc, at, "syntax", "", "%v", err)
		return
	}
	if c.ID != "" && ids[c.ID] {
		l.report(l.hank.doc, pointer+"/sentinelConfig", "sentinel-duplicate", "", "the codon has a sentinel %q already", c.ID)
	}
	ids[c.ID] = true
	l.prompts(doc, at+"/systemPromptFile", base, Refs(c.SystemPromptFile), sentinelPrompt)
	l.prompts(doc, at+"/userPromptFile", base, Refs(c.UserPromptFile), sentinelPrompt)
	if o := c.StructuredOutput; o != nil && o.SchemaFile != "" {
		if name, text, ok := l.text(doc, at+"/structuredOutput/schemaFile", base, o.SchemaFile, l.mostOfDocument()); ok && !l.out.AnyIDs {
			file := &jsonshape.Document{File: name, Data: []byte(text)}
			sentinel.CheckSchema(text, func(offset int, pointer, rule, hint, message string) {
				l.out.At(file, offset, pointer, rule, message, hint)
			})
		}
	}
	if !l.out.AnyIDs { // what is frozen ran with what it says
		trigger.Check(at+"/trigger", doc.At(at+"/trigger"), trigger.Report(report(doc)))
		sentinel.CheckUse(pointer+"/settings", l.hank.doc.At(pointer+"/settings"), c, report(l.hank.doc))
	}
}

// voters reports sentinels that a loop asks and none of its codons has. ids are the
// sentinels of each codon.
func (l *loader) voters(ids map[CodonID]map[string]bool) {
	for _, p := range l.hank.places {
		if p.loop == nil {
			continue
		}
		for _, r := range p.loop.TerminateOn.Members() {
			if r.Vote == loop.BySentinel && !slices.ContainsFunc(p.loop.Codons, func(c Codon) bool { return ids[c.ID][r.Sentinel] }) {
				l.report(l.hank.doc, p.pointer+"/terminateOn", "judge-unknown", `name it in "sentinel"`, "%q is no sentinel of a codon of loop %q", r.Sentinel, p.loop.ID)
			}
		}
	}
}
