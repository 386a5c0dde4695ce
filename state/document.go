package state

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hank/plan"
)

// document is the root of state.json. The codons of a run and the entries of
// the plan are spliced in as text, see Marshal.
type document struct {
	Runs              []runDocument  `json:"runs"`
	CurrentRunID      *RunID         `json:"currentRunId"`
	InitialCheckpoint SHA            `json:"initialCheckpoint,omitempty"`
	ExecutionPlan     []plan.Entry   `json:"executionPlan"`
	Hank              *head          `json:"hank,omitempty"`
	Digest            string         `json:"digest,omitempty"`
	Unknown           jsontext.Value `json:",embed"`
}

type runDocument struct {
	Run
	Iterations []*Judgement `json:"iterations,omitempty"`
	Codons     []*Codon     `json:"codons"`
}

// head holds hank's additions to the root, under the key hank.
type head struct {
	Schema     int            `json:"schema"`
	Lineage    string         `json:"lineage"`
	Serial     uint64         `json:"serial"`
	Seq        uint64         `json:"seq"`
	Program    SHA            `json:"program,omitempty"`
	HankHash   string         `json:"hankHash,omitempty"`
	Base       SHA            `json:"base,omitempty"`
	Adopted    bool           `json:"adopted,omitzero"`
	Position   *Position      `json:"position,omitempty"`
	Intent     *Intent        `json:"intent,omitempty"`
	Removed    []Removal      `json:"removed,omitempty"`
	Removal    SHA            `json:"removal,omitempty"`
	Limits     Limits         `json:"limits,omitzero"`
	Operations []Operation    `json:"operations,omitempty"`
	Gates      []Gate         `json:"gates,omitempty"`
	Hold       *Hold          `json:"hold,omitempty"`
	Unknown    jsontext.Value `json:",embed"`
}

// DamagedError is a state.json that is not what hank wrote.
type DamagedError struct{ Why string }

func (e *DamagedError) Error() string { return "the state is damaged: " + e.Why }

// NewerError is a state of a newer hank. It is not damage.
type NewerError struct{ Schema int }

func (e *NewerError) Error() string {
	return fmt.Sprintf("the state has schema %d and this hank knows up to %d: it needs a hank version of state schema %d or later (see: hank version), and was not touched", e.Schema, SchemaVersion, e.Schema)
}

// digestKey precedes the digest, which is the last member of the document and
// covers every byte before this text.
const digestKey = ",\n  \"digest\": \"sha256:"

// codonsKey precedes the records of a run, and planKey the entries of the
// plan. A string has no line break in it, so that either text is nowhere
// else at its depth.
const (
	iterationsKey = ",\n      \"iterations\": "
	codonsKey     = ",\n      \"codons\": "
	planKey       = ",\n  \"executionPlan\": "
)

// Marshal returns the text of state.json: the documented shape, indented by
// two spaces, with hank's additions and a digest of itself at the end. Frozen
// records and plan entries are encoded once in their lives, so that the cost
// is mostly that of copying text.
func (s *State) Marshal() ([]byte, error) {
	text, err := s.encode()
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	return fmt.Appendf(text, "%s%x\"\n}\n", digestKey, sum), nil
}

// Rebase returns the event that makes s the state that a journal starts from.
func (s *State) Rebase(reason string) (Rebased, error) {
	text, err := s.encode()
	return Rebased{State: append(text, "\n}"...), Reason: reason}, err
}

// encode returns the document without its digest and closing brace.
func (s *State) encode() ([]byte, error) {
	w := &writer{}
	w.buf = *bytes.NewBuffer(make([]byte, 0, s.weight()))
	w.buf.WriteString("{\n  \"runs\": ")
	w.list("  ", len(s.Runs), func(i int) error { return s.Runs[i].marshal(w) })
	var current *RunID
	if s.CurrentRunID != "" {
		current = &s.CurrentRunID
	}
	w.member("currentRunId", current)
	if s.InitialCheckpoint != "" {
		w.member("initialCheckpoint", s.InitialCheckpoint)
	}
	w.buf.WriteString(planKey)
	w.list("  ", s.plan.len(), func(i int) error { return w.text(s.plan.items[i].marshal()) })
	w.unknown(s.Unknown)
	w.member("hank", head{SchemaVersion, s.Lineage, s.Serial, s.Seq, s.Program, s.HankHash, s.Base, s.Adopted, s.Position, s.Intent, s.Removed, s.Removal, s.Limits, s.Operations, s.Gates, s.Hold, s.HankUnknown})
	if w.err != nil {
		return nil, fmt.Errorf("encoding the state: %w", w.err)
	}
	return w.buf.Bytes(), nil
}

// weight is about how long the text of the state is, so that it is written in
// one piece of memory.
func (s *State) weight() int {
	n := 16 << 10
	for _, r := range s.Runs {
		n += 4 << 10
		for _, c := range r.done.items {
			n += len(c.encoded) + 16
		}
		for _, j := range r.judged.items {
			n += len(j.encoded) + 16
		}
	}
	for _, e := range s.plan.items {
		n += len(e.encoded) + 16
	}
	return n
}

// marshal writes the run's text at its depth in state.json, its records
// spliced in.
func (r *Run) marshal(w *writer) error {
	text, err := indent(r, "    ")
	if err != nil {
		return err
	}
	w.buf.Write(bytes.TrimSuffix(text, []byte("\n    }")))
	if r.judged.len() > 0 {
		w.buf.WriteString(iterationsKey)
		w.list("      ", r.judged.len(), func(i int) error { return w.text(r.judged.items[i].marshal()) })
	}
	w.buf.WriteString(codonsKey)
	w.list("      ", r.Len(), func(i int) error { return w.text(r.Codon(i).marshal()) })
	w.buf.WriteString("\n    }")
	return nil
}

func (c *Codon) marshal() ([]byte, error) {
	if c.encoded != nil {
		return c.encoded, nil
	}
	return indent(c, "        ")
}

// freeze keeps the text of a record that does not change any more.
func (c *Codon) freeze() error {
	text, err := c.marshal()
	c.encoded = text
	return err
}

func (j *Judgement) marshal() ([]byte, error) {
	if j.encoded != nil {
		return j.encoded, nil
	}
	return indent(j, "        ")
}

func (j *Judgement) freeze() error {
	text, err := j.marshal()
	j.encoded = text
	return err
}

// loadJudgements puts verdicts into a run.
func (r *Run) loadJudgements(judged []*Judgement) error {
	for _, j := range judged {
		if j == nil {
			return &DamagedError{fmt.Sprintf("run %s has an empty verdict", r.RunID)}
		}
		if err := j.freeze(); err != nil {
			return &DamagedError{err.Error()}
		}
	}
	r.judged = newList(judged)
	return nil
}

// frozen returns entries with their texts.
func frozen(entries []plan.Entry) ([]*PlanEntry, error) {
	out := make([]*PlanEntry, len(entries))
	for i := range entries {
		out[i] = &PlanEntry{Entry: entries[i]}
		if err := out[i].freeze(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (e *PlanEntry) marshal() ([]byte, error) {
	if e.encoded != nil {
		return e.encoded, nil
	}
	return indent(&e.Entry, "    ")
}

func (e *PlanEntry) freeze() error {
	text, err := e.marshal()
	e.encoded = text
	return err
}

func indent(v any, prefix string) ([]byte, error) {
	return json.Marshal(v, json.Deterministic(true), jsontext.WithIndentPrefix(prefix), jsontext.WithIndent("  "))
}

// writer collects the text of a document and its first error.
type writer struct {
	buf bytes.Buffer
	err error
}

// list writes an array whose items bring their own indentation, which is that
// of the array and one step more.
func (w *writer) list(prefix string, n int, item func(int) error) {
	if n == 0 {
		w.buf.WriteString("[]")
		return
	}
	w.buf.WriteString("[")
	for i := range n {
		if i > 0 {
			w.buf.WriteString(",")
		}
		w.buf.WriteString("\n" + prefix + "  ")
		if err := item(i); err != nil && w.err == nil {
			w.err = err
		}
	}
	w.buf.WriteString("\n" + prefix + "]")
}

// text writes what was encoded.
func (w *writer) text(text []byte, err error) error {
	w.buf.Write(text)
	return err
}

func (w *writer) member(name string, value any) {
	text, err := indent(value, "  ")
	if err != nil && w.err == nil {
		w.err = err
	}
	fmt.Fprintf(&w.buf, ",\n  %q: %s", name, text)
}

// unknown writes the members of an object one by one.
func (w *writer) unknown(object jsontext.Value) {
	if len(object) == 0 {
		return
	}
	text, err := indent(object, "")
	if err != nil && w.err == nil {
		w.err = err
	}
	members := strings.TrimSuffix(strings.TrimPrefix(string(text), "{"), "\n}")
	if strings.TrimSpace(members) != "" && members != "{}" {
		w.buf.WriteString("," + members)
	}
}

// Unmarshal reads the text of a state.json. A state that hank wrote must carry
// a right digest; one that has none of hank's additions need not. The error is
// a *DamagedError or a *NewerError. Unmarshal checks the shape; Validate
// checks what the state says. The state keeps the text, which must not change.
func Unmarshal(text []byte) (*State, error) {
	if checkDigest(text) == nil {
		return UnmarshalVerified(text)
	}
	doc, err := parse(text)
	if err != nil {
		return nil, err
	}
	if doc.Hank != nil || doc.Digest != "" {
		if err := checkDigest(text); err != nil {
			return nil, err
		}
	}
	return doc.state()
}

// UnmarshalVerified is Unmarshal of a text that Verify has accepted.
func UnmarshalVerified(text []byte) (*State, error) {
	if bytes.Contains(text[max(0, len(text)-128):], []byte(digestKey)) {
		if s, err := unmarshalOwn(text); !errors.Is(err, errOtherForm) {
			return s, err
		}
	}
	doc, err := parse(text)
	if err != nil {
		return nil, err
	}
	return doc.state()
}

func parse(text []byte) (*document, error) {
	var doc document
	err := json.Unmarshal(text, &doc)
	if schema := schemaOf(text, &doc, err); schema > SchemaVersion {
		return nil, &NewerError{schema}
	}
	if err != nil {
		return nil, &DamagedError{describe(err)}
	}
	if doc.Runs == nil || doc.ExecutionPlan == nil {
		return nil, &DamagedError{"runs and executionPlan must be lists"}
	}
	return &doc, nil
}

// schemaOf is the schema that a text says it has, 0 if it says none. What does
// not fit the present shape may still say that it is of a newer one.
func schemaOf(text []byte, doc *document, misfit error) int {
	if misfit == nil {
		if doc.Hank == nil {
			return 0
		}
		return doc.Hank.Schema
	}
	var version struct {
		Hank struct {
			Schema int `json:"schema"`
		} `json:"hank"`
	}
	if json.Unmarshal(text, &version) != nil {
		return 0
	}
	return version.Hank.Schema
}

func (doc *document) state() (*State, error) {
	s := &State{InitialCheckpoint: doc.InitialCheckpoint, Unknown: doc.Unknown}
	if doc.CurrentRunID != nil {
		s.CurrentRunID = *doc.CurrentRunID
	}
	if h := doc.Hank; h != nil {
		s.Lineage, s.Serial, s.Seq = h.Lineage, h.Serial, h.Seq
		s.Program, s.HankHash, s.Base, s.Adopted = h.Program, h.HankHash, h.Base, h.Adopted
		s.Position, s.Intent, s.HankUnknown = h.Position, h.Intent, h.Unknown
		s.Removed, s.Removal, s.Limits, s.Operations = h.Removed, h.Removal, h.Limits, h.Operations
		s.Gates, s.Hold = h.Gates, h.Hold
	}
	for i := range doc.Runs {
		run := doc.Runs[i].Run
		if err := run.load(doc.Runs[i].Codons); err != nil {
			return nil, err
		}
		if err := run.loadJudgements(doc.Runs[i].Iterations); err != nil {
			return nil, err
		}
		s.Runs = append(s.Runs, &run)
	}
	entries, err := frozen(doc.ExecutionPlan)
	if err != nil {
		return nil, &DamagedError{err.Error()}
	}
	s.plan = newList(entries)
	return s, nil
}

// load puts records into a run. Only the last may be live; a foreign state
// may have others that are not final, which Validate reports.
func (r *Run) load(codons []*Codon) error {
	for i, c := range codons {
		if c == nil {
			return &DamagedError{fmt.Sprintf("run %s has an empty record", r.RunID)}
		}
		if i == len(codons)-1 && !c.Status.Terminal() {
			r.live, c.encoded = c, nil
			codons = codons[:i]
			break
		}
		if c.encoded != nil {
			continue
		}
		if err := c.freeze(); err != nil {
			return &DamagedError{err.Error()}
		}
	}
	r.done = newList(codons)
	return nil
}

func checkDigest(text []byte) error {
	at := bytes.LastIndex(text, []byte(digestKey))
	if at < 0 {
		return &DamagedError{"it does not end with its digest"}
	}
	sum := sha256.Sum256(text[:at])
	if string(text[at:]) != fmt.Sprintf("%s%x\"\n}\n", digestKey, sum) {
		return &DamagedError{"its digest does not fit its content"}
	}
	return nil
}

// Peek returns what a text that is verified says of itself: the lineage of its
// execution and the last event that is folded in. They are empty in a text that
// another system has written.
func Peek(text []byte) (lineage string, seq uint64) {
	const key = "\n  \"hank\": "
	end := bytes.LastIndex(text, []byte(digestKey))
	at := bytes.LastIndex(text[:max(end, 0)], []byte(key))
	var h head
	if at < 0 || json.Unmarshal(text[at+len(key):end], &h) != nil {
		return "", 0
	}
	return h.Lineage, h.Seq
}

// Verify reports whether text is a state.json that may be trusted as a whole. A
// right digest is enough: it says that hank wrote every byte.
func Verify(text []byte) error {
	if checkDigest(text) == nil {
		return nil
	}
	_, err := Unmarshal(text)
	return err
}

func describe(err error) string {
	if semantic, is := errors.AsType[*json.SemanticError](err); is {
		semantic.GoType = nil // nobody but a programmer knows it
		return strings.TrimPrefix(fmt.Sprintf("%s: %v", semantic.JSONPointer, err), ": ")
	}
	return err.Error()
}
