package sentinel

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestAnswersAreTakenAsTheSchemaSays(t *testing.T) {
	t.Parallel()
	const object = `{"type": "object", "properties": {"verdict": {"enum": ["fine", "stuck"]}, "n": {"type": "integer", "minimum": 1}}, "required": ["verdict"]}`
	for _, c := range []struct {
		s            Structure
		answer, want string // empty: it is refused
	}{
		{Structure{Output: "object", Schema: []byte(object)}, `{"verdict": "fine"}`, `{"verdict":"fine"}`},
		{Structure{Output: "object", Schema: []byte(object)}, "```json\n{\"verdict\": \"fine\", \"n\": 2}\n```", `{"n":2,"verdict":"fine"}`},
		{Structure{Output: "object", Schema: []byte(object)}, `{"verdict": "else"}`, ""},
		{Structure{Output: "object", Schema: []byte(object)}, `{"n": 1}`, ""},
		{Structure{Output: "object", Schema: []byte(object)}, `{"verdict": "fine", "n": 0}`, ""},
		{Structure{Output: "object", Schema: []byte(object)}, `fine`, ""},
		{Structure{Output: "object", Schema: []byte(object)}, `{"verdict": "fine"} and more`, ""},
		{Structure{Output: "object", Schema: []byte(object)}, ``, ""},
		{Structure{Output: "object", Schema: []byte(`{}`)}, `{"id": 9007199254740993, "big": 12345678901234567890123, "f": 1.10}`, `{"big":12345678901234567890123,"f":1.10,"id":9007199254740993}`},
		{Structure{Output: "array", Schema: []byte(`{"type": "integer"}`)}, `{"elements": [9007199254740993]}`, `[9007199254740993]`},
		{Structure{Output: "array", Schema: []byte(`{"type": "array"}`)}, `[9007199254740993, "<"]`, `[9007199254740993,"\u003c"]`},
		{Structure{Output: "enum", Values: []string{"fine", "stuck"}}, `{"result": "stuck"}`, `"stuck"`},
		{Structure{Output: "enum", Values: []string{"fine", "stuck"}}, `"fine"`, `"fine"`},
		{Structure{Output: "enum", Values: []string{"fine", "stuck"}}, `{"result": "x"}`, ""},
		{Structure{Output: "array", Schema: []byte(`{"type": "string"}`)}, `{"elements": ["a", "b"]}`, `["a","b"]`},
		{Structure{Output: "array", Schema: []byte(`{"type": "string"}`)}, `["a"]`, `["a"]`},
		{Structure{Output: "array", Schema: []byte(`{"type": "string"}`)}, `{"elements": ["a", 1]}`, ""},
		{Structure{Output: "array", Schema: []byte(`{"type": "array", "maxItems": 1, "items": {"type": "string"}}`)}, `{"elements": ["a"]}`, `["a"]`},
		{Structure{Output: "array", Schema: []byte(`{"type": "array", "maxItems": 1}`)}, `{"elements": ["a", "b"]}`, ""},
		{Structure{Output: "array", Schema: []byte(`{"type": "string"}`)}, `{"else": []}`, ""},
	} {
		if err := c.s.compile(); err != nil {
			t.Fatal(err)
		}
		got, err := c.s.Take(c.answer)
		if string(got) != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s %s: %s, %v", c.s.Output, c.answer, got, err)
		}
		if !strings.Contains(c.s.Instruction(), string(c.s.Asked())) || !strings.HasPrefix(string(c.s.Asked()), "{") {
			t.Error(c.s.Instruction())
		}
	}
}

func TestASchemaThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"z.object({ verdict: z.enum(['fine']) })": "Zod",
		"import { z } from 'zod'":                 "Zod",
		"process.exit(1)":                         "no JSON",
		"[]":                                      "no object",
		`{"type": 7}`:                             "no JSON Schema",
		`{"$REF": "#"}`:                           `has "$REF"`,
		`{"anyof": [{"$ref": "#"}]}`:              `has "anyof"`,
		`{"type": "object", "type": "string"}`:    "no JSON",
		`{"$ref": "https://127.0.0.1/s.json"}`:    "refers to",
		`{"$ref": "#"}`:                           "itself without end",
		`{"properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {"anyOf": [{"type": "null"}, {"$ref": "#/%24defs/b"}]}}}`: "itself without end",
		`{"properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {"$id": "https://h/b", "not": {"$ref": "#"}}}}`:           "$id",
		`{"$dynamicRef": "#a"}`: "$dynamicRef",
		doubling(40):            "more than 10000 schemas",
	} {
		_, _, err := parseSchema(text)
		var wrong *SchemaError
		if !errors.As(err, &wrong) || !strings.Contains(wrong.Message, want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// doubling is a schema that compares a value with 2 to the power of n schemas.
func doubling(n int) string {
	text := `{"$ref": "#/$defs/s0", "$defs": {`
	for i := range n {
		text += fmt.Sprintf(`"s%d": {"allOf": [{"$ref": "#/$defs/s%[2]d"}, {"$ref": "#/$defs/s%[2]d"}]}, `, i, i+1)
	}
	return text + fmt.Sprintf(`"s%d": {}}}`, n)
}

// What is wrong is reported at its place.
func TestWhereASchemaIsWrong(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"a": 1,, "b": 2}`:                                            " @8",
		`{"type": ""}`:                                                 "/type @9",
		`{"type": []}`:                                                 "/type @9",
		`{"type": ["null", "strng"]}`:                                  "/type/1 @18",
		`{"properties": {"a": {"enum": []}}}`:                          "/properties/a/enum @30",
		`{"properties": {"a": {"items": [{"type": 7}]}}}`:              "/properties/a/items/0/type @41",
		`{"properties": {"a": {"pattern": "("}}}`:                      "/properties/a/pattern @33",
		`{"properties": {"a": {"minLength": -1}}}`:                     "/properties/a/minLength @35",
		`{"required": "a"}`:                                            "/required @13",
		`{"$defs": {"a": {}}, "not": {"$ref": "#/$defs/b"}}`:           "/not/$ref @37",
		`{"allOf": [{"$ref": "https://127.0.0.1/s.json"}]}`:            "/allOf/0/$ref @20",
		`{"$defs": {"b/c": {"$id": "https://h/b"}}}`:                   "/$defs/b~1c/$id @26",
		`{"$ref": "#/properties", "properties": {}}`:                   "/$ref @9",
		`{"const": {"$ref": "x", "$id": "y", "type": "z"}}`:            "",
		`{"enum": [{"$REF": "#"}], "default": {"$id": 1, "enum": []}}`: "",
		`{"properties": {"$ref": {}, "enum": {"type": "array"}}}`:      "",
		`{"x-mine": {"$ref": "x"}, "dependencies": {"a": ["b"]}}`:      "",
	} {
		got := ""
		CheckSchema(text, func(offset int, pointer, _, _, _ string) { got += fmt.Sprintf("%s @%d", pointer, offset) })
		if got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// A schema may refer to itself for a part of the value.
func TestASchemaOfATreeIsTaken(t *testing.T) {
	t.Parallel()
	s := Structure{Output: "object", Schema: []byte(`{"$id": "https://h/tree", "properties": {"of": {"type": "array", "items": {"$ref": "#"}}, "not": {"$ref": "#/$defs/n~1m"}}, "$defs": {"n/m": {"type": "integer"}}}`)}
	if err := s.compile(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Take(`{"of": [{"of": [{"not": 1}]}]}`); err != nil {
		t.Error(err)
	}
	if _, err := s.Take(`{"of": [{"of": [{"not": "x"}]}]}`); err == nil {
		t.Error("what does not fit was taken")
	}
}

func TestAnAnswerAsksForAnAction(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		`"stop"`: {"stop", ""}, `{"action": "skip", "reason": "done"}`: {"skip", "done"}, `{"verdict": "stop"}`: {}, `[1]`: {}, `null`: {},
	} {
		if action, reason := Action([]byte(text)); action != want[0] || reason != want[1] {
			t.Errorf("%s: %q %q", text, action, reason)
		}
	}
}

// Whatever a schema and an answer are, taking it has an end, and what is taken is JSON.
func FuzzSchema(f *testing.F) {
	for _, seed := range []string{`{"type": "object", "properties": {"a": {"$ref": "#"}}}`, `{"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"type": "null"}, {"not": {"$ref": "#/$defs/b"}}], "b": true}}}`,
		`{"items": {"$ref": "#/properties/a~1b"}, "properties": {"a/b": {"enum": [1]}}}`, `{"if": {"minItems": 1}, "then": {"$ref": "#/%24defs/x"}, "$defs": {"x": {"pattern": "^a"}}}`, doubling(3)} {
		f.Add(seed, `{"a": {"a": [1, null]}}`, "object")
		f.Add(seed, `{"elements": [{}, 1]}`, "array")
	}
	f.Fuzz(func(t *testing.T, schema, answer, output string) {
		s := Structure{Output: output, Schema: []byte(schema)}
		if output == "enum" || s.compile() != nil {
			return
		}
		if got, err := s.Take(answer); err == nil && !json.Valid(got) {
			t.Errorf("%q of %q: %q", schema, answer, got)
		}
	})
}
