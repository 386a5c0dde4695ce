package state

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// TestASchemaNumberNamesWhatIsRecorded fails when something new is recorded, so that
// nobody forgets to ask what an older hank makes of it. It keeps unknown members and
// ignores them. Where that would let it do something else than it should, raise
// SchemaVersion; state so in docs/decisions.md in either case.
func TestASchemaNumberNamesWhatIsRecorded(t *testing.T) {
	t.Parallel()
	all := map[string]bool{}
	for _, schema := range [][]byte{stateSchema(), eventSchema()} {
		var v any
		if err := json.Unmarshal(schema, &v); err != nil {
			t.Fatal(err)
		}
		collect(all, "", v)
	}
	text := fmt.Sprintf("schema %d\n%s\n", SchemaVersion, strings.Join(slices.Sorted(maps.Keys(all)), "\n"))
	const name = "testdata/members.txt"
	if *update {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for line := range strings.Lines(string(want)) {
		known[strings.TrimSpace(line)] = true
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); !known[line] {
			t.Errorf("%s is new. Would a hank that does not know it misread an execution? Then raise SchemaVersion. Decide, then: go test ./state -update", line)
		}
		delete(known, line)
	}
	for line := range known {
		t.Errorf("%s is gone, and executions have it", line)
	}
}

// collect adds the members, and the words that are allowed, of a JSON schema.
func collect(all map[string]bool, at string, schema any) {
	switch v := schema.(type) {
	case []any:
		for _, item := range v {
			collect(all, at, item)
		}
	case map[string]any:
		for key, sub := range v {
			switch key {
			case "properties", "$defs":
				for name, member := range sub.(map[string]any) {
					path := strings.TrimPrefix(at+"."+name, ".")
					if key == "$defs" {
						path = name
					}
					all[path] = true
					collect(all, path, member)
				}
			case "enum":
				for _, word := range sub.([]any) {
					all[fmt.Sprintf("%s = %v", at, word)] = true
				}
			case "const":
				all[fmt.Sprintf("%s = %v", at, sub)] = true
			default:
				collect(all, at, sub)
			}
		}
	}
}
