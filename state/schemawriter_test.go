package state

import (
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hank/plan"
	"hank/plan/loop"
)

const dialect = "https://json-schema.org/draft/2020-12/schema"

// stateSchema returns the JSON Schema (draft 2020-12) of state.json, made from
// the types of this package. Which fields a record needs in which status is
// asked of the check that Apply makes. Unknown members are allowed everywhere,
// as hank keeps them.
func stateSchema() []byte {
	w := newSchemaWriter()
	root := w.structure(reflect.TypeFor[document]())
	return w.finish("state.json", "Everything that hank knows about an execution. Additions to the documented shape are additive; those of the root are under hank.", root)
}

// eventSchema returns the JSON Schema of one line of the journal. An unknown
// type of event is never an error; its data may be anything.
func eventSchema() []byte {
	w := newSchemaWriter()
	line := object{
		{"type", "object"},
		{"properties", object{
			{"seq", object{{"type", "integer"}, {"minimum", 0}}},
			{"id", object{{"type", "string"}}},
			{"timestamp", w.of(reflect.TypeFor[Time]())},
			{"type", object{{"type", "string"}}},
			{"data", object{}},
			{"sum", object{{"description", "CRC-32C of the bytes of the line before ,\"sum\":"}, {"type", "string"}, {"pattern", "^[0-9a-f]{8}$"}}},
		}},
		{"required", []string{"seq", "id", "timestamp", "type", "data", "sum"}},
		{"allOf", []object{
			dataOf(TransitionEvent, ref(w.transition())),
			dataOf(BudgetSummaryEvent, w.of(reflect.TypeFor[BudgetSummary]())),
			dataOf("journal.segment", object{{"type", "object"}, {"required", []string{"schema", "base"}}, {"properties", object{
				{"schema", object{{"type", "integer"}}},
				{"base", object{{"description", "the segment's first event carries a whole state"}, {"type", "boolean"}}},
			}}}),
		}},
	}
	return w.finish("events.jsonl", "One line of the journal. Events of the type "+TransitionEvent+" are what the state is made of; the others tell about the work.", line)
}

// dataOf says what the data of one type of event looks like.
func dataOf(eventType string, data object) object {
	return object{
		{"if", object{{"properties", object{{"type", object{{"const", eventType}}}}}}},
		{"then", object{{"properties", object{{"data", data}}}}},
	}
}

// object is a JSON object with its members in order.
type object []member

type member struct {
	key   string
	value any
}

// MarshalJSONTo writes the members in order.
func (o object) MarshalJSONTo(e *jsontext.Encoder) error {
	if err := e.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for _, m := range o {
		if err := e.WriteToken(jsontext.String(m.key)); err != nil {
			return err
		}
		if err := json.MarshalEncode(e, m.value); err != nil {
			return err
		}
	}
	return e.WriteToken(jsontext.EndObject)
}

func ref(name string) object { return object{{"$ref", "#/$defs/" + name}} }

// definitions names the types that are defined once in a schema. Other structs
// are named as in Go.
var definitions = map[reflect.Type]string{
	reflect.TypeFor[document]():    "State",
	reflect.TypeFor[runDocument](): "Run",
	reflect.TypeFor[Run]():         "RunHeader",
	reflect.TypeFor[head]():        "Hank",
	reflect.TypeFor[plan.Entry]():  "PlanEntry",
	reflect.TypeFor[plan.Budget](): "Budget",
	reflect.TypeFor[plan.Gate]():   "PlannedGate",
}

// opaque are the members that are kept as raw JSON in Go, and what they hold.
var opaque = map[string]reflect.Type{
	"Rebased.state":   reflect.TypeFor[document](),
	"PlanSet.entries": reflect.TypeFor[[]plan.Entry](),
	"PlanGrown.add":   reflect.TypeFor[[]plan.Entry](),
}

// words are the string types with few values.
var words = map[reflect.Type][]string{
	reflect.TypeFor[CodonStatus]():    strs(Preparing, Starting, Initializing, Running, CompletingSentinels, Completed, Failed, Skipped),
	reflect.TypeFor[RunStatus]():      strs(StatusRunning, StatusCompleted, StatusFailed, StatusCrashed),
	reflect.TypeFor[EndReason]():      strs(EndCodonFailed, EndStopped, EndUntil, EndSignal, EndBudget, EndDecision, EndError, EndCrash, EndAgent, EndGate, EndHeld),
	reflect.TypeFor[GateStatus]():     strs(GatePending, GateApproved, GateRejected, GateExpired),
	reflect.TypeFor[FailureType]():    strs(FailTimeout, FailRateLimit, FailAPI, FailSentinelLoad, FailUnknown),
	reflect.TypeFor[loop.Decision]():  strs(loop.Stop, loop.Continue),
	reflect.TypeFor[loop.Kind]():      strs(loop.Plateau, loop.Command),
	reflect.TypeFor[loop.Voter]():     strs(loop.ByTree, loop.ByAgent, loop.ByJudge, loop.ByCommand),
	reflect.TypeFor[CheckpointKind](): strs(KindInitial, KindRigSetup, KindCompleted, KindError, KindSkipped, KindArchive, KindTracked, KindExit, KindManual, KindRecovery, KindRemoved),
}

func strs[T ~string](values ...T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

// schemaWriter turns types into schemas. Structs become definitions.
type schemaWriter struct {
	defs  object
	known map[string]bool
}

func newSchemaWriter() *schemaWriter { return &schemaWriter{known: map[string]bool{}} }

func (w *schemaWriter) finish(title, description string, root object) []byte {
	slices.SortFunc(w.defs, func(a, b member) int { return strings.Compare(a.key, b.key) })
	whole := object{{"$schema", dialect}, {"title", title}, {"description", description}}
	whole = append(append(whole, root...), member{"$defs", w.defs})
	text, err := json.Marshal(whole, jsontext.WithIndent("  "))
	if err != nil {
		panic(err) // the writer makes nothing that cannot be written
	}
	return append(text, '\n')
}

// define adds a definition once and returns its name.
func (w *schemaWriter) define(name string, body func() object) string {
	if !w.known[name] {
		w.known[name] = true
		made := body()
		w.defs = append(w.defs, member{name, made})
	}
	return name
}

// of returns the schema of a type.
func (w *schemaWriter) of(t reflect.Type) object {
	if values, ok := words[t]; ok {
		return object{{"type", "string"}, {"enum", values}}
	}
	switch t {
	case reflect.TypeFor[Time]():
		return object{{"type", "string"}, {"format", "date-time"}}
	case reflect.TypeFor[USD]():
		return object{{"description", "US dollars"}, {"type", "number"}}
	case reflect.TypeFor[SHA]():
		return object{{"description", "id of a commit"}, {"type", "string"}, {"pattern", "^[0-9a-f]{40}$"}}
	case reflect.TypeFor[CodonID]():
		return object{{"type", "string"}, {"minLength", 1}}
	case reflect.TypeFor[jsontext.Value]():
		return object{}
	case reflect.TypeFor[plan.Codon]():
		return ref(w.define("PlannedCodon", plannedCodon))
	}
	switch t.Kind() {
	case reflect.Pointer:
		return w.of(t.Elem())
	case reflect.String:
		return object{{"type", "string"}}
	case reflect.Bool:
		return object{{"type", "boolean"}}
	case reflect.Float32, reflect.Float64:
		return object{{"type", "number"}}
	case reflect.Slice:
		return object{{"type", "array"}, {"items", w.of(t.Elem())}}
	case reflect.Map:
		return object{{"type", "object"}, {"additionalProperties", w.of(t.Elem())}}
	case reflect.Struct:
		return ref(w.defineStruct(t))
	}
	return object{{"type", "integer"}}
}

func (w *schemaWriter) defineStruct(t reflect.Type) string {
	name, ok := definitions[t]
	if !ok {
		name = t.Name()
	}
	return w.define(name, func() object { return w.structure(t) })
}

// plannedCodon is a codon as it is in a plan.
func plannedCodon() object {
	return object{
		{"description", "The codon of hank.json. Texts over 4 KiB and all values of env are replaced by {sha256:…}; the frozen program holds them."},
		{"type", "object"},
		{"properties", object{{"id", object{{"type", "string"}}}, {"name", object{{"type", "string"}}}}},
		{"required", []string{"id"}},
	}
}

// structure returns the schema of a struct's own body.
func (w *schemaWriter) structure(t reflect.Type) object {
	properties, required := w.fields(t)
	body := object{{"type", "object"}, {"properties", properties}}
	if len(required) > 0 {
		body = append(body, member{"required", required})
	}
	switch t {
	case reflect.TypeFor[Codon]():
		body = append(body, member{"oneOf", codonVariants(t)})
	case reflect.TypeFor[Settling]():
		var ends []object
		for _, status := range []CodonStatus{Completed, Failed, Skipped} {
			ends = append(ends, variant("status", string(status), (&Settling{Status: status}).missing(), nil))
		}
		body = append(body, member{"oneOf", ends})
	case reflect.TypeFor[StartingConditions]():
		body = append(body, member{"oneOf", []object{
			variant("type", StartFresh, []string{"initialCheckpointSha"}, nil),
			variant("type", StartContinuation, []string{"source", "reason"}, nil),
		}})
	}
	return body
}

// fields returns the members of a struct and the names of those that are
// always written.
func (w *schemaWriter) fields(t reflect.Type) (properties object, required []string) {
	for f := range structFields(t) {
		if f.Anonymous {
			p, r := w.fields(f.Type)
			properties, required = append(properties, p...), append(required, r...)
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			continue // what is embedded as unknown
		}
		inside, ok := opaque[t.Name()+"."+name]
		if !ok {
			inside = f.Type
		}
		schema := w.of(inside)
		if !strings.Contains(options, "omit") {
			required = append(required, name)
			if f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.String {
				schema = object{{"anyOf", []object{schema, {{"type", "null"}}}}}
			}
		}
		properties = append(properties, member{name, schema})
	}
	return properties, required
}

// structFields yields the exported and embedded fields of a struct.
func structFields(t reflect.Type) func(func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && !yield(f) {
				return
			}
		}
	}
}

// codonVariants returns one variant for each status: what a record needs is
// what an empty one of that status lacks.
func codonVariants(t reflect.Type) []object {
	filled := map[string]object{}
	for f := range structFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch f.Type.Kind() {
		case reflect.String:
			filled[name] = object{{"minLength", 1}}
		case reflect.Int:
			filled[name] = object{{"not", object{{"const", 0}}}}
		}
	}
	var out []object
	for _, status := range words[reflect.TypeFor[CodonStatus]()] {
		empty := Codon{Status: CodonStatus(status)}
		out = append(out, variant("status", status, strings.Split(empty.missing(), ", "), filled))
	}
	return out
}

// variant is one form of an object: its tag has a value, and more members are
// needed; those in filled must also hold something.
func variant(tag, value string, needed []string, filled map[string]object) object {
	properties := object{{tag, object{{"const", value}}}}
	for _, name := range needed {
		if f, ok := filled[name]; ok {
			properties = append(properties, member{name, f})
		}
	}
	return object{{"title", value}, {"properties", properties}, {"required", needed}}
}

// transition defines the data of a transition's event and returns its name.
func (w *schemaWriter) transition() string {
	return w.define("Transition", func() object {
		var types []string
		for t := range decoders {
			types = append(types, string(t))
		}
		slices.Sort(types)
		var variants []object
		for _, name := range types {
			empty, err := decoders[TransitionType(name)](jsontext.Value("{}"))
			if err != nil {
				panic(err) // each is a struct
			}
			data := ref(w.defineStruct(reflect.TypeOf(empty)))
			variants = append(variants, object{{"title", name}, {"properties", object{
				{"transitionType", object{{"const", name}}},
				{"transition", object{
					{"type", "object"},
					{"properties", object{{"type", object{{"const", name}}}, {"data", data}}},
					{"required", []string{"type", "data"}},
				}},
			}}})
		}
		return object{
			{"type", "object"},
			{"properties", object{
				{"transitionType", object{{"enum", types}}},
				{"runId", object{{"type", "string"}}},
				{"codonId", object{{"type", "string"}}},
				{"resultingState", ref(w.defineStruct(reflect.TypeOf(Resulting{})))},
			}},
			{"required", []string{"transitionType", "transition"}},
			{"oneOf", variants},
		}
	})
}
