package report

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"hank/internal/term"
	"hank/recovery"
	"hank/runtime"
	"hank/runtime/exitcode"
	"hank/runtime/harness"
	"hank/runtime/harness/transcript"
	"hank/runtime/history"
	"hank/runtime/verdict"
	"hank/state"
)

// Transcript is an open transcript of an attempt at a codon, read line by line.
type Transcript struct {
	CodonID state.CodonID

	root, logPath string
	file          *os.File
	lines         *bufio.Reader
	part          []byte // of a line that is being written
	speech        speech
}

// TranscriptLine is a line of a transcript.
type TranscriptLine struct {
	Raw  []byte
	Kind LineKind
	Text string // for people, without what would steer a terminal
}

// LineKind is what a line of a transcript has for people.
type LineKind int

// The kinds of lines.
const (
	Silent      LineKind = iota // nothing
	Spoken                      // what the agent printed or the tools that it used
	ErrorOutput                 // what it printed to standard error
	Damaged
)

// OpenTranscript opens the newest transcript of a codon; without a name, the newest
// of all.
func OpenTranscript(v *recovery.View, id state.CodonID) (*Transcript, error) {
	record, err := transcriptOf(v, id)
	if err != nil {
		return nil, err
	}
	path := v.Layout.Resolve(record.ClaudeLogPath)
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, &exitcode.UsageError{Why: fmt.Sprintf("no such transcript: %s", term.ShortPath(path))}
	}
	if err != nil {
		return nil, err
	}
	return &Transcript{CodonID: record.CodonID, root: v.Layout.Root, logPath: record.ClaudeLogPath,
		file: f, lines: bufio.NewReader(f), speech: speech{workspace: v.Layout.Workspace}}, nil
}

// Close closes the transcript.
func (t *Transcript) Close() error { return t.file.Close() }

// transcriptOf finds the newest record that has a transcript.
func transcriptOf(v *recovery.View, id state.CodonID) (*state.Codon, error) {
	id, err := history.CodonAt(v.State, string(id))
	if err != nil {
		return nil, err
	}
	for _, r := range v.State.Runs {
		for i := r.Len() - 1; i >= 0; i-- {
			if k := r.Codon(i); (id == "" || k.CodonID == id) && k.ClaudeLogPath != "" {
				return k, nil
			}
		}
	}
	if id == "" {
		return nil, &exitcode.UsageError{Why: "no agent has been started yet"}
	}
	if !knows(v.State, id) {
		return nil, history.UnknownCodon(v.State, id)
	}
	return nil, &exitcode.UsageError{Why: fmt.Sprintf("codon %s has no transcript: its agent never started; see: `hank plan`", id)}
}

// Read calls fn for each complete line that there is.
func (t *Transcript) Read(fn func(TranscriptLine)) error {
	return eachLine(t.lines, &t.part, func(line []byte) { fn(t.speech.line(line)) })
}

// eachLine calls fn for each complete line. What has no end is being written, or was
// torn by a crash: it is left in part.
func eachLine(r *bufio.Reader, part *[]byte, fn func(line []byte)) error {
	for {
		read, err := r.ReadBytes('\n')
		*part = append(*part, read...)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		fn(bytes.TrimSuffix(*part, []byte("\n")))
		*part = (*part)[:0]
	}
}

// followEvery is how often a transcript that is followed is read.
const followEvery = 200 * time.Millisecond

// Follow calls fn for each line that comes, until no run is in progress any more.
func (t *Transcript) Follow(ctx context.Context, fn func(TranscriptLine)) error {
	for {
		_, gone := runtime.Control(ctx, t.root, "ping")
		if err := t.Read(fn); err != nil || gone != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(followEvery):
		}
	}
}

// Ending is how the attempt ended, and why, as far as it has. The commands in it have
// the option, see ReadStatus.
func (t *Transcript) Ending(option string) (string, error) {
	v, err := recovery.Read(t.root) // it may have ended since
	if err != nil {
		return "", err
	}
	ending := ""
	for _, r := range v.State.Runs {
		for _, k := range r.Codons() {
			if k.ClaudeLogPath != t.logPath {
				continue
			}
			ending = string(verdict.OfCodon(k, verdict.OfRun(v, r)))
			if more := verdict.Qualification(k); more != "" {
				ending += ", " + more
			}
			if k.FailureReason != nil {
				ending += ": " + shownCodon(k, option).FailureReason.Message
			}
		}
	}
	return ending, nil
}

// speech makes a transcript readable, line by line.
type speech struct {
	workspace string // which is left out of the arguments of tools
	last      string // the last text of the agent, which its result repeats
	tool      string // that the agent uses at the moment
}

// line is a line of a transcript for people.
func (s *speech) line(raw []byte) TranscriptLine {
	l := TranscriptLine{Raw: slices.Clone(raw)}
	e, err := transcript.Parse(raw)
	switch {
	case err != nil && isAgentEvent(raw): // as Hankweave kept it
		l.Kind, l.Text = s.spoken(raw)
	case err != nil:
		l.Kind, l.Text = Damaged, "(damaged transcript line)"
	case e.Stream == transcript.Stdout:
		l.Kind, l.Text = s.spoken(e.Line)
	case e.Stream == transcript.Stderr:
		l.Kind, l.Text = ErrorOutput, term.Printable(string(e.Line))
	}
	return l
}

// lastWords returns what an agent printed last, and the tool that it uses at the
// moment, from the end of its transcript.
func lastWords(path, workspace string) (words, tool string) {
	f, err := os.Open(path)
	if err != nil {
		return "", ""
	}
	defer f.Close()
	const tail, width = 256 << 10, 160
	if fi, err := f.Stat(); err != nil {
		return "", ""
	} else if _, err := f.Seek(max(0, fi.Size()-tail), io.SeekStart); err != nil {
		return "", ""
	}
	var part []byte
	s := speech{workspace: workspace}
	_ = eachLine(bufio.NewReader(f), &part, func(line []byte) {
		e, err := transcript.Parse(line)
		if err == nil && e.Stream == transcript.Stdout && len(bytes.TrimSpace(e.Line)) > 0 {
			s.spoken(e.Line)
		} else if err != nil && isAgentEvent(line) {
			s.spoken(line)
		}
	})
	return oneLine(s.last, width), oneLine(s.tool, width)
}

// oneLine is a text for people in one line of at most so many characters.
func oneLine(text string, width int) string {
	text = term.OneLine(term.Printable(text))
	if r := []rune(text); len(r) > width {
		text = string(r[:width-1]) + "…"
	}
	return text
}

// isAgentEvent reports whether a line is an event of an agent by itself.
func isAgentEvent(line []byte) bool {
	var event struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(line, &event) == nil && event.Type != ""
}

// silentEvents are those of an agent that have nothing for people where they have
// no text and no tool.
var silentEvents = []string{"system", "user", "assistant", "result", "stream_event", "rate_limit_event"}

// mostOfATool is how many columns the use of a tool may take.
const mostOfATool = 300

// spoken is a line of an agent for people: what it printed and which tools it uses,
// in a JSON event, or the line as it is. It is silent if it has nothing, or nothing
// new.
func (s *speech) spoken(line []byte) (LineKind, string) {
	var event struct {
		Type    string `json:"type"`
		Subtype string `json:"subtype"`
		Result  string `json:"result"`
		Message struct {
			Content blocks `json:"content"`
		} `json:"message"`
	}
	if json.Unmarshal(line, &event) != nil || event.Type == "" {
		s.last = string(line)
		return Spoken, term.Printable(s.last)
	}
	var texts []string
	if event.Type == "assistant" || event.Type == "user" || event.Type == "result" {
		s.tool = "" // it has answered, or there is nothing to wait for
	}
	for _, b := range event.Message.Content {
		switch {
		case b.Text != "":
			texts, s.last = append(texts, b.Text), b.Text
		case b.Name != "":
			s.tool = strings.ReplaceAll(harness.ToolUse{Name: b.Name, Input: b.Input}.String(), s.workspace+"/", "")
			texts = append(texts, term.Fit(term.OneLine(s.tool), mostOfATool))
		}
	}
	switch {
	case event.Type == "result" && event.Result == "" && event.Subtype != "success" && event.Subtype != "":
		texts = append(texts, "ended: "+event.Subtype)
	case event.Result != "" && event.Result != s.last:
		texts, s.last = append(texts, event.Result), event.Result
	}
	switch {
	case len(texts) > 0:
		return Spoken, term.Printable(strings.Join(texts, "\n"))
	case slices.Contains(silentEvents, event.Type):
		return Silent, ""
	}
	return Spoken, term.Printable(string(line))
}

// blocks are the parts of a message: a list of them, or one text.
type blocks []struct {
	Text  string          `json:"text"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// UnmarshalJSON reads either.
func (b *blocks) UnmarshalJSON(data []byte) error {
	type list blocks
	if len(data) > 0 && data[0] == '[' {
		return json.Unmarshal(data, (*list)(b))
	}
	*b = make(blocks, 1)
	return json.Unmarshal(data, &(*b)[0].Text)
}
