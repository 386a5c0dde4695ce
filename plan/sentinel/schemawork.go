package sentinel

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// mostInPlace bounds how many schemas one value is compared with.
const mostInPlace = 10_000

// schemaWork counts how many schemas one value is compared with where it is compared with
// one: that one, what it refers to, and its alternatives.
type schemaWork struct {
	root map[string]any
	done map[string]int // by the pointer of the schema
	open map[string]bool
}

// boundedSchema refuses a schema that compares a value without end, or nearly so. The
// validator would use up its stack, which ends a process.
func boundedSchema(root map[string]any) error {
	w := &schemaWork{root, map[string]int{}, map[string]bool{}}
	return w.walk("", root)
}

// walk looks at each object of a schema. Those that are no schemas do no harm.
func (w *schemaWork) walk(pointer string, v any) error {
	switch v := v.(type) {
	case map[string]any:
		if _, is := v["$id"].(string); is && pointer != "" { // from which its references would begin
			return &SchemaError{"a part of the schema has an $id", "refer to it by #/PATH"}
		}
		if _, err := w.of(pointer, v); err != nil {
			return err
		}
		for name, member := range v {
			if err := w.walk(pointer+"/"+escaped(name), member); err != nil {
				return err
			}
		}
	case []any:
		for i, item := range v {
			if err := w.walk(pointer+"/"+strconv.Itoa(i), item); err != nil {
				return err
			}
		}
	}
	return nil
}

// of is how many schemas a value is compared with for the one at a pointer.
func (w *schemaWork) of(pointer string, schema map[string]any) (int, error) {
	if n, known := w.done[pointer]; known {
		return n, nil
	}
	if w.open[pointer] {
		return 0, &SchemaError{"the schema refers to itself without end", "a schema may refer to itself for a part of the value: for a property or an item"}
	}
	w.open[pointer] = true
	defer delete(w.open, pointer)
	n := 1
	add := func(pointer string, v any) error {
		part, is := v.(map[string]any)
		if !is {
			return nil
		}
		more, err := w.of(pointer, part)
		if n += more; err == nil && n > mostInPlace {
			err = &SchemaError{fmt.Sprintf("the schema compares one value with more than %d schemas", mostInPlace), "use fewer alternatives"}
		}
		return err
	}
	if ref, is := schema["$ref"].(string); is {
		target, known := w.target(ref)
		if !known {
			return 0, &SchemaError{fmt.Sprintf("the schema refers to %.200q", ref), "a reference is # or #/PATH, into the schema itself"}
		}
		if err := add(strings.TrimPrefix(ref, "#"), target); err != nil {
			return 0, err
		}
	}
	if _, is := schema["$dynamicRef"].(string); is {
		return 0, &SchemaError{"the schema has a $dynamicRef", "a reference is a $ref to # or #/PATH"}
	}
	for _, name := range []string{"not", "if", "then", "else"} {
		if err := add(pointer+"/"+name, schema[name]); err != nil {
			return 0, err
		}
	}
	for _, name := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := schema[name].([]any)
		for i, item := range list {
			if err := add(pointer+"/"+name+"/"+strconv.Itoa(i), item); err != nil {
				return 0, err
			}
		}
	}
	for _, name := range []string{"dependentSchemas", "dependencies"} {
		all, _ := schema[name].(map[string]any)
		for of, part := range all {
			if err := add(pointer+"/"+name+"/"+escaped(of), part); err != nil {
				return 0, err
			}
		}
	}
	w.done[pointer] = n
	return n, nil
}

// target is what a reference leads to.
func (w *schemaWork) target(ref string) (any, bool) {
	fragment, err := url.PathUnescape(ref)
	at, known := any(w.root), err == nil && (ref == "#" || strings.HasPrefix(ref, "#/"))
	for _, step := range strings.Split(strings.TrimPrefix(fragment, "#"), "/")[1:] {
		switch v := at.(type) {
		case map[string]any:
			at = v[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			at = v[i]
		default:
			return nil, false
		}
	}
	return at, known
}

func escaped(name string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(name) }

// jsonTypes are the types that a schema can ask for.
var jsonTypes = []string{"string", "number", "integer", "boolean", "object", "array", "null"}

// unknownTypes adds the types that a schema, or one of a list or a map of them, asks for, and that
// there are none of. The library takes any name, and compares each value with it.
func unknownTypes(v reflect.Value, found map[string]bool) {
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			unknownTypes(v.Index(i), found)
		}
	case reflect.Map:
		for _, of := range v.Seq2() {
			unknownTypes(of, found)
		}
	case reflect.Pointer:
		s, is := v.Interface().(*jsonschema.Schema)
		if !is || s == nil {
			break
		}
		types := s.Types
		if s.Type != "" { // else there is a list, or none
			types = append(slices.Clone(types), s.Type)
		}
		for _, name := range types {
			if !slices.Contains(jsonTypes, name) {
				found[name] = true
			}
		}
		for i := range v.Elem().NumField() {
			if field := v.Elem().Type().Field(i); field.IsExported() && strings.HasSuffix(field.Type.String(), "*jsonschema.Schema") {
				unknownTypes(v.Elem().Field(i), found)
			}
		}
	}
}
