package harness

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// mainArguments are the fields of a tool's input that show best what it does,
// the best first. Where none is there the first text does.
var mainArguments = []string{"command", "file_path", "notebook_path", "path", "pattern", "query", "url", "description", "prompt"}

// String is the tool with its main argument, as in "Bash: go vet ./...".
func (t ToolUse) String() string {
	var input map[string]jsontext.Value
	if json.Unmarshal(t.Input, &input) != nil {
		return t.Name
	}
	names := slices.Clone(mainArguments)
	for name := range input {
		names = append(names, name)
	}
	slices.Sort(names[len(mainArguments):])
	for _, name := range names {
		var text string
		if json.Unmarshal(input[name], &text) == nil && strings.TrimSpace(text) != "" {
			return t.Name + ": " + strings.TrimSpace(text)
		}
	}
	return t.Name
}
