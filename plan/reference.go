package plan

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hank/internal/typo"
	"hank/plan/fields"
	"hank/plan/jsonshape"
)

// references reads everything that the hank refers to.
func (l *loader) references() {
	h := l.hank
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
		ids := map[string]bool{}
		for i, s := range c.Sentinels {
			l.sentinel(fmt.Sprintf("%s/sentinels/%d/sentinelConfig", p.pointer, i), s, ids)
		}
	}
}

// promptKind is what a prompt is for.
type promptKind int

const (
	agentPrompt promptKind = iota
	scriptPrompt
	sentinelPrompt // a template with rules of its own
)

func kindOfPrompt(c *Codon) promptKind {
	if c.Model.IsShell() {
		return scriptPrompt
	}
	return agentPrompt
}

// prompts reads prompt files and judges their text.
func (l *loader) prompts(doc *jsonshape.Document, pointer, base string, refs Refs, kind promptKind) {
	n := doc.At(pointer)
	for i, ref := range refs {
		at := pointer
		if n != nil && n.Kind == '[' {
			at = fmt.Sprintf("%s/%d", pointer, i)
		}
		name, text, ok := l.text(doc, at, base, ref, largestFile)
		if !ok {
			continue
		}
		inPrompt := &jsonshape.Document{File: name, Data: []byte(text)}
		promptText(text, func(rule, message string) { l.out.at(inPrompt, 0, "", rule, message, "") })
		if kind != sentinelPrompt && !l.out.anyIDs {
			unknownPlaceholders(text, kind == scriptPrompt, func(offset int, message, hint string) {
				l.out.at(inPrompt, offset, "", "unknown-placeholder", message, hint)
			})
		}
		if kind == agentPrompt {
			if _, _, problem := splitFrontmatter(text); problem != "" {
				l.out.at(inPrompt, 0, "", "frontmatter", problem, "")
			}
		}
	}
}

// report reports a rule at a JSON pointer of a document.
func (l *loader) report(doc *jsonshape.Document, pointer, rule, hint, message string, args ...any) {
	l.out.at(doc, doc.Find(pointer), pointer, rule, fmt.Sprintf(message, args...), hint)
}

// text reads the file that a reference names, if it has at most so many bytes. base is
// the directory that the reference is relative to.
func (l *loader) text(doc *jsonshape.Document, pointer, base, ref string, most int64) (name, text string, ok bool) {
	name, info, ok := l.reference(doc, pointer, base, ref)
	if !ok {
		return "", "", false
	}
	if rule, why := unfit(info, most); rule != "" {
		l.report(doc, pointer, rule, "", "%q %s", ref, why)
		return "", "", false
	}
	f := l.read(name, info)
	if !f.ok {
		l.report(doc, pointer, "unreadable-reference", "", "%q cannot be read: %s", ref, f.text)
	}
	return name, f.text, f.ok
}

// reference finds what a reference names: the path in the directory of the hank.
// A reference is a relative path with slashes that at no step of its spelling
// leaves that directory, and goes through no symbolic link inside of it.
func (l *loader) reference(doc *jsonshape.Document, pointer, base, ref string) (name string, info fs.FileInfo, ok bool) {
	why := badPath(ref)
	if why == "" || why == outside {
		why = badPath(base + "/" + ref)
	}
	if why == "" && isPlaceholder(ref) {
		why = "is written like a digest"
	}
	if why != "" {
		l.report(doc, pointer, "bad-reference", "paths are relative to the file that contains them, and must stay inside the directory of the hank", "%q %s", ref, why)
		return "", nil, false
	}
	name = path.Join(base, ref)
	at := "."
	for _, step := range strings.Split(name, "/") {
		at = path.Join(at, step)
		var err error
		if info, err = l.stat(at); err != nil {
			l.notFound(doc, pointer, ref, at, err)
			return "", nil, false
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			l.report(doc, pointer, "symlink-reference", "name the real path, or put the file itself there", "%q leads through the symbolic link %q", ref, at)
			return "", nil, false
		}
	}
	return name, info, true
}

func (l *loader) notFound(doc *jsonshape.Document, pointer, ref, at string, err error) {
	// A file in the middle of a path gives ENOTDIR, which is no ErrNotExist.
	if up, upErr := l.source.stat(path.Dir(at)); errors.Is(err, fs.ErrNotExist) || upErr == nil && !up.IsDir() {
		l.report(doc, pointer, "missing-reference", l.nearFile(at), "not found: %q", ref)
		return
	}
	l.report(doc, pointer, "unreadable-reference", "", "%q cannot be reached: %v", ref, err)
}

// nearFile suggests a file with nearly the same name.
func (l *loader) nearFile(missing string) string {
	entries, err := l.source.list(path.Dir(missing))
	if err != nil || len(entries) > 10000 {
		return ""
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if near := typo.Nearest(path.Base(missing), names); near != "" {
		return fmt.Sprintf("did you mean %q?", path.Join(path.Dir(missing), near))
	}
	return ""
}

// sentinel checks the configuration of a sentinel and reads its files.
func (l *loader) sentinel(pointer string, s Sentinel, ids map[string]bool) {
	doc, at, base := l.hank.doc, pointer, "."
	if ref := s.Ref(); ref != "" {
		name, text, ok := l.text(doc, pointer, ".", ref, l.mostOfDocument())
		if !ok {
			return
		}
		config := jsonshape.Read(name, []byte(text), l.out.problem)
		if config.Root == nil {
			return
		}
		l.out.check(config, fields.Sentinel)
		doc, at, base = config, "", path.Dir(name)
	}
	n := doc.At(at)
	if n == nil || n.Kind != '{' || n.Bad {
		return
	}
	var c sentinelConfig
	if err := json.Unmarshal(n.Sound(), &c); err != nil {
		l.report(doc, at, "syntax", "", "%v", err)
		return
	}
	if c.ID != "" && ids[c.ID] {
		l.report(l.hank.doc, pointer, "sentinel-duplicate", "", "the codon has a sentinel %q already", c.ID)
	}
	ids[c.ID] = true
	l.sentinelRules(doc, at, &c)
	l.prompts(doc, at+"/systemPromptFile", base, c.SystemPromptFile, sentinelPrompt)
	l.prompts(doc, at+"/userPromptFile", base, c.UserPromptFile, sentinelPrompt)
	if o := c.StructuredOutput; o != nil && o.SchemaFile != "" {
		l.text(doc, at+"/structuredOutput/schemaFile", base, o.SchemaFile, l.mostOfDocument())
	}
	l.triggerRules(doc, at+"/trigger", doc.At(at+"/trigger"))
}

// sentinelConfig is what the rules look at.
type sentinelConfig struct {
	ID               string         `json:"id"`
	Model            string         `json:"model"`
	SystemPromptFile Refs           `json:"systemPromptFile"`
	SystemPromptText string         `json:"systemPromptText"`
	UserPromptFile   Refs           `json:"userPromptFile"`
	UserPromptText   string         `json:"userPromptText"`
	Conversational   jsontext.Value `json:"conversational"`
	StructuredOutput *struct {
		Output     string   `json:"output"`
		SchemaStr  string   `json:"schemaStr"`
		SchemaFile string   `json:"schemaFile"`
		EnumValues []string `json:"enumValues"`
	} `json:"structuredOutput"`
	Output *struct {
		Format        string `json:"format"`
		File          string `json:"file"`
		LastValueFile string `json:"lastValueFile"`
	} `json:"output"`
}

func (l *loader) sentinelRules(doc *jsonshape.Document, at string, c *sentinelConfig) {
	if c.UserPromptText == "" && doc.At(at+"/userPromptFile") == nil {
		l.report(doc, at, "sentinel-prompt", "", "sentinel %q needs userPromptFile or userPromptText", c.ID)
	}
	if len(c.Conversational) > 0 && c.SystemPromptText == "" && doc.At(at+"/systemPromptFile") == nil {
		l.report(doc, at+"/conversational", "sentinel-prompt", "", "a conversational sentinel needs a system prompt")
	}
	if o := c.StructuredOutput; o != nil {
		switch {
		case o.Output == "enum" && len(o.EnumValues) == 0:
			l.report(doc, at+"/structuredOutput", "sentinel-output", "", "output enum needs enumValues")
		case (o.Output == "object" || o.Output == "array") && (o.SchemaStr == "") == (o.SchemaFile == ""):
			l.report(doc, at+"/structuredOutput", "sentinel-output", "", "output %s needs one of schemaStr and schemaFile", o.Output)
		}
		if c.Output != nil && c.Output.Format != "" {
			l.report(doc, at+"/output/format", "sentinel-output", "", "format does not go with structuredOutput")
		}
	}
	if c.Model != "" {
		if _, err := l.lookup(c.Model); err != nil {
			rule, hint := modelProblem(err)
			l.report(doc, at+"/model", rule, hint, "%v", err)
		}
	}
}
