package jsonshape

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// Schema returns the JSON Schema of a shape, under an id.
func Schema(root *Shape, id, title, description string) []byte {
	var out bytes.Buffer
	e := jsontext.NewEncoder(&out, jsontext.WithIndent("  "))
	w := schemaWriter{e: e, known: map[string]bool{}}
	w.object(func() {
		w.text("$schema", "https://json-schema.org/draft/2020-12/schema")
		w.text("$id", id)
		w.text("title", title)
		w.text("description", description)
		w.body(root)
		w.key("$defs")
		w.object(func() {
			for len(w.queue) > 0 {
				s := w.queue[0]
				w.queue = w.queue[1:]
				w.key(s.name)
				w.object(func() { w.body(s) })
			}
		})
	})
	return out.Bytes()
}

// schemaWriter writes shapes as JSON Schema. Named objects are definitions.
// The encoder writes to memory and gets names that are unique, so it cannot
// fail.
type schemaWriter struct {
	e     *jsontext.Encoder
	known map[string]bool
	queue []*Shape // definitions that are referred to and not written yet
}

func (w *schemaWriter) put(t jsontext.Token) { _ = w.e.WriteToken(t) }

func (w *schemaWriter) key(name string) { w.put(jsontext.String(name)) }

func (w *schemaWriter) text(key, value string) { w.key(key); w.put(jsontext.String(value)) }

func (w *schemaWriter) object(fill func()) {
	w.put(jsontext.BeginObject)
	fill()
	w.put(jsontext.EndObject)
}

func (w *schemaWriter) array(fill func()) {
	w.put(jsontext.BeginArray)
	fill()
	w.put(jsontext.EndArray)
}

func (w *schemaWriter) words(key string, words []string) {
	w.key(key)
	w.array(func() {
		for _, word := range words {
			w.put(jsontext.String(word))
		}
	})
}

// inside writes a shape where a value is: by reference if it has a name.
func (w *schemaWriter) inside(s *Shape, doc string) {
	w.object(func() {
		if doc != "" {
			w.text("description", doc)
		}
		w.refOrBody(s)
	})
}

func (w *schemaWriter) refOrBody(s *Shape) {
	if s.kind != anObject || s.name == "" {
		w.body(s)
		return
	}
	if !w.known[s.name] {
		w.known[s.name] = true
		w.queue = append(w.queue, s)
	}
	w.text("$ref", "#/$defs/"+s.name)
}

func (w *schemaWriter) body(s *Shape) {
	switch s.kind {
	case aScalar:
		w.words("type", []string{"string", "number", "boolean", "null"})
	case aString:
		w.text("type", "string")
		if len(s.words) > 0 {
			w.words("enum", s.words)
		}
		if s.least > 0 {
			w.number("minLength", float64(s.least))
		}
		if s.pattern != nil {
			w.text("pattern", s.pattern.String())
		}
	case aWhole, aNumber:
		w.numbers(s)
	case aBool:
		w.text("type", "boolean")
	case anArray:
		w.text("type", "array")
		if s.least > 0 {
			w.number("minItems", float64(s.least))
		}
		w.key("items")
		w.inside(s.elem, "")
	case aMap:
		w.text("type", "object")
		w.key("additionalProperties")
		w.inside(s.elem, "")
	case anObject:
		w.fields(s)
	case aUnion:
		w.union(s)
	}
}

func (w *schemaWriter) number(key string, v float64) { w.key(key); w.put(jsontext.Float(v)) }

func (w *schemaWriter) numbers(s *Shape) {
	if s.kind == aWhole {
		w.text("type", "integer")
	} else {
		w.text("type", "number")
	}
	switch {
	case s.above:
		w.number("exclusiveMinimum", s.min)
	default:
		w.number("minimum", s.min)
	}
	switch {
	case s.max != 0:
		w.number("maximum", s.max)
	case s.kind == aWhole:
		w.number("maximum", largestWhole)
	}
}

func (w *schemaWriter) fields(s *Shape) {
	w.text("type", "object")
	w.key("properties")
	w.object(func() {
		for _, f := range s.Fields {
			w.key(f.Name)
			doc := f.doc
			if f.inert {
				doc = "Ignored by hank: " + doc
			}
			w.inside(f.Shape, doc)
		}
	})
	var needed []string
	for _, f := range s.Fields {
		if f.required {
			needed = append(needed, f.Name)
		}
	}
	if len(needed) > 0 {
		w.words("required", needed)
	}
	if s.need.other != "" {
		w.key("if")
		w.object(func() {
			w.key("properties")
			w.object(func() {
				w.key(s.need.field)
				w.object(func() { w.text("description", s.field(s.need.field).doc); w.text("const", s.need.value) })
			})
			w.words("required", []string{s.need.field})
		})
		w.key("then")
		w.object(func() { w.words("required", []string{s.need.other}) })
	}
	if !s.open && !s.free {
		w.key("additionalProperties")
		w.put(jsontext.Bool(false))
	}
}

// union writes the variants of which exactly one fits. Without a tag the JSON
// types differ; with one, its value does.
func (w *schemaWriter) union(s *Shape) {
	w.key("oneOf")
	w.array(func() {
		for i, v := range s.variants {
			if s.tag != "" && v.Value == "" {
				continue // an absent tag: the field is optional in the variant before
			}
			w.inside(s.variants[i].Shape, "")
		}
	})
}
