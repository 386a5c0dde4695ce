package journal

import (
	"bytes"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// FuzzLine: a line with the right checksum is an event that makes the very same
// line when it is written again, but for how numbers and texts are spelled, or it
// is refused.
func FuzzLine(f *testing.F) {
	for _, s := range []string{`{"seq":1,"id":"a","timestamp":"2026-01-02T03:04:05.006Z","type":"x","data":{"b":[1,null]}`,
		`{"seq":18446744073709551615,"id":"\u0000\"","timestamp":"9999-12-31T23:59:59.999Z","type":"","data":null`,
		`{"seq":0,"id":"","timestamp":"2026-01-02T03:04:05.006Z","type":"journal.segment","data":{"schema":1,"base":true}`,
		`{"seq":1,"id":"a","timestamp":"2026-01-02T03:04:05.006Z","type":"x","data":` + string(bytes.Repeat([]byte("["), 20_000)),
		`{"seq":+1,"id":"a","timestamp":"","type":"\","data":1`, `{"seq":01,"id":"a`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if bytes.ContainsAny(body, "\n") || len(body) > maxLine/2 {
			return
		}
		l, err := parse(appendSum(bytes.Clone(body), body))
		if err != nil {
			if err != errForm {
				t.Fatalf("the checksum is right: %v", err)
			}
			return
		}
		e, err := l.event()
		if err != nil {
			return
		}
		line, err := appendLine(nil, e)
		if err != nil {
			t.Fatalf("it was read and cannot be written: %v", err)
		}
		l2, err := parse(line[:len(line)-1])
		if err != nil {
			t.Fatalf("it was written and cannot be read: %v\n%s", err, line)
		}
		e2, err := l2.event()
		if err != nil || !same(e2, Event{e.Seq, e.ID, e.Timestamp, e.Type, compact(t, e.Data)}) {
			t.Fatalf("%+v came back as %+v, %v", e, e2, err)
		}
	})
}

func compact(t testing.TB, data jsontext.Value) jsontext.Value {
	t.Helper()
	v := data.Clone()
	if err := v.Compact(); err != nil {
		t.Fatal(err)
	}
	return v
}

// FuzzEvent: what is accepted as an event is in its line as it was.
func FuzzEvent(f *testing.F) {
	f.Add(uint64(1), "id", "type", []byte(`{"a":1}`), int64(0))
	f.Add(uint64(0), "\xff", headerType, []byte(`x`), int64(1)<<60)
	f.Add(uint64(1), "id", "type", []byte("\"\xb9\""), int64(0))
	f.Add(uint64(1), "id", "type", []byte(`{"a":1,"a":2}`), int64(0))
	f.Fuzz(func(t *testing.T, seq uint64, id, kind string, data []byte, ms int64) {
		e := Event{Seq: seq, ID: id, Type: kind, Data: data, Timestamp: time.UnixMilli(ms)}
		line, err := appendLine(nil, e)
		if err != nil {
			if len(line) > 0 {
				t.Fatalf("an error, and %d bytes", len(line))
			}
			return
		}
		if bytes.Count(line, []byte("\n")) != 1 || line[len(line)-1] != '\n' {
			t.Fatalf("not one line: %q", line)
		}
		l, err := parse(line[:len(line)-1])
		if err != nil {
			if seq == 0 && kind != headerType {
				return
			}
			t.Fatalf("it cannot be read: %v: %s", err, line)
		}
		back, err := l.event()
		want := e
		if len(want.Data) == 0 {
			want.Data = jsontext.Value("null")
		}
		want.Data = compact(t, want.Data)
		if err != nil || back.Seq != seq || back.ID != id || back.Type != kind || !bytes.Equal(back.Data, want.Data) || !back.Timestamp.Equal(e.Timestamp) {
			t.Fatalf("%+v came back as %+v, %v", e, back, err)
		}
	})
}
