package logview

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"hank/internal/term"
	"hank/runtime/harness"
	"hank/runtime/harness/transcript"
)

// Kind is what an entry is.
type Kind string

// The kinds of entries. Their names are published.
const (
	Message  Kind = "message"  // of the agent
	Thinking Kind = "thinking" // of the agent
	Tool     Kind = "tool"     // the agent uses a tool
	Result   Kind = "result"   // what a tool answered
	Output   Kind = "output"   // a line of a script, or of an agent that is no event
	Stderr   Kind = "stderr"   // a line of its standard error
	Retry    Kind = "retry"    // the agent waits for its provider
	Notice   Kind = "notice"   // what the agent's program says of its own work
	Damaged  Kind = "damaged"  // a line that cannot be read, and why
)

// Entry is one thing that people see of a transcript. Its text is exact.
type Entry struct {
	Kind Kind   `json:"kind"`
	Text string `json:"text,omitempty"`            // of a tool: its main argument, or all as JSON if none is a text
	Tool string `json:"tool,omitempty"`            // its name, also of a result
	ID   string `json:"toolUseId,omitempty"`       // joins a result to its tool
	Of   string `json:"parentToolUseId,omitempty"` // the use of a tool that started the subagent whose entry this is
	// Error: the tool failed, or the message is one of the agent's program, which
	// tells of an error of the provider.
	Error bool `json:"error,omitzero"`

	use     string // of a result: the main argument of its tool
	gist    string // of a result: what is shown of it unless all of it is asked for; empty: its beginning
	repeats bool   // of a result: it begins with the last message of the subagent
	input   []byte // of a tool
}

// Line is a line of a transcript. Raw is the caller's.
type Line struct {
	Raw     []byte
	At      time.Time         // zero where the line does not say
	Stream  transcript.Stream // empty where it cannot be read, or is one of another system
	Event   []byte            // of a line of another system: an agent's event by itself
	TooLong int64             // how long a line is that is too long to be shown; Raw is empty then
	Entries []Entry
}

// Damage is a line of no transcript that says what is wrong with one.
func Damage(text string) Line { return Line{Entries: []Entry{{Kind: Damaged, Text: text}}} }

// Formats are the harnesses that know what a line means: ByName by the name that a
// transcript begins with, and Other where nobody has that name, for lines that are
// events. Lines that are none are text.
type Formats struct {
	ByName map[string]harness.Harness
	Other  harness.Harness
}

// Parser makes entries of the lines of one transcript, in their order.
type Parser struct {
	formats Formats
	reader  harness.Reader
	plain   bool // the agent's lines are text
	turns   int
	last    string            // the last message of the agent, which its result repeats
	open    map[string]Entry  // the tools that have not answered
	said    map[string]string // by tool: the last message of its subagent
	gist    map[string]string // by tool: what the agent's program says that it answers
}

// NewParser begins a transcript, or a part of one that has begun so.
func NewParser(formats Formats, start transcript.Start) *Parser {
	p := &Parser{formats: formats, open: map[string]Entry{}, said: map[string]string{}, gist: map[string]string{}}
	p.read(start)
	return p
}

// read chooses the reader of the lines to come. What is known of the agent's
// environment is nothing.
func (p *Parser) read(start transcript.Start) {
	h, known := p.formats.ByName[start.Harness]
	if !known {
		h, known = p.formats.ByName[start.Model] // a replay of a script
	}
	if !known {
		h = p.formats.Other
	}
	p.reader = h.Reader(harness.Request{Model: start.Model, Session: start.Session, SessionCost: start.SessionCost, SessionTokens: start.SessionTokens.Tokens(), Attempt: start.Attempt, Environ: []string{}})
	_, p.plain = p.reader.(harness.Plain)
}

// Long is a line that is too long to be shown.
func (p *Parser) Long(size int64) Line {
	return Line{TooLong: size, Entries: []Entry{{Kind: Damaged, Text: fmt.Sprintf("a line of %s is not shown", term.Bytes(size))}}}
}

// Torn is what is left at the end of a transcript that nobody writes to any more: a
// whole line without an end, or the part of one.
func (p *Parser) Torn(part []byte) Line {
	l := p.Line(part)
	if len(l.Entries) == 1 && l.Entries[0].Kind == Damaged {
		l.Entries[0].Text = "the last line is incomplete"
	}
	return l
}

// Line makes entries of a line.
func (p *Parser) Line(raw []byte) Line {
	l := Line{Raw: raw}
	e, err := transcript.Parse(raw)
	if err != nil && isEvent(raw) { // as Hankweave kept it
		l.Event = raw
		l.Entries = p.events(raw)
		return l
	}
	if err != nil {
		why := "a line of the transcript is damaged"
		if strings.Contains(err.Error(), "use a newer hank") {
			why = err.Error()
		}
		l.Entries = []Entry{{Kind: Damaged, Text: why}}
		return l
	}
	l.At, l.Stream = e.At, e.Stream
	switch e.Stream {
	case transcript.StreamStart:
		p.read(e.Start)
		if p.turns++; p.turns > 1 {
			l.Entries = []Entry{{Kind: Notice, Text: fmt.Sprintf("turn %d: one more prompt in the same session", p.turns)}}
		}
	case transcript.Stdout:
		l.Entries = p.stdout(e.Line)
	case transcript.Stderr:
		l.Entries = []Entry{{Kind: Stderr, Text: string(e.Line)}}
	}
	return l
}

// isEvent reports whether a line is an event of an agent by itself.
func isEvent(line []byte) bool {
	var event struct {
		Type string `json:"type"`
	}
	return len(line) > 0 && line[0] == '{' && json.Unmarshal(line, &event) == nil && event.Type != ""
}

func (p *Parser) stdout(line []byte) []Entry {
	if p.plain || !isObject(line) {
		if !p.plain && len(bytes.TrimSpace(line)) == 0 {
			return nil
		}
		return []Entry{{Kind: Output, Text: string(line)}}
	}
	return p.events(line)
}

// isObject reports whether a line can be an event of an agent.
func isObject(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) > 1 && line[0] == '{' && line[len(line)-1] == '}'
}

// events are the entries of an agent's event.
func (p *Parser) events(line []byte) []Entry {
	var entries []Entry
	add := func(e Entry) { entries = append(entries, e) }
	for _, o := range p.reader.Line(line) {
		switch o := o.(type) {
		case harness.Message:
			kind := Message
			if o.Thinking {
				kind = Thinking
			} else if o.Of == "" {
				p.last = o.Text
			} else if _, running := p.open[o.Of]; running {
				p.said[o.Of] = o.Text
			}
			add(Entry{Kind: kind, Text: o.Text, Error: o.Failed, Of: o.Of})
		case harness.ToolUse:
			e := Entry{Kind: Tool, Text: argumentOf(o), Tool: o.Name, ID: o.ID, Of: o.Of, input: o.Input}
			add(e)
			e.input = nil
			p.open[o.ID] = e
		case harness.ToolResult:
			tool := p.open[o.ToolUseID]
			said, gist := p.said[o.ToolUseID], p.gist[o.ToolUseID]
			delete(p.open, o.ToolUseID)
			delete(p.said, o.ToolUseID)
			delete(p.gist, o.ToolUseID)
			add(Entry{Kind: Result, Text: o.Text, Tool: tool.Tool, use: tool.Text, gist: gist, repeats: said != "" && strings.HasPrefix(o.Text, said), ID: o.ToolUseID, Error: o.IsError, Of: o.Of})
		case harness.Retrying:
			add(Entry{Kind: Retry, Text: fmt.Sprintf("waits for its provider (try %d, %s): %s", o.Attempt, o.After, o.Why)})
		case harness.ContextExceeded:
			if o.Message != p.last {
				add(Entry{Kind: Notice, Text: o.Message})
			}
		case harness.Notice:
			if _, running := p.open[o.For]; running && o.For != "" {
				p.gist[o.For] = o.Text
			} else {
				add(Entry{Kind: Notice, Text: o.Text})
			}
		case harness.Result:
			if o.Text != "" && strings.TrimSpace(o.Text) != strings.TrimSpace(p.last) {
				add(Entry{Kind: Message, Text: o.Text})
			}
			if o.Why != "" {
				add(Entry{Kind: Notice, Text: "the turn ended with " + o.Why})
			}
		}
	}
	return entries
}

// argumentOf is what a tool was asked.
func argumentOf(use harness.ToolUse) string {
	text := use.Argument()
	if text == "" && len(use.Input) > len("{}") {
		text = string(use.Input)
	}
	return text
}
