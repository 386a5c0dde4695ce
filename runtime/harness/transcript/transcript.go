// Package transcript is the file format in which hank keeps what an agent
// printed in one attempt, byte for byte and with the times.
//
// A transcript is JSON Lines, one entry a line:
//
//	{"at":"2026-11-20T20:16:00.5Z","stream":"start","start":{"schema":1,"harness":"claude",…}}
//	{"at":…,"stream":"stdout","event":{"type":"system",…}}   a line that is a JSON object, as it is
//	{"at":…,"stream":"stderr","line":"warning: …"}           any other line
//	{"at":…,"stream":"stdout","base64":"/w=="}               a line that is not UTF-8
//	{"at":…,"stream":"exit","exit":{"code":-1,"signal":"SIGTERM","offset":2048}}
//
// A turn, which is one process of the agent, begins with its start and ends
// with its exit; the exit is missing if the runtime itself died. A codon that
// is extended has several turns in its transcript. A last line without a newline
// was torn by a crash and is no entry.
package transcript

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"
	"unicode/utf8"

	"hank/state"
)

// Schema is the version of the format.
const Schema = 1

// Stream says what an entry is.
type Stream string

// The streams.
const (
	StreamStart Stream = "start"
	Stdout      Stream = "stdout"
	Stderr      Stream = "stderr"
	StreamExit  Stream = "exit"
)

// Start is what a reader of a turn's lines must know.
type Start struct {
	Schema        int       `json:"schema"`
	Harness       string    `json:"harness"`
	Attempt       string    `json:"attempt,omitempty"`
	Model         string    `json:"model,omitempty"`
	Session       string    `json:"session,omitempty"`      // the one that was to be continued
	SessionCost   state.USD `json:"sessionCost,omitempty"`  // what it had cost before
	SessionTokens Count     `json:"sessionTokens,omitzero"` // what the agent had counted for it before
}

// Count is a count of tokens.
type Count struct {
	Input         int64 `json:"inputTokens"`
	Output        int64 `json:"outputTokens"`
	CacheCreation int64 `json:"cacheCreationTokens"`
	CacheRead     int64 `json:"cacheReadTokens"`
}

// Counted is the count of tokens.
func Counted(t state.Tokens) Count { return Count{t.Input, t.Output, t.CacheCreation, t.CacheRead} }

// Tokens are those that were counted.
func (c Count) Tokens() state.Tokens {
	return state.Tokens{Input: c.Input, Output: c.Output, CacheCreation: c.CacheCreation, CacheRead: c.CacheRead}
}

// Exit is how the process ended.
type Exit struct {
	Code   int    `json:"code"`             // -1 after a signal
	Signal string `json:"signal,omitempty"` // SIGTERM
	Offset int64  `json:"offset,omitempty"` // how many bytes were written before the entry; 0: an older version wrote none
}

// Entry is one line of a transcript. Stream says which of the other fields is
// set: Line for Stdout and Stderr, Start, or Exit.
type Entry struct {
	At     time.Time
	Stream Stream
	Line   []byte // without the newline
	Start  Start
	Exit   Exit
}

// wire is the form of an entry on disk.
type wire struct {
	At     time.Time       `json:"at"`
	Stream Stream          `json:"stream"`
	Event  json.RawMessage `json:"event,omitempty"`
	Line   *string         `json:"line,omitempty"`
	Base64 []byte          `json:"base64,omitempty"`
	Start  *Start          `json:"start,omitempty"`
	Exit   *Exit           `json:"exit,omitempty"`
}

// Append appends the entry to dst as one line with its newline. A caller that
// writes it to a file with one call never mixes two entries.
func (e Entry) Append(dst []byte) []byte {
	at := e.At.UTC().Truncate(time.Microsecond)
	if isEvent(e.Line) {
		// Not through json.Marshal, which would rewrite the agent's bytes.
		dst = fmt.Appendf(dst, `{"at":%q,"stream":%q,"event":`, at.Format(time.RFC3339Nano), e.Stream)
		dst = append(dst, e.Line...)
		return append(dst, '}', '\n')
	}
	w := wire{At: at, Stream: e.Stream}
	switch e.Stream {
	case StreamStart:
		start := e.Start
		start.Schema = Schema
		w.Start = &start
	case StreamExit:
		w.Exit = &e.Exit
	default:
		if utf8.Valid(e.Line) {
			line := string(e.Line)
			w.Line = &line
		} else {
			w.Base64 = e.Line
		}
	}
	text, err := json.Marshal(w)
	if err != nil {
		panic(fmt.Sprintf("transcript: a time of year %d: %v", at.Year(), err)) // nothing else in wire can fail
	}
	return append(append(dst, text...), '\n')
}

// maxDepth is how deeply encoding/json lets values be nested.
const maxDepth = 10000

// isEvent reports whether a line can be a part of an entry as it is.
func isEvent(line []byte) bool {
	return len(line) >= 2 && line[0] == '{' && line[len(line)-1] == '}' &&
		utf8.Valid(line) && bytes.IndexByte(line, '\n') < 0 &&
		bytes.Count(line, []byte("{"))+bytes.Count(line, []byte("[")) < maxDepth &&
		json.Valid(line)
}

// Parse reads one line.
func Parse(text []byte) (Entry, error) {
	var w wire
	if err := json.Unmarshal(text, &w); err != nil {
		return Entry{}, fmt.Errorf("no transcript entry: %w", err)
	}
	e := Entry{At: w.At, Stream: w.Stream}
	switch {
	case w.Stream == StreamStart && w.Start != nil:
		if w.Start.Schema > Schema {
			return Entry{}, fmt.Errorf("the transcript has schema %d, and this hank reads up to %d; use a newer hank", w.Start.Schema, Schema)
		}
		e.Start = *w.Start
	case w.Stream == StreamExit && w.Exit != nil:
		e.Exit = *w.Exit
	case w.Stream != Stdout && w.Stream != Stderr:
		return Entry{}, fmt.Errorf("no transcript entry: unknown stream %q", w.Stream)
	case w.Event != nil:
		e.Line = w.Event
	case w.Line != nil:
		e.Line = []byte(*w.Line)
	default:
		e.Line = w.Base64
	}
	return e, nil
}

// Read yields the entries of a transcript. An error names its line and ends
// the sequence.
func Read(r io.Reader) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		in := bufio.NewReader(r)
		for n := 1; ; n++ {
			text, err := in.ReadBytes('\n')
			if errors.Is(err, io.EOF) {
				return
			}
			var e Entry
			if err == nil {
				e, err = Parse(text)
			}
			if err == nil && n == 1 && e.Stream != StreamStart {
				err = errors.New("a transcript begins with a start entry")
			}
			if err != nil {
				yield(Entry{}, fmt.Errorf("line %d: %w", n, err))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}
