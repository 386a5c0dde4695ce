package journal

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Schema is the number of what this package writes, its events included: it is
// that of the state (state.SchemaVersion).
const Schema = 4

// maxLine bounds a line, in bytes. It is generous because the event of a base
// carries a whole state.
const maxLine = 256 << 20

const (
	headerType = "journal.segment"
	timeLayout = "2006-01-02T15:04:05.000Z"
	sumLen     = len(`,"sum":"00000000"}`)
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Event is one line of the journal.
type Event struct {
	Seq       uint64
	ID        string
	Timestamp time.Time // written in UTC, cut to milliseconds
	Type      string
	Data      jsontext.Value // any JSON; nil is written as null
}

// appendLine appends the event's line, newline included, to dst.
func appendLine(dst []byte, e Event) ([]byte, error) {
	if len(e.Data) > maxLine-1024 {
		return dst, fmt.Errorf("event %d (%s) has %d bytes of data; a line of the journal holds at most %d", e.Seq, e.Type, len(e.Data), maxLine)
	}
	start := len(dst)
	dst = append(dst, `{"seq":`...)
	dst = strconv.AppendUint(dst, e.Seq, 10)
	dst = append(dst, `,"id":`...)
	dst, err := jsontext.AppendQuote(dst, e.ID)
	if err != nil {
		return dst[:start], fmt.Errorf("the id of event %d: %w", e.Seq, err)
	}
	dst = append(dst, `,"timestamp":"`...)
	at := e.Timestamp.UTC()
	if y := at.Year(); y < 0 || y > 9999 {
		return dst[:start], fmt.Errorf("the timestamp of event %d is in the year %d", e.Seq, y)
	}
	dst = at.AppendFormat(dst, timeLayout)
	dst = append(dst, `","type":`...)
	if dst, err = jsontext.AppendQuote(dst, e.Type); err != nil {
		return dst[:start], fmt.Errorf("the type of event %d: %w", e.Seq, err)
	}
	dst = append(dst, `,"data":`...)
	data := jsontext.Value("null")
	if len(e.Data) > 0 {
		data = e.Data.Clone()
		// No newline is left in it. It is as strict as whoever reads it: unlike
		// Compact it lets neither other text than UTF-8 nor a name twice through.
		if err := data.Format(jsontext.PreserveRawStrings(true)); err != nil {
			return dst[:start], fmt.Errorf("the data of event %d (%s): %w", e.Seq, e.Type, err)
		}
	}
	dst = append(dst, data...)
	dst = appendSum(dst, dst[start:])
	if len(dst)-start > maxLine {
		return dst[:start], fmt.Errorf("event %d (%s) makes a line of %d bytes; the journal holds at most %d", e.Seq, e.Type, len(dst)-start, maxLine)
	}
	return append(dst, '\n'), nil
}

func appendSum(dst, body []byte) []byte {
	const digits = "0123456789abcdef"
	sum := crc32.Checksum(body, castagnoli)
	dst = append(dst, `,"sum":"`...)
	for shift := 28; shift >= 0; shift -= 4 {
		dst = append(dst, digits[sum>>shift&15])
	}
	return append(dst, '"', '}')
}

// line is a verified line; its parts are raw JSON and belong to the reader.
type line struct {
	seq                   uint64
	id, stamp, kind, data []byte
}

var (
	errSum  = errors.New("its checksum does not match its bytes")
	errForm = errors.New("it has a right checksum but not the form of a journal line")
)

// parse verifies a line without its newline.
func parse(b []byte) (line, error) {
	var l line
	if len(b) < sumLen {
		return l, errSum
	}
	body := b[:len(b)-sumLen]
	var sum [sumLen]byte
	if !bytes.Equal(appendSum(sum[:0], body), b[len(body):]) {
		return l, errSum
	}
	rest, ok := bytes.CutPrefix(body, []byte(`{"seq":`))
	if !ok {
		return l, errForm
	}
	digits, rest, ok := bytes.Cut(rest, []byte(`,`))
	seq, err := strconv.ParseUint(string(digits), 10, 64)
	if !ok || err != nil {
		return l, errForm
	}
	l.seq = seq
	for _, part := range []struct {
		key string
		to  *[]byte
	}{{`"id":`, &l.id}, {`,"timestamp":`, &l.stamp}, {`,"type":`, &l.kind}} {
		if *part.to, rest, ok = cutString(rest, part.key); !ok {
			return l, errForm
		}
	}
	l.data, ok = bytes.CutPrefix(rest, []byte(`,"data":`))
	if !ok || len(l.data) == 0 || l.seq == 0 && !l.isHeader() {
		return l, errForm
	}
	return l, nil
}

func (l line) isHeader() bool { return string(l.kind) == `"`+headerType+`"` }

// cutString takes a key and a JSON string off the front of b.
func cutString(b []byte, key string) (quoted, rest []byte, ok bool) {
	if !bytes.HasPrefix(b, []byte(key)) || len(b) <= len(key) || b[len(key)] != '"' {
		return nil, nil, false
	}
	b = b[len(key):]
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return b[:i+1], b[i+1:], true
		}
	}
	return nil, nil, false
}

// event returns a copy that outlives the reader's buffer.
func (l line) event() (Event, error) {
	e := Event{Seq: l.seq}
	id, err := jsontext.AppendUnquote(nil, l.id)
	if err != nil {
		return e, errForm
	}
	kind, err := jsontext.AppendUnquote(nil, l.kind)
	if err != nil {
		return e, errForm
	}
	at, err := time.Parse(`"`+timeLayout+`"`, string(l.stamp))
	if err != nil {
		return e, errForm
	}
	e.ID, e.Type, e.Timestamp, e.Data = string(id), string(kind), at, bytes.Clone(l.data)
	if !e.Data.IsValid() {
		return e, errForm
	}
	return e, nil
}

// header is the data of a segment's first line.
type header struct {
	Schema int  `json:"schema"`
	Base   bool `json:"base"`
}
