package plan

import (
	"path"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hank/plan/fields"
	"hank/plan/jsonshape"
	"hank/plan/trigger"
)

// sentinel checks the configuration of a sentinel and reads its files.
func (l *loader) sentinel(pointer string, s Sentinel, ids map[string]bool) {
	doc, at, base := l.hank.doc, pointer, "."
	if ref := s.ref(); ref != "" {
		name, text, ok := l.text(doc, pointer, ".", ref, l.mostOfDocument())
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
	if !l.out.AnyIDs { // what is frozen ran with what it says
		trigger.Check(at+"/trigger", doc.At(at+"/trigger"), func(pointer, rule, hint, message string) { l.report(doc, pointer, rule, hint, "%s", message) })
	}
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
