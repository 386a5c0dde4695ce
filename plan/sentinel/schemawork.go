package sentinel

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"hank/internal/typo"
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
	return eachSchema("", root, func(pointer string, schema map[string]any) error {
		if _, is := schema["$id"].(string); is && pointer != "" { // from which its references would begin
			return &SchemaError{Message: "a part of the schema has an $id", Hint: "refer to it by #/PATH", Pointer: pointer + "/$id"}
		}
		for name := range schema {
			if right := keywords[strings.ToLower(name)]; right != "" && right != name { // the library takes one for the other
				return &SchemaError{Message: fmt.Sprintf("the schema has %.200q", name), Hint: fmt.Sprintf("did you mean %q?", right), Pointer: pointer + "/" + escaped(name)}
			}
		}
		_, err := w.of(pointer, schema)
		return err
	})
}

// eachSchema calls visit for a schema and for each part of it that is one, until an error. What
// else is in it, such as the value of const, is no schema whatever it looks like.
func eachSchema(pointer string, v any, visit func(pointer string, schema map[string]any) error) error {
	schema, is := v.(map[string]any)
	if !is {
		return nil
	}
	if err := visit(pointer, schema); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(schema)) {
		for step, part := range parts(name, schema[name]) {
			if err := eachSchema(pointer+"/"+step, part, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// The keywords of a schema whose values are a schema, a list or a map of schemas.
var (
	oneSchema = strings.Fields("additionalItems additionalProperties contains contentSchema else if items not propertyNames then unevaluatedItems unevaluatedProperties")
	schemas   = strings.Fields("allOf anyOf items oneOf prefixItems")
	schemaMap = strings.Fields("$defs definitions dependencies dependentSchemas patternProperties properties")
)

// keywords are all that the library knows, by their small letters.
var keywords = func() map[string]string {
	all := map[string]string{}
	for _, name := range slices.Concat(oneSchema, schemas, schemaMap, strings.Fields(`$id $schema $ref $comment $anchor $dynamicAnchor $dynamicRef $vocabulary
		title description default deprecated readOnly writeOnly examples type enum const multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength pattern
		minItems maxItems uniqueItems minContains maxContains minProperties maxProperties required dependentRequired contentEncoding contentMediaType format`)) {
		all[strings.ToLower(name)] = name
	}
	return all
}()

// parts are the schemas in a member of a schema, by their pointers from that schema on.
func parts(name string, member any) func(yield func(string, any) bool) {
	return func(yield func(string, any) bool) {
		switch v := member.(type) {
		case []any:
			for i, part := range v {
				if !slices.Contains(schemas, name) || !yield(name+"/"+strconv.Itoa(i), part) {
					return
				}
			}
		case map[string]any:
			if slices.Contains(oneSchema, name) {
				yield(name, member)
				return
			}
			if !slices.Contains(schemaMap, name) {
				return
			}
			for _, of := range slices.Sorted(maps.Keys(v)) {
				if !yield(name+"/"+escaped(of), v[of]) {
					return
				}
			}
		}
	}
}

// inPlace are the keywords whose schemas are compared with the same value.
var inPlace = strings.Fields("not if then else allOf anyOf oneOf dependentSchemas dependencies")

// of is how many schemas a value is compared with for the one at a pointer.
func (w *schemaWork) of(pointer string, schema map[string]any) (int, error) {
	if n, known := w.done[pointer]; known {
		return n, nil
	}
	if w.open[pointer] {
		return 0, &SchemaError{Message: "the schema refers to itself without end", Hint: "a schema may refer to itself for a part of the value: for a property or an item", Pointer: pointer}
	}
	w.open[pointer] = true
	defer delete(w.open, pointer)
	n := 1
	add := func(at string, v any) error {
		part, is := v.(map[string]any)
		if !is {
			return nil
		}
		more, err := w.of(at, part)
		if n += more; err == nil && n > mostInPlace {
			err = &SchemaError{Message: fmt.Sprintf("the schema compares one value with more than %d schemas", mostInPlace), Hint: "use fewer alternatives", Pointer: pointer}
		}
		return err
	}
	if ref, is := schema["$ref"].(string); is {
		target, known := w.target(ref)
		if !known {
			return 0, &SchemaError{Message: fmt.Sprintf("the schema refers to %.200q", ref), Hint: "a reference is # or #/PATH, into the schema itself", Pointer: pointer + "/$ref"}
		}
		if err := add(strings.TrimPrefix(ref, "#"), target); err != nil {
			return 0, err
		}
	}
	if _, is := schema["$dynamicRef"].(string); is {
		return 0, &SchemaError{Message: "the schema has a $dynamicRef", Hint: "a reference is a $ref to # or #/PATH", Pointer: pointer + "/$dynamicRef"}
	}
	for _, name := range inPlace {
		for step, part := range parts(name, schema[name]) {
			if err := add(pointer+"/"+step, part); err != nil {
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
			at = v[unescape.Replace(step)]
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
	return at, known && at != nil
}

var (
	escape   = strings.NewReplacer("~", "~0", "/", "~1")
	unescape = strings.NewReplacer("~1", "/", "~0", "~")
)

func escaped(name string) string {
	if !strings.ContainsAny(name, "~/") { // most
		return name
	}
	return escape.Replace(name)
}

// jsonTypes are the types that a schema can ask for.
var jsonTypes = []string{"string", "number", "integer", "boolean", "object", "array", "null"}

// counts are keywords that bound how many there are of something.
var counts = strings.Fields("minLength maxLength minItems maxItems minProperties maxProperties minContains maxContains")

// withoutValues calls report for each type and enum in a schema that no value has, and for a count
// below 0: the library takes any name, an empty list for none, and any number.
func withoutValues(root any, report func(pointer, hint, message string)) {
	known := "the types are " + strings.Join(jsonTypes, ", ")
	_ = eachSchema("", root, func(pointer string, schema map[string]any) error {
		types, is := schema["type"].([]any)
		if name, one := schema["type"].(string); one {
			types = []any{name}
		}
		for i, name := range types {
			if name, _ := name.(string); !slices.Contains(jsonTypes, name) {
				at := pointer + "/type"
				if is {
					at += "/" + strconv.Itoa(i)
				}
				hint := known
				if like := typo.Nearest(name, jsonTypes); like != "" {
					hint = fmt.Sprintf("did you mean %q? ", like) + known
				}
				report(at, hint, fmt.Sprintf("the schema has the type %.200q, which no value has", name))
			}
		}
		if is && len(types) == 0 {
			report(pointer+"/type", known, "the schema has an empty list of types, and no value has one of them")
		}
		for _, name := range counts {
			if n, is := schema[name].(float64); is && n < 0 {
				report(pointer+"/"+name, "", fmt.Sprintf("the schema has the %s %v, and counts begin with 0", name, n))
			}
		}
		if values, is := schema["enum"].([]any); is && len(values) == 0 {
			report(pointer+"/enum", "list the values, or leave it out", "the schema has an empty enum, and no value is in it")
		}
		return nil
	})
}

// What is looked at to find the place of what the library refuses.
const (
	mostLevels = 50
	mostTried  = 100
)

// wrongPart is the pointer of the part for which the library refuses a schema; empty: the whole.
// References are left out first, and then tried one by one.
func wrongPart(root map[string]any) string {
	refs := map[string]any{}
	_ = eachSchema("", root, func(pointer string, schema map[string]any) error {
		if ref, is := schema["$ref"]; is {
			refs[pointer] = ref
			delete(schema, "$ref")
		}
		return nil
	})
	if taken(root) {
		at := ""
		_ = eachSchema("", root, func(pointer string, schema map[string]any) error {
			if ref, is := refs[pointer]; is && at == "" && len(refs) <= mostTried {
				if schema["$ref"] = ref; !taken(root) {
					at = pointer + "/$ref"
				}
				delete(schema, "$ref")
			}
			return nil
		})
		return at
	}
	at, in := "", root
descend:
	for range mostLevels {
		names := slices.Sorted(maps.Keys(in))
		for _, name := range names {
			for step, part := range parts(name, in[name]) {
				if next, is := part.(map[string]any); is && !taken(next) {
					at, in = at+"/"+step, next
					continue descend
				}
			}
		}
		for _, name := range names {
			if !taken(map[string]any{name: in[name]}) {
				return at + "/" + escaped(name)
			}
		}
		break
	}
	return at
}

// taken reports whether the library takes a schema.
func taken(schema any) bool {
	data, err := json.Marshal(schema)
	var s jsonschema.Schema
	if err != nil || json.Unmarshal(data, &s) != nil {
		return false
	}
	_, err = s.Resolve(nil)
	return err == nil
}
