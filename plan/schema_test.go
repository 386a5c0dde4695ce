package plan

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"hank/plan/diagnostic"
	"hank/plan/fields"
	"hank/plan/jsonshape"
)

var update = flag.Bool("update", false, "write the schemas in docs/schema anew")

func TestPublishedSchemasAreCurrent(t *testing.T) {
	t.Parallel()
	for _, published := range fields.Schemas() {
		schema := published.Text
		file := filepath.Join("..", "docs", "schema", published.Name+".schema.json")
		if *update {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, schema, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(readFile(t, file), schema) {
			t.Errorf("%s is not what the code says: go test ./plan -update", file)
		}
	}
}

// An editor shows what a field is for when the pointer is on it.
func TestEveryFieldOfASchemaHasAText(t *testing.T) {
	t.Parallel()
	for _, published := range fields.Schemas() {
		var walk func(at string, v any)
		count := 0
		walk = func(at string, v any) {
			switch v := v.(type) {
			case map[string]any:
				if members, ok := v["properties"].(map[string]any); ok {
					for name, member := range members {
						count++
						if text, _ := member.(map[string]any)["description"].(string); len(text) < 2 {
							t.Errorf("%s: %s/%s has no text", published.Name, at, name)
						}
					}
				}
				for name, kid := range v {
					walk(at+"/"+name, kid)
				}
			case []any:
				for i, kid := range v {
					walk(fmt.Sprintf("%s/%d", at, i), kid)
				}
			}
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(published.Text))
		if err != nil {
			t.Fatal(err)
		}
		walk("", doc)
		if id, _ := doc.(map[string]any)["$id"].(string); id != published.ID || count < 5 {
			t.Errorf("%s: id %q, %d fields", published.Name, id, count)
		}
	}
}

// schemaOf is a published schema.
func schemaOf(name string) []byte {
	for _, s := range fields.Schemas() {
		if s.Name == name {
			return s.Text
		}
	}
	return nil
}

func compile(t testing.TB, schema []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func validate(s *jsonschema.Schema, data []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return err
	}
	return s.Validate(v)
}

// fieldRules are the rules that a schema can know.
var fieldRules = []string{"unknown-field", "missing-field", "wrong-type", "bad-value", "bad-id"}

// fieldErrors is what the check of the table alone finds in a file.
func fieldErrors(data []byte) []diagnostic.Diagnostic {
	var out diagnostic.Reporter
	doc := jsonshape.Read("hank.json", data, out.Problem)
	out.Check(doc, fields.Hank)
	return slices.DeleteFunc(out.List, func(d diagnostic.Diagnostic) bool { return !slices.Contains(fieldRules, d.Rule) })
}

// Schema and check are made from one table: they must judge alike.
func agree(t testing.TB, s *jsonschema.Schema, data []byte) {
	t.Helper()
	ds, err := fieldErrors(data), validate(s, data)
	if len(ds) == 1 && strings.Contains(ds[0].Message, "too large") {
		return // a schema's numbers have no end
	}
	if (len(ds) > 0) != (err != nil) {
		t.Errorf("check: %s\nschema: %v\nfile: %s", diagnostic.Text(ds), err, data)
	}
}

func TestSchemaAndCheckAgreeOnHanks(t *testing.T) {
	t.Parallel()
	s := compile(t, schemaOf("hank"))
	files, err := filepath.Glob("../fixtures/*/hank.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(files, "testdata/full/hank.json") {
		data := readFile(t, name)
		if err := validate(s, data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		agree(t, s, data)
	}
	for _, b := range brokenHanks {
		if strings.HasPrefix(b.want, "syntax") || slices.Contains([]string{"byte-order-mark", "comment", "trailing-comma", "trailing-data", "duplicate-field"}, b.want) {
			continue
		}
		agree(t, s, []byte(b.hank))
	}
	config := compile(t, schemaOf("sentinel"))
	if err := validate(config, readFile(t, "testdata/full/sentinels/narrator.json")); err != nil {
		t.Error(err)
	}
	settings := compile(t, schemaOf("hankweave"))
	if validate(settings, []byte(`{"port": 80, "model": "x"}`)) != nil || validate(settings, []byte(`{"prot": 80}`)) == nil {
		t.Error("the schema of hankweave.json judges wrongly")
	}
}

// A hank with random damage is wrong for both or for none.
func TestSchemaAndCheckAgreeOnDamage(t *testing.T) {
	t.Parallel()
	s := compile(t, schemaOf("hank"))
	full := readFile(t, "testdata/full/hank.json")
	rapid.Check(t, func(t *rapid.T) {
		root, err := readNode(full)
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 2).Draw(t, "damages") {
			damage(t, root)
		}
		data := root.Sound()
		ds, err := fieldErrors(data), validate(s, data)
		if (len(ds) > 0) != (err != nil) {
			t.Fatalf("check: %s\nschema: %v\nfile: %s", diagnostic.Text(ds), err, data)
		}
	})
}

// damage changes one value or name somewhere in the tree.
func damage(t *rapid.T, root *jsonshape.Node) {
	var all []*jsonshape.Node
	var collect func(n *jsonshape.Node)
	collect = func(n *jsonshape.Node) {
		all = append(all, n)
		for i := range n.Kids {
			collect(&n.Kids[i])
		}
	}
	collect(root)
	n := all[rapid.IntRange(0, len(all)-1).Draw(t, "node")]
	if n.Kind == '{' && len(n.Names) > 0 && rapid.Bool().Draw(t, "name") {
		i := rapid.IntRange(0, len(n.Names)-1).Draw(t, "which")
		to := rapid.SampledFrom([]string{"x", "id", "type", "name", "limit", "run"}).Draw(t, "to")
		if n.Step(to) == nil {
			n.Names[i].Text = to
		}
		return
	}
	*n = rapid.SampledFrom([]jsonshape.Node{
		{Kind: 'n'}, {Kind: 't'}, {Kind: '0', Text: "0"}, {Kind: '0', Text: "1.5"}, {Kind: '0', Text: "-1"}, {Kind: '0', Text: "1e3"}, {Kind: '0', Text: "1801"},
		{Kind: '"'}, {Kind: '"', Text: " "}, {Kind: '"', Text: "loop"}, {Kind: '"', Text: "fresh"}, {Kind: '"', Text: "a/b"}, {Kind: '['}, {Kind: '{'},
		{Kind: '[', Kids: []jsonshape.Node{{Kind: '"', Text: "x"}}},
	}).Draw(t, "value")
}
