package jsonshape

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// TypeOf is the member "type" of an object; it reads no further than that. Most codons have
// nothing that could be one.
func TypeOf(object jsontext.Value) string {
	if !bytes.Contains(object, []byte(`"type"`)) && !bytes.Contains(object, []byte(`\u`)) {
		return ""
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(object))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return ""
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return ""
		}
		if name.String() != "type" {
			if d.SkipValue() != nil {
				return ""
			}
			continue
		}
		if t, err := d.ReadToken(); err == nil && t.Kind() == '"' {
			return t.String()
		}
		return ""
	}
	return ""
}
