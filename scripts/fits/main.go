// Command fits compares JSON values with JSON Schemas: see package internal/fit, which
// calls it. It reads a list of cases, and prints an object of what does not fit.
package main

import (
	"bytes"
	"encoding/json"
	"log"
	"os"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"hank/internal/fit"
)

// kind is a schema in one of its two forms.
type kind struct {
	file   string
	closed bool
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("fits: ")
	var cases []fit.Case
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		log.Fatal(err)
	}
	schemas, found := map[kind]*jsonschema.Schema{}, map[int]string{}
	for i, c := range cases {
		of := kind{c.Schema, c.Closed}
		if schemas[of] == nil {
			schema, err := compile(of)
			if err != nil {
				log.Fatal(err)
			}
			schemas[of] = schema
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(c.Value))
		if err == nil {
			err = schemas[of].Validate(value)
		}
		if err != nil {
			found[i] = err.Error()
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
		log.Fatal(err)
	}
}

func compile(of kind) (*jsonschema.Schema, error) {
	text, err := os.ReadFile(of.file)
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	if of.closed {
		closeObjects(doc)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(of.file, doc); err != nil {
		return nil, err
	}
	return c.Compile(of.file)
}

// closeObjects lets no object of a schema have members that it does not list, unless it
// says that it may.
func closeObjects(schema any) {
	switch s := schema.(type) {
	case map[string]any:
		if _, is := s["properties"].(map[string]any); is && s["additionalProperties"] == nil {
			s["additionalProperties"] = false
		}
		for _, inner := range s {
			closeObjects(inner)
		}
	case []any:
		for _, inner := range s {
			closeObjects(inner)
		}
	}
}
