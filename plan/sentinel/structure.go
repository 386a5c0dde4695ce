package sentinel

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	strict "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"

	"hank/internal/lazyregexp"
)

// Structure says which answers are taken, where an answer is data.
type Structure struct {
	Output      string          // object, array or enum
	Schema      json.RawMessage // of the object, or of each item; of enum: nil
	Values      []string        // of enum
	Name        string
	Description string

	asked    json.RawMessage // the schema of what the model is asked for
	resolved *jsonschema.Resolved
}

// SchemaError says why a schema cannot be used, and where: at a JSON pointer in it, or, of what is
// no JSON, at an offset in bytes.
type SchemaError struct {
	Message, Hint string
	Pointer       string
	Offset        int
}

func (e *SchemaError) Error() string { return e.Message }

// zod is how source of Zod is recognised.
var zod = lazyregexp.New(`(?m)\bz\s*\.\s*(object|array|string|number|enum|union|boolean|literal|strictObject|record)\b|from\s+['"]zod['"]|require\(['"]zod['"]\)`)

// parseSchema reads the schema of a structured answer, also as the plain value that it is. The
// error is a *SchemaError.
func parseSchema(text string) (*jsonschema.Resolved, map[string]any, error) {
	var v any
	if err := strict.Unmarshal([]byte(text), &v); err != nil { // it refuses a name that is there twice: one would hide the other
		if zod.MatchString(text) {
			return nil, nil, &SchemaError{Message: "the schema is source code of Zod, and hank runs no code of a configuration",
				Hint: `write it as JSON Schema: z.toJSONSchema(schema) in Zod 4 prints it, for example {"type": "object", "properties": {"verdict": {"enum": ["fine", "stuck"]}}, "required": ["verdict"]}`}
		}
		wrong := &SchemaError{Message: "the schema is no JSON: " + err.Error(), Hint: "write it as JSON Schema"}
		var syntax *jsontext.SyntacticError
		if errors.As(err, &syntax) {
			wrong.Message, wrong.Offset = "the schema is no JSON: "+syntax.Err.Error(), int(syntax.ByteOffset)
		}
		return nil, nil, wrong
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, nil, &SchemaError{Message: "the schema is no object", Hint: "write it as JSON Schema"}
	}
	if err := boundedSchema(object); err != nil {
		return nil, nil, err
	}
	refused := func(err error, hint string) error {
		return &SchemaError{Message: "the schema is no JSON Schema: " + err.Error(), Hint: hint, Pointer: wrongPart(object)}
	}
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return nil, nil, refused(err, "")
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return nil, nil, refused(err, "references to other files or addresses cannot be used")
	}
	return resolved, object, nil
}

// compile prepares what is asked for. The members of an object that is around a list or a
// word are those of the usual clients: models are only asked for objects.
func (s *Structure) compile() error {
	if s.Output == "enum" {
		s.asked, _ = json.Marshal(map[string]any{"type": "object", "properties": map[string]any{"result": map[string]any{"type": "string", "enum": s.Values}}, "required": []string{"result"}, "additionalProperties": false})
		return nil
	}
	var err error
	if s.resolved, _, err = parseSchema(string(s.Schema)); err != nil {
		return err
	}
	s.asked = s.Schema
	if s.Output == "array" {
		of := any(map[string]any{"type": "array", "items": s.Schema})
		if s.ofList() {
			of = s.Schema
		}
		s.asked, err = json.Marshal(map[string]any{"type": "object", "properties": map[string]any{"elements": of}, "required": []string{"elements"}, "additionalProperties": false})
	}
	return err
}

// ofList reports whether the schema of an array is that of the list and not of an item.
func (s *Structure) ofList() bool { return s.resolved.Schema().Type == "array" }

// Asked is the JSON Schema of what the model is to answer.
func (s *Structure) Asked() json.RawMessage { return s.asked }

// Instruction is what the model is told of the form of its answer.
func (s *Structure) Instruction() string {
	text := "Answer with one JSON object and nothing else. It must be valid against this JSON Schema:\n" + string(s.asked)
	if s.Description != "" {
		text = s.Description + "\n\n" + text
	}
	return text
}

// Take reads an answer, and returns it as JSON without what is around it, each number as it
// was written. The error says what of it does not fit.
func (s *Structure) Take(answer string) (json.RawMessage, error) {
	text := unfenced(answer)
	var v any
	d := json.NewDecoder(strings.NewReader(text))
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("the answer is no JSON: %w", err)
	}
	if strings.TrimSpace(text[d.InputOffset():]) != "" {
		return nil, errors.New("the answer has something after its JSON")
	}
	var exact any
	d = json.NewDecoder(strings.NewReader(text))
	d.UseNumber() // the other one has rounded them
	if err := d.Decode(&exact); err != nil {
		return nil, fmt.Errorf("the answer is no JSON: %w", err)
	}
	switch s.Output {
	case "enum":
		object, _ := v.(map[string]any)
		word, ok := object["result"].(string)
		if !ok {
			word, ok = v.(string)
		}
		if !ok || !slices.Contains(s.Values, word) {
			return nil, fmt.Errorf("the answer is none of %s", strings.Join(s.Values, ", "))
		}
		exact = word
	case "array":
		list, ok := listOf(v)
		if !ok {
			return nil, errors.New("the answer is no list")
		}
		same, _ := listOf(exact)
		if v, exact = list, same; s.ofList() {
			break
		}
		for i, item := range list {
			if err := s.resolved.Validate(item); err != nil {
				return nil, fmt.Errorf("item %d of the answer does not fit the schema: %w", i, err)
			}
		}
		return json.Marshal(exact)
	}
	if s.resolved != nil {
		if err := s.resolved.Validate(v); err != nil {
			return nil, fmt.Errorf("the answer does not fit the schema: %w", err)
		}
	}
	return json.Marshal(exact)
}

// listOf is the list that an answer is, or has in the object that was asked for.
func listOf(v any) (list []any, ok bool) {
	object, _ := v.(map[string]any)
	if list, ok = object["elements"].([]any); !ok {
		list, ok = v.([]any)
	}
	return list, ok
}

// unfenced is an answer without the fence that models like to put around JSON.
func unfenced(answer string) string {
	text := strings.TrimSpace(answer)
	if !strings.HasPrefix(text, "```") || !strings.HasSuffix(text, "```") || len(text) < 6 {
		return text
	}
	_, inner, ok := strings.Cut(text[:len(text)-3], "\n")
	if !ok {
		return text
	}
	return strings.TrimSpace(inner)
}
