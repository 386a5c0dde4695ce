package fields

import (
	"bytes"

	shape "hank/plan/jsonshape"
)

// PublishedSchema is the JSON Schema (draft 2020-12) of a file that users write, made from
// the table that it is checked with. What depends on more than one field (duplicate ids,
// sessions, budgets, files) is not in it.
type PublishedSchema struct {
	Name string // hank, hankweave, sentinel, models
	ID   string // its $id: a name that is no address, as nothing is to be fetched
	Text []byte
}

// FileName is the name of the file in which it is written for editors.
func (s PublishedSchema) FileName() string { return s.Name + ".schema.json" }

// Wrote reports whether a text is this schema as this hank or another one has written it.
func (s PublishedSchema) Wrote(text []byte) bool { return bytes.Contains(text, []byte(`"`+s.ID+`"`)) }

// Schemas are those that are published.
func Schemas() []PublishedSchema {
	publish := func(name string, s *shape.Shape, file, says string) PublishedSchema {
		id := "urn:hank:schema:" + name
		return PublishedSchema{Name: name, ID: id, Text: shape.Schema(s, id, file, says)}
	}
	return []PublishedSchema{
		publish("hank", Hank, "hank.json", "A hank: a program of agent steps."),
		publish("hankweave", Settings, "hankweave.json", "Settings of the runtime."),
		publish("sentinel", Sentinel, "sentinel.json", "An observer of a codon."),
		publish("models", Models, "models.json", "A list of models with their prices."),
	}
}
