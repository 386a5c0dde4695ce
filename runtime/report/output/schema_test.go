package output

import (
	"bytes"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hank/runtime/gate"
	"hank/runtime/harness/transcript"
	"hank/runtime/logview"
	"hank/runtime/report"
	"hank/runtime/report/models"
	"hank/state"
)

var update = flag.Bool("update", false, "write docs/schema/output anew")

// logLine is a line that hank log prints; package logview writes it around the line of the
// transcript, whose bytes stay as they are.
type logLine struct {
	Schema     int               `json:"schema"`
	RunID      state.RunID       `json:"runId"`
	CodonID    state.CodonID     `json:"codonId,omitempty"`
	Attempt    int               `json:"attempt,omitzero"`
	Stream     string            `json:"stream"`           // stdout, stderr, start, exit, damaged; end: of the attempt; gate; run: the end of the run
	At         *time.Time        `json:"at,omitempty"`     // as the transcript has it
	Event      jsontext.Value    `json:"event,omitempty"`  // an object that the agent has printed
	Line       *string           `json:"line,omitempty"`   // a line that is no object
	Base64     []byte            `json:"base64,omitempty"` // a line that is not UTF-8
	Bytes      int64             `json:"bytes,omitzero"`   // how long a line is that is too long to be shown
	Start      *transcript.Start `json:"start,omitempty"`
	Exit       *transcript.Exit  `json:"exit,omitempty"`
	Entries    []logview.Entry   `json:"entries,omitempty"`
	End        *attemptEnd       `json:"end,omitempty"`
	Gate       *gate.View        `json:"gate,omitempty"`
	Run        *report.RunEnd    `json:"run,omitempty"`
	OccurredAt *state.Time       `json:"occurredAt"`

	Unknown jsontext.Value `json:",embed"` // of transcripts of other systems
}

// attemptEnd is how an attempt ended.
type attemptEnd struct {
	Verdict string               `json:"verdict"`
	Cost    state.USD            `json:"cost"`
	Tokens  state.Tokens         `json:"tokens"`
	Millis  *int64               `json:"durationMs,omitempty"`
	Failure *state.FailureReason `json:"failureReason,omitempty"`
}

// jsonSchema is what hank schema prints without --write, also without --json: a JSON Schema itself.
type jsonSchema struct {
	Dialect    string         `json:"$schema"`
	ID         string         `json:"$id"`
	Title      string         `json:"title"`
	About      string         `json:"description"`
	Type       string         `json:"type"`
	Properties jsontext.Value `json:"properties"`
	Required   []string       `json:"required,omitempty"`
	Additional bool           `json:"additionalProperties"`
	Defs       jsontext.Value `json:"$defs"`
}

// forms are what each command prints with --json, the forms of its flags included. Each
// command can print a Failure instead.
var forms = map[string][]reflect.Type{
	"init":        {reflect.TypeFor[Begun]()},
	"validate":    {reflect.TypeFor[Validation](), reflect.TypeFor[Rules](), reflect.TypeFor[StateCheck]()},
	"models":      {reflect.TypeFor[models.ModelList](), reflect.TypeFor[ModelNames]()},
	"fmt":         {reflect.TypeFor[Formatted]()},
	"schema":      {reflect.TypeFor[SchemaFiles](), reflect.TypeFor[jsonSchema]()},
	"plan":        {reflect.TypeFor[Plan]()},
	"match":       {reflect.TypeFor[report.Tracked]()},
	"run":         {reflect.TypeFor[Result](), reflect.TypeFor[Forecast](), reflect.TypeFor[Detached](), reflect.TypeFor[ResultLine](), reflect.TypeFor[Event](), reflect.TypeFor[FailureLine]()},
	"resume":      {reflect.TypeFor[Result](), reflect.TypeFor[Detached](), reflect.TypeFor[ResultLine](), reflect.TypeFor[Event](), reflect.TypeFor[FailureLine]()},
	"retry":       {reflect.TypeFor[Result](), reflect.TypeFor[Retry](), reflect.TypeFor[Detached](), reflect.TypeFor[ResultLine](), reflect.TypeFor[Event](), reflect.TypeFor[FailureLine]()},
	"rollback":    {reflect.TypeFor[Moved](), reflect.TypeFor[Preview]()},
	"restore":     {reflect.TypeFor[Moved](), reflect.TypeFor[Preview]()},
	"stop":        {reflect.TypeFor[Answered]()},
	"skip":        {reflect.TypeFor[Answered]()},
	"approve":     {reflect.TypeFor[Decided]()},
	"reject":      {reflect.TypeFor[Decided]()},
	"hold":        {reflect.TypeFor[Decided]()},
	"release":     {reflect.TypeFor[Decided]()},
	"status":      {reflect.TypeFor[Status](), reflect.TypeFor[Tree]()},
	"show":        {reflect.TypeFor[Runs](), reflect.TypeFor[Attempts](), reflect.TypeFor[Loop]()},
	"why":         {reflect.TypeFor[Explanation]()},
	"log":         {reflect.TypeFor[logLine]()},
	"events":      {reflect.TypeFor[Event]()},
	"checkpoints": {reflect.TypeFor[Checkpoints](), reflect.TypeFor[Transfer]()},
	"diff":        {reflect.TypeFor[Difference]()},
	"land":        {reflect.TypeFor[Landing]()},
	"cost":        {reflect.TypeFor[Costs]()},
	"doctor":      {reflect.TypeFor[Diagnosis](), reflect.TypeFor[Agents]()},
	"reset":       {reflect.TypeFor[Reset]()},
	"gc":          {reflect.TypeFor[Garbage](), reflect.TypeFor[Expired]()},
	"ls":          {reflect.TypeFor[Executions]()},
	"version":     {reflect.TypeFor[Version]()},
}

// anyCommand are what a command can print that there is not.
const anyCommand = "error"

// renamed are the published members that others stand beside now, by the type that has
// them, with what to read instead.
var renamed = map[string]string{
	"report.Status.began": "startedAt", "report.Status.lastEvent": "lastEventAt", "report.Status.hank": "hankPath", "report.Status.nextCodon": "nextCodonId",
	"report.Status.awaitsVerdict": "awaitsVerdictOfLoop", "report.Status.command": "nextCommand or nextAdvice", "report.Status.next": "nextAdvice",
	"report.Status.resume": "resumeCommand", "report.Status.finish": "finishCommand",
	"report.Diagnosis.lastEvent": "lastEventSeq", "report.Diagnosis.command": "nextCommand or nextAdvice", "report.Diagnosis.next": "nextAdvice",
	"report.Diagnosis.resume": "resumeCommand", "report.Diagnosis.finish": "finishCommand",
	"report.TreeRun.startTime": "startedAt", "report.TreeRun.bill": "cost", "report.TreeRun.firstCodon": "firstCodonId", "report.TreeRun.lastCodon": "lastCodonId",
	"report.Loop.ended": "endedBy", "report.Iteration.result": "verdict",
	"planview.Plan.hank": "hankPath or hankGiven", "planview.Planned.status": "codonStatus",
	"report.RemovedBranch.head": "checkpointSha", "report.RemovedBranch.time": "removedAt", "report.LostCheckpoint.sha": "checkpointSha",
	"report.RunEnd.next": "nextAdvice", "validation.Validation.codons": "codonCount", "validation.Validation.hank": "hankPath or hankGiven",
	"state.Run.status": "runStatus", "state.Run.startTime": "startedAt", "state.Run.endTime": "endedAt",
	"state.Codon.status": "codonStatus", "state.Codon.startTime": "startedAt", "state.Codon.endTime": "endedAt",
	"state.Gate.status": "gateStatus", "state.Gate.time": "requestedAt", "state.Gate.expires": "expiresAt",
	"state.Hold.time": "heldAt", "state.Pause.time": "pausedAt", "gate.View.time": "requestedAt", "gate.View.expires": "expiresAt",
	"why.Attempt.began": "startedAt", "why.Attempt.baseCheckpoint": "baseCheckpointSha",
	"history.Target.sha": "checkpointSha", "history.Listed.sha": "checkpointSha", "history.Listed.kind": "checkpointKind", "history.Listed.time": "createdAt", "history.Undone.time": "movedAt",
	"output.Moved.safetyCheckpoint": "safetyCheckpointSha", "output.Moved.command": "nextCommand",
	"result.Result.status": "runStatus", "result.Result.next": "nextCommand or nextAdvice", "result.Result.finish": "finishCommand",
	"forecast.Forecast.workedSeconds": "workSeconds", "forecast.Forecast.codonsPlanned": "codonsExpected", "forecast.Move.to": "checkpointSha",
	"output.Answered.command": "verb", "output.Answered.error": "refusal", "cost.Sum.key": "group", "eventlog.Event.timestamp": "occurredAt", "output.logLine.at": "occurredAt",
	"land.Landing.time": "landedAt", "land.Landing.base": "baseSha", "land.Landing.tip": "tipSha", "land.Commit.sha": "commitSha", "land.Commit.checkpoint": "checkpointSha",
	"finding.Finding.Next": "what, which ends with it", "gc.Garbage.Store": "path, which is then that of the checkpoint store",
	"land.Codon.status": "codonStatus", "land.Codon.commit": "commitSha", "gc.Expired.lastUsed": "lastUsedAt", "output.Begun.hank": "hankPath",
}

// The schemas in docs/schema/output are made of the types of the forms.
func TestPublishedSchemasOfOutputAreCurrent(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("..", "..", "..", "docs", "schema", "output")
	if *update {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w := &writer{comments: map[string]map[string]string{}}
	for command := range forms {
		published(t, filepath.Join(dir, command+".schema.json"), w.schema(command))
	}
	published(t, filepath.Join(dir, anyCommand+".schema.json"), w.schema(anyCommand))
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != len(forms)+1 {
		t.Errorf("%s has %d files, want %d (%v)", dir, len(files), len(forms)+1, err)
	}
	for member := range renamed {
		if !slices.Contains(w.replaced, member) {
			t.Errorf("no form has %s, which renamed lists", member)
		}
	}
}

func published(t *testing.T, name string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what the code says (%v): go test ./runtime/report/output -update", name, err)
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

// writer turns types into schemas. Structs become definitions, and comments descriptions.
type writer struct {
	defs     object
	names    map[reflect.Type]string
	comments map[string]map[string]string // by package: of Type, and of Type.Field
	values   map[string]map[string][]string
	replaced []string
}

// schema is that of a command's output.
func (w *writer) schema(command string) []byte {
	w.defs, w.names = nil, map[reflect.Type]string{}
	var all []object
	for _, form := range append(slices.Clone(forms[command]), reflect.TypeFor[Failure]()) {
		all = append(all, w.of(form))
	}
	about := "What hank " + command + " prints with --json: one of these forms."
	switch command {
	case "events", "log":
		about = "A line that hank " + command + " prints with --json."
	case "run", "resume", "retry":
		about += " With --progress json each line is an Event, the last one a ResultLine or a FailureLine."
	case anyCommand:
		about = "What any command prints with --json instead of its own form where it fails, the last line of hank events and hank log."
	}
	slices.SortFunc(w.defs, func(a, b member) int { return strings.Compare(a.key, b.key) })
	text, err := json.Marshal(object{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "hank " + command},
		{"description", about + " Members that are not listed may come. Those that are deprecated stay."},
		{"anyOf", all}, {"$defs", w.defs},
	}, jsontext.WithIndent("  "))
	if err != nil {
		panic(err) // the writer makes nothing that cannot be written
	}
	return append(text, '\n')
}

// of returns the schema of a type.
func (w *writer) of(t reflect.Type) object {
	switch t {
	case reflect.TypeFor[state.Time]():
		return object{{"description", "UTC, with milliseconds"}, {"type", "string"}, {"format", "date-time"}, {"pattern", `^[0-9-]{10}T[0-9:]{8}\.[0-9]{3}Z$`}}
	case reflect.TypeFor[time.Time]():
		return object{{"type", "string"}, {"format", "date-time"}}
	case reflect.TypeFor[state.USD]():
		return object{{"description", "US dollars"}, {"type", "number"}}
	case reflect.TypeFor[state.SHA]():
		return object{{"description", "id of a commit"}, {"type", "string"}, {"pattern", "^([0-9a-f]{40})?$"}}
	case reflect.TypeFor[jsontext.Value]():
		return object{}
	case reflect.TypeFor[[]byte]():
		return object{{"type", "string"}, {"contentEncoding", "base64"}}
	}
	for _, custom := range []reflect.Type{reflect.TypeFor[json.MarshalerTo](), reflect.TypeFor[json.Marshaler]()} {
		if t.Implements(custom) {
			return object{} // of the file formats, which have schemas of their own
		}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return w.of(t.Elem())
	case reflect.String:
		if values := w.valuesOf(t); len(values) > 0 {
			return object{{"type", "string"}, {"examples", values}}
		}
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
		return object{{"$ref", "#/$defs/" + w.define(t)}}
	case reflect.Interface:
		return object{}
	}
	return object{{"type", "integer"}}
}

// define adds the definition of a struct once and returns its name: that of the type, with
// that of its package where another type has it.
func (w *writer) define(t reflect.Type) string {
	if name, ok := w.names[t]; ok {
		return name
	}
	name := strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
	for other, taken := range w.names {
		if taken == name && other != t {
			name = strings.ToUpper(base(t)[:1]) + base(t)[1:] + name
			break
		}
	}
	w.names[t] = name
	at := len(w.defs)
	w.defs = append(w.defs, member{name, nil})
	fields, open := w.fields(t)
	var properties object
	var required []string
	for _, f := range fields {
		if f.instead != "" && !hasMember(fields, f.instead) {
			f.instead = "" // only the forms beside it have that
		}
		properties = append(properties, member{f.name, f.described()})
		if f.always {
			required = append(required, f.name)
		}
	}
	body := object{{"description", sentence(w.comment(t, ""))}, {"type", "object"}, {"properties", properties}, {"required", required}}
	if open {
		body = append(body, member{"additionalProperties", true})
	}
	w.defs[at].value = body
	return name
}

func base(t reflect.Type) string { return filepath.Base(t.PkgPath()) }

// hasMember reports whether an object has what is to be read instead of another member:
// the first word of that.
func hasMember(fields []field, instead string) bool {
	name, _, _ := strings.Cut(instead, ",")
	name, _, _ = strings.Cut(name, " ")
	return slices.ContainsFunc(fields, func(f field) bool { return f.name == name })
}

// field is a member of an object.
type field struct {
	name    string
	schema  object
	about   string
	instead string // what is to be read instead of it; empty: it is not deprecated
	always  bool
	depth   int
}

// described is the schema with what is said of the member.
func (f field) described() object {
	schema, about := f.schema, f.about
	if f.instead != "" {
		about = strings.TrimPrefix(about+"; deprecated, use "+f.instead, "; ")
		schema = append(slices.Clone(schema), member{"deprecated", true}, member{"x-instead", f.instead})
	}
	if about != "" {
		schema = append(object{{"description", about}}, slices.DeleteFunc(slices.Clone(schema), func(m member) bool { return m.key == "description" })...)
	}
	return schema
}

// fields are the members of a struct as package json finds them: those of embedded structs
// are members of it, unless it has them itself. open: there may be more.
func (w *writer) fields(t reflect.Type) (out []field, open bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case f.Anonymous && name == "":
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			more, moreOpen := w.fields(inner)
			open = open || moreOpen
			for _, m := range more {
				m.depth++
				out = append(out, m)
			}
		case strings.Contains(options, "embed"):
			open = true
		case f.IsExported():
			if name == "" {
				name = f.Name
			}
			out = append(out, w.field(t, f, name, options))
		}
	}
	nearest := map[string]int{}
	for _, f := range out {
		if depth, known := nearest[f.name]; !known || f.depth < depth {
			nearest[f.name] = f.depth
		}
	}
	return slices.DeleteFunc(out, func(f field) bool { return f.depth > nearest[f.name] }), open
}

func (w *writer) field(t reflect.Type, f reflect.StructField, name, options string) field {
	schema := w.of(f.Type)
	always := !strings.Contains(options, "omit")
	if always && f.Type.Kind() == reflect.Pointer {
		schema = object{{"anyOf", []object{schema, {{"type", "null"}}}}}
	}
	named := base(t) + "." + t.Name() + "." + name
	if renamed[named] != "" {
		w.replaced = append(w.replaced, named)
	}
	return field{name: name, schema: schema, about: w.comment(t, f.Name), instead: renamed[named], always: always}
}

// comment is what the source says of a type, or of a field of it.
func (w *writer) comment(t reflect.Type, field string) string {
	w.read(t.PkgPath())
	return w.comments[t.PkgPath()][strings.TrimSuffix(t.Name()+"."+field, ".")]
}

// valuesOf are the constants of a type of strings.
func (w *writer) valuesOf(t reflect.Type) []string {
	if t.PkgPath() == "" {
		return nil
	}
	w.read(t.PkgPath())
	return w.values[t.PkgPath()][t.Name()]
}

// read reads the source of one of hank's packages.
func (w *writer) read(path string) {
	inside, own := strings.CutPrefix(path, "hank/")
	if _, known := w.comments[path]; known || !own {
		return
	}
	found, values := map[string]string{}, map[string][]string{}
	w.comments[path] = found
	if w.values == nil {
		w.values = map[string]map[string][]string{}
	}
	w.values[path] = values
	files, _ := filepath.Glob(filepath.Join("..", "..", "..", filepath.FromSlash(inside), "*.go"))
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			continue // the compiler says so
		}
		for _, d := range file.Decls {
			gen, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range gen.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					note(found, s, gen)
				case *ast.ValueSpec:
					if of, ok := s.Type.(*ast.Ident); ok && gen.Tok == token.CONST {
						for _, v := range s.Values {
							if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.STRING {
								if text, _ := strconv.Unquote(lit.Value); text != "" {
									values[of.Name] = append(values[of.Name], text)
								}
							}
						}
					}
				}
			}
		}
	}
}

// note takes in the comments of a type.
func note(found map[string]string, s *ast.TypeSpec, gen *ast.GenDecl) {
	doc := s.Doc
	if doc == nil {
		doc = gen.Doc
	}
	found[s.Name.Name] = flat(doc)
	structure, ok := s.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, f := range structure.Fields.List {
		text := flat(f.Comment)
		if text == "" {
			text = flat(f.Doc)
		}
		if text == "Additive." { // of the fields below it
			text = ""
		}
		for _, n := range f.Names {
			found[s.Name.Name+"."+n.Name] = text
		}
	}
}

func flat(c *ast.CommentGroup) string { return strings.Join(strings.Fields(c.Text()), " ") }

// sentence is the first one of a text.
func sentence(text string) string {
	first, _, _ := strings.Cut(text, ". ")
	return strings.TrimSuffix(first, ".")
}
