package logview

import (
	"bytes"
	"io"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// schema is the version of the objects that an Encoder writes.
const schema = 1

// Encoder writes the lines of attempts as JSON objects, one a line:
//
//	{"schema":1,"runId":…,"codonId":…,"attempt":1,"at":…,"stream":"stdout","event":{…},"entries":[…],"occurredAt":…}
//
// After the first four members the line is as the transcript has it, byte for byte, and
// entries are what people see of it. The stream of a line that cannot be read is damaged.
// Each attempt that is over is followed by one of the stream end, and a run that was
// followed by one of the stream run.
type Encoder struct {
	out     io.Writer
	attempt []byte // the first members
}

// NewEncoder returns an encoder.
func NewEncoder(out io.Writer) *Encoder { return &Encoder{out: out} }

// Attempt names the attempt whose lines come.
func (e *Encoder) Attempt(run, codon string, attempt int) error {
	first, err := json.Marshal(struct {
		Schema  int    `json:"schema"`
		RunID   string `json:"runId"`
		CodonID string `json:"codonId,omitempty"`
		Attempt int    `json:"attempt,omitzero"`
	}{schema, run, codon, attempt})
	e.attempt = bytes.TrimSuffix(first, []byte("}"))
	return err
}

// Line writes a line of the attempt.
func (e *Encoder) Line(l Line) error {
	var members []byte
	switch {
	case l.Stream != "":
		members = bytes.TrimSpace(l.Raw)
		members = members[1 : len(members)-1]
	case l.Event != nil:
		members = append([]byte(`"stream":"stdout","event":`), l.Event...)
	default:
		var err error
		if members, err = damaged(l); err != nil {
			return err
		}
	}
	entries := l.Entries
	if entries == nil {
		entries = []Entry{}
	}
	shown, err := encoded(entries)
	if err != nil {
		return err
	}
	return e.object(members, append([]byte(`"entries":`), shown...), occurred(l.At))
}

// damaged are the members of a line that cannot be read.
func damaged(l Line) ([]byte, error) {
	object := struct {
		Stream string  `json:"stream"`
		Line   *string `json:"line,omitempty"`
		Base64 []byte  `json:"base64,omitempty"`
		Bytes  int64   `json:"bytes,omitzero"`
	}{Stream: "damaged", Bytes: l.TooLong}
	if text := string(l.Raw); l.TooLong == 0 && utf8.ValidString(text) {
		object.Line = &text
	} else {
		object.Base64 = l.Raw
	}
	text, err := encoded(object)
	return bytes.TrimSuffix(bytes.TrimPrefix(text, []byte("{")), []byte("}")), err
}

// Member writes what an attempt or a run ended with at a time, as a member of the stream's
// name.
func (e *Encoder) Member(stream string, at time.Time, value any) error {
	text, err := encoded(value)
	if err != nil {
		return err
	}
	return e.object([]byte(`"stream":"`+stream+`"`), append([]byte(`"`+stream+`":`), text...), occurred(at))
}

// occurred is when something was, in UTC with milliseconds; null where that is not known.
func occurred(at time.Time) []byte {
	if at.IsZero() {
		return []byte(`"occurredAt":null`)
	}
	return []byte(at.UTC().Format(`"occurredAt":"2006-01-02T15:04:05.000Z"`))
}

// encoded is a value as JSON; text that is not UTF-8 as well as it can be.
func encoded(value any) ([]byte, error) {
	return json.Marshal(value, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
}

func (e *Encoder) object(members ...[]byte) error {
	text := bytes.Join(append([][]byte{e.attempt}, members...), []byte(","))
	_, err := e.out.Write(append(text, '}', '\n'))
	return err
}
