package plan

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"hank/internal/secret"
	"hank/plan/config"
	"hank/plan/diagnostic"
	"hank/plan/frontmatter"
	"hank/plan/model"
	"hank/plan/tree"
)

// Load reads a hank and everything that it refers to, and reports everything
// that is wrong. name is the file's name in the directory of the hank, normally
// hank.json. The Program is nil if one of the diagnostics is an error.
func Load(dir HankDir, name string) (*Program, []diagnostic.Diagnostic) {
	return LoadWith(dir, name, config.Layers{})
}

// LoadWith is Load under the settings of the layers around the hank.
func LoadWith(dir HankDir, name string, layers config.Layers) (*Program, []diagnostic.Diagnostic) {
	models := layers.Models
	if models == nil {
		models = model.Default
	}
	l := &loader{source: tree.Live{Dir: dir}, lookup: func(name string) (model.Ref, error) { return model.Lookup(models, name) }}
	return l.program(name, layers)
}

// program loads the program under the settings of layers.
func (l *loader) program(name string, layers config.Layers) (*Program, []diagnostic.Diagnostic) {
	l.files, l.copies, l.stats = map[string]*loadedFile{}, map[string]*Source{}, map[string]stated{}
	l.out.AnyIDs = layers.AnyIDs || l.frozen
	data, wrong := l.hankFile(name)
	if wrong != nil {
		return nil, []diagnostic.Diagnostic{*wrong}
	}
	h := parse(name, data, &l.out)
	if h == nil {
		return nil, l.out.Sorted(name)
	}
	l.hank = h
	inHank := make(chan map[string]int, 1)
	if !l.frozen { // what is stored is stored
		go func() { inHank <- secretTexts(h.doc) }() // it takes a tenth of the time
	}
	p := &Program{Hank: h, Name: name, Settings: layers.Merge(h.Overrides.Settings()), Model: layers.Flags.Model, texts: map[string]string{}, sources: l.copies, models: map[string]model.Ref{}}
	l.lookup = p.choose(l.lookup)
	h.resolve(overrideFrom(layers, h), l.lookup, &l.out)
	h.structure(&l.out)
	l.references()
	if !l.out.AnyIDs {
		l.misplaced()
	}
	if !l.frozen { // what is stored has been said
		h.priceRules(p.Settings, layers.Limited, func(*Codon) bool { return true }, &l.out)
		h.idleChecks(p.Settings, &l.out)
		config.CheckSentinels(h.doc, "/overrides/sentinel", &l.out)
		l.secrets(name, <-inHank)
	}
	if diagnostic.HasErrors(l.out.List) {
		return nil, l.out.Sorted(name)
	}
	p.index()
	for path, f := range l.files {
		p.texts[path] = frontmatter.WithoutMark(f.text)
	}
	p.noteProgressFiles()
	p.Files = l.all()
	return p, l.out.Sorted(name)
}

// index fills the maps of codons and loops, and masks what a person is asked at a gate.
func (p *Program) index() {
	p.loops, p.codons = map[CodonID]*Loop{}, map[CodonID]*Codon{}
	for _, at := range p.Hank.places {
		if g := at.gate(); g != nil {
			g.Summary = secret.Text(g.Summary)
		}
		if at.loop != nil {
			p.loops[at.loop.ID] = at.loop
		} else {
			p.codons[at.codon.ID] = at.codon
		}
	}
	p.digests = sync.OnceValue(p.collectDigests)
}

// references reads everything that the hank refers to.
func (l *loader) references() {
	h, ids := l.hank, make(map[CodonID]map[string]bool, len(l.hank.places))
	l.prompts(h.doc, "/globalSystemPromptFile", ".", h.GlobalSystemPromptFile, agentPrompt)
	for _, p := range h.places {
		if p.codon == nil {
			continue
		}
		c := p.codon
		l.prompts(h.doc, p.pointer+"/promptFile", ".", c.PromptFile, kindOfPrompt(c))
		l.prompts(h.doc, p.pointer+"/appendSystemPromptFile", ".", c.AppendSystemPromptFile, agentPrompt)
		for i, r := range c.RigSetup {
			if r.Copy != nil {
				l.copySource(fmt.Sprintf("%s/rigSetup/%d/copy/from", p.pointer, i), r.Copy.From)
			}
		}
		ids[c.ID] = make(map[string]bool, len(c.Sentinels))
		for i, s := range c.Sentinels {
			l.sentinel(fmt.Sprintf("%s/sentinels/%d", p.pointer, i), s, ids[c.ID])
		}
	}
	l.voters(ids)
	if !l.out.AnyIDs { // what is stored has been taken
		l.copyTargets()
	}
}

// choose looks models up and keeps what was found.
func (p *Program) choose(lookup func(string) (model.Ref, error)) func(string) (model.Ref, error) {
	return func(name string) (model.Ref, error) {
		ref, err := lookup(name)
		if err == nil {
			p.models[name] = ref
		}
		return ref, err
	}
}

// overrideFrom is the model that all codons use, and who says so.
func overrideFrom(l config.Layers, h *Hank) override {
	switch own := overrideOf(h); {
	case l.Flags.Model != "":
		return override{model: l.Flags.Model, source: diagnostic.CommandLine}
	case l.Env.Model != "":
		return override{model: l.Env.Model, source: diagnostic.Environment}
	case own.model != "":
		return own
	}
	if l.Document == nil {
		return override{model: l.File.Model, source: "hankweave.json"}
	}
	return override{model: l.File.Model, pointer: "/model", doc: l.Document}
}

// ModelSource names the setting that gives all codons of a hank their model; empty
// if none does, and each has its own.
func ModelSource(l config.Layers, h *Hank) string {
	switch over := overrideFrom(l, h); {
	case over.model == "":
		return ""
	case l.Flags.Model != "":
		return "--model"
	case l.Env.Model != "":
		return "HANKWEAVE_RUNTIME_MODEL"
	case over.pointer != "" && over.doc == nil:
		return "overrides.model"
	}
	return `"model" in hankweave.json (or the file that --config names)`
}

// hankFile reads the file of the hank itself.
func (l *loader) hankFile(name string) ([]byte, *diagnostic.Diagnostic) {
	problem := func(message, hint string) ([]byte, *diagnostic.Diagnostic) {
		return nil, &diagnostic.Diagnostic{Severity: diagnostic.Error, Rule: "missing-file", File: name, Message: message, Hint: hint}
	}
	if !fs.ValidPath(name) {
		return problem("the name is not a plain relative path", "")
	}
	info, err := l.source.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		hint := "create one with: hank init"
		if _, err := l.source.Stat("strand.json"); err == nil {
			hint = "there is a strand.json; name it on the command line"
		}
		return problem("file not found", hint)
	}
	if err != nil {
		return problem(err.Error(), "")
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return problem("is a symbolic link", "name the file that it leads to, if there is one")
	}
	if rule, why := unfit(info, l.mostOfDocument()); rule != "" {
		return problem(why, "")
	}
	f := l.read(name, info)
	if !f.ok {
		return problem(f.text, "")
	}
	return []byte(f.text), nil
}
