package harness

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// mainArguments are the fields of a tool's input that show best what it does,
// the best first. Where none is there the first text does.
var mainArguments = []string{"command", "file_path", "notebook_path", "path", "pattern", "query", "url", "subject", "description", "prompt"}

// String is the tool with its main argument, as in "Bash: go vet ./...".
func (t ToolUse) String() string {
	if argument := t.Argument(); argument != "" {
		return t.Name + ": " + argument
	}
	return t.Name
}

// Argument is the text of the tool's input that shows best what it does; empty if it
// has no text.
func (t ToolUse) Argument() string {
	var input map[string]jsontext.Value
	if json.Unmarshal(t.Input, &input) != nil {
		return ""
	}
	names := slices.Clone(mainArguments)
	for name := range input {
		names = append(names, name)
	}
	slices.Sort(names[len(mainArguments):])
	for _, name := range names {
		var text string
		if json.Unmarshal(input[name], &text) == nil && strings.TrimSpace(text) != "" {
			return strings.TrimSpace(text)
		}
	}
	return ""
}
