package sentinel

import (
	"errors"
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
		`{"$ref": "https://127.0.0.1/s.json"}`:    "no JSON Schema",
	} {
		_, err := parseSchema(text)
		var wrong *SchemaError
		if !errors.As(err, &wrong) || !strings.Contains(wrong.Message, want) {
			t.Errorf("%s: %v", text, err)
		}
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
