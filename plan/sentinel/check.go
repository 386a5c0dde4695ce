package sentinel

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"

	"hank/internal/typo"
	"hank/plan/jsonshape"
)

// Report takes what is wrong at a JSON pointer.
type Report func(pointer, rule, hint, message string)

// Written is a configuration as far as its checks need it.
type Written struct{ document }

// Check reports what of a configuration at a pointer cannot work, beside its shape and what is
// in its files. lookup looks for a model, and says by which rule there is none. stored is
// set of one that has run before. The error says that it cannot be read.
func Check(at string, n *jsonshape.Node, lookup func(string) (rule, hint string, err error), stored bool, report Report) (c Written, err error) {
	if err := json.Unmarshal(n.Sound(), &c.document); err != nil {
		return c, err
	}
	has := func(name string) bool { return n.Member(name) != nil }
	if c.UserPromptText == "" && !has("userPromptFile") {
		report(at, "sentinel-prompt", "", fmt.Sprintf("sentinel %q needs userPromptFile or userPromptText", c.ID))
	}
	if has("conversational") && c.SystemPromptText == "" && !has("systemPromptFile") {
		report(at+"/conversational", "sentinel-prompt", "", "a conversational sentinel needs a system prompt")
	}
	if o := c.StructuredOutput; o != nil {
		switch {
		case o.Output == "enum" && len(o.EnumValues) == 0:
			report(at+"/structuredOutput", "sentinel-output", "", "output enum needs enumValues")
		case (o.Output == "object" || o.Output == "array") && (o.SchemaStr == "") == (o.SchemaFile == ""):
			report(at+"/structuredOutput", "sentinel-output", "", fmt.Sprintf("output %s needs one of schemaStr and schemaFile", o.Output))
		case o.SchemaStr != "" && !stored:
			CheckSchema(o.SchemaStr, func(_ int, pointer, rule, hint, message string) {
				if pointer != "" {
					message += ", at " + pointer + " in it"
				}
				report(at+"/structuredOutput/schemaStr", rule, hint, message)
			})
		}
		if c.Output.Format != "" {
			report(at+"/output/format", "sentinel-output", "", "format does not go with structuredOutput")
		}
		if c.JoinString != nil && !stored {
			report(at+"/joinString", "sentinel-output", "remove it: each answer is a line of JSON", "joinString is between text answers, and does not go with structuredOutput")
		}
	}
	if c.Model != "" {
		if rule, hint, err := lookup(c.Model); err != nil {
			report(at+"/model", rule, hint, err.Error())
		}
	}
	if stored {
		return c, nil
	}
	for _, t := range []struct{ field, text string }{{"systemPromptText", c.SystemPromptText}, {"userPromptText", c.UserPromptText}} {
		CheckTemplate(t.text, func(_ int, message, hint string) { report(at+"/"+t.field, "sentinel-template", hint, message) })
	}
	c.checkFile(at+"/output/file", c.Output.File, false, report)
	c.checkFile(at+"/output/lastValueFile", c.Output.LastValueFile, true, report)
	if params := n.Member("llmParams"); params != nil && params.Kind == '{' {
		checkParams(at+"/llmParams", params, report)
	}
	return c, nil
}

// CheckTemplate reports what of a prompt cannot be filled in.
func CheckTemplate(text string, report func(offset int, message, hint string)) {
	var wrong *TemplateError
	if _, err := parseTemplate(text); errors.As(err, &wrong) {
		report(wrong.Offset, wrong.Message, wrong.Hint)
	}
}

// CheckSchema reports what of a schema cannot be used, at an offset in bytes and at a pointer in it.
func CheckSchema(text string, report func(offset int, pointer, rule, hint, message string)) {
	parsed := sync.OnceValue(func() *jsonshape.Document {
		root, err := jsonshape.Parse([]byte(text))
		if err != nil { // it is no JSON, and the place is known
			root = nil
		}
		return &jsonshape.Document{Root: root}
	})
	at := func(pointer string) int { return parsed().Find(pointer) }
	var wrong *SchemaError
	_, root, err := parseSchema(text)
	if errors.As(err, &wrong) {
		report(cmp.Or(wrong.Offset, at(wrong.Pointer)), wrong.Pointer, "sentinel-schema", wrong.Hint, wrong.Message)
		return
	}
	withoutValues(root, func(pointer, hint, message string) { report(at(pointer), pointer, "sentinel-schema", hint, message) })
}

// CheckUse reports what of the settings of a codon for a sentinel cannot work.
func CheckUse(at string, n *jsonshape.Node, c Written, report Report) {
	if n == nil || n.Kind != '{' || n.Bad {
		return
	}
	var s Settings
	if json.Unmarshal(n.Sound(), &s) != nil {
		return
	}
	c.checkFile(at+"/outputPaths/logFile", s.OutputPaths.LogFile, false, report)
	c.checkFile(at+"/outputPaths/lastValueFile", s.OutputPaths.LastValueFile, true, report)
	for _, power := range []struct {
		name, word string
		given      bool
	}{{"mayStop", "stop", s.MayStop}, {"maySkip", "skip", s.MaySkip}} {
		o := c.StructuredOutput
		can := o != nil && (o.Output == "object" || o.Output == "enum" && slices.Contains(o.EnumValues, power.word))
		if power.given && !can {
			report(at+"/"+power.name, "sentinel-power", fmt.Sprintf(`give it structuredOutput: an enum with %q, or an object with "action"`, power.word),
				fmt.Sprintf("sentinel %q cannot answer %q: its answers are not data", c.ID, power.word))
		}
	}
}

// checkFile reports what is wrong with a path of an output.
func (c Written) checkFile(at, name string, last bool, report Report) {
	if name == "" {
		return
	}
	parts := strings.Split(name, "/")
	own := func(part string) bool {
		part = strings.ToLower(part)
		return part == ".git" || strings.HasPrefix(part, ".hankweave")
	}
	ext := strings.ToLower(path.Ext(name))
	switch {
	case strings.HasPrefix(name, "/") || slices.Contains(parts, "..") || strings.ContainsAny(name, "\\\x00") || strings.HasSuffix(name, "/") || path.Clean(name) == ".":
		report(at, "sentinel-output", "a path with a slash is relative to the workspace, a bare name is in the execution", fmt.Sprintf("%q does not stay inside of the execution", name))
	case slices.ContainsFunc(parts, own) || strings.EqualFold(parts[0], "read_only_data_source"):
		report(at, "sentinel-output", "choose another name", fmt.Sprintf("%q belongs to git or to hank", name))
	case c.StructuredOutput != nil && last && ext != ".json":
		report(at, "sentinel-output", "name it .json", fmt.Sprintf("%q gets JSON", name))
	case c.StructuredOutput != nil && !last && ext != ".jsonl" && ext != ".ndjson":
		report(at, "sentinel-output", "name it .jsonl or .ndjson", fmt.Sprintf("%q gets lines of JSON", name))
	}
}

// checkParams reports parameters that hank does not pass on.
func checkParams(at string, n *jsonshape.Node, report Report) {
	for _, name := range n.Names {
		if slices.Contains(paramNames, name.Text) {
			continue
		}
		hint := "the parameters are " + strings.Join(paramNames, ", ")
		if near := typo.Nearest(name.Text, paramNames); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		report(at+"/"+jsonshape.Escape(name.Text), "sentinel-parameter", hint, fmt.Sprintf("%q is not passed on", name.Text))
	}
}
