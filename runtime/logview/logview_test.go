package logview

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"hank/internal/secret"
	"hank/internal/short"
	"hank/runtime/harness"
	"hank/runtime/harness/claude"
	"hank/runtime/harness/codex"
	"hank/runtime/harness/gemini"
	"hank/runtime/harness/opencode"
	"hank/runtime/harness/pi"
	"hank/runtime/harness/shell"
	"hank/runtime/harness/transcript"
)

var update = flag.Bool("update", false, "write testdata anew")

var known = Formats{ByName: map[string]harness.Harness{
	"claude": claude.Harness{}, "codex": codex.Harness{}, "gemini": gemini.Harness{}, "opencode": opencode.Harness{}, "pi": pi.Harness{}, "shell": shell.Harness{},
}, Other: claude.Harness{}}

// shown is what a transcript is printed as.
func shown(t *testing.T, text string, style Style) string {
	t.Helper()
	var out strings.Builder
	p := NewPrinter(&out, style)
	for _, l := range parsed(t, text) {
		for _, e := range l.Entries {
			if err := p.Entry(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	return out.String()
}

func parsed(t *testing.T, text string) []Line {
	t.Helper()
	var all []Line
	lines, parser := NewLines(strings.NewReader(text)), NewParser(known, transcript.Start{})
	for {
		raw, tooLong, err := lines.Next()
		switch {
		case errors.Is(err, io.EOF):
			if part, _ := lines.Rest(); len(part) > 0 {
				all = append(all, parser.Torn(bytes.Clone(part)))
			}
			return all
		case err != nil:
			t.Fatal(err)
		case tooLong > 0:
			all = append(all, parser.Long(tooLong))
		default:
			all = append(all, parser.Line(bytes.Clone(raw)))
		}
	}
}

// written is a transcript of a harness, with these lines of its output; those that
// begin with ! are of the standard error, and those with = are in the file as they are.
func written(harness string, lines ...string) string {
	at := time.Unix(1e9, 0)
	text := transcript.Entry{At: at, Stream: transcript.StreamStart, Start: transcript.Start{Harness: harness, Model: "m"}}.Append(nil)
	for _, line := range lines {
		if raw, ok := strings.CutPrefix(line, "="); ok {
			text = append(text, raw+"\n"...)
			continue
		}
		e := transcript.Entry{At: at, Stream: transcript.Stdout, Line: []byte(line)}
		if rest, ok := strings.CutPrefix(line, "!"); ok {
			e.Stream, e.Line = transcript.Stderr, []byte(rest)
		}
		text = e.Append(text)
	}
	return string(transcript.Entry{At: at, Stream: transcript.StreamExit}.Append(text))
}

// What an agent did reads as a conversation: each message once, tools with what they
// were asked and answered, and no names of roles.
func TestATranscriptReadsAsAConversation(t *testing.T) {
	t.Parallel()
	text := written("claude",
		`{"type":"system","subtype":"init","session_id":"s"}`,
		`{"type":"assistant","message":{"content":[{"type":"text","text":"I look.\nThen I write."},{"type":"tool_use","id":"1","name":"Bash","input":{"description":"d","command":"go vet /w/a.go\n  && ls"}}]}}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"1","content":"a\nb\nc\nd\ne\n"}]}}`,
		`{"type":"system","subtype":"api_retry","attempt":1,"retry_delay_ms":594,"error_status":529,"error":"overloaded"}`,
		`{"type":"system","subtype":"api_retry","attempt":2,"retry_delay_ms":1000,"error":"unknown"}`,
		`{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"hm\nwell"}]}}`,
		`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"2","name":"Read","input":{"file_path":"/w/sub/b.go"}},{"type":"tool_use","id":"3","name":"Edit","input":{"file_path":"c","old_string":"x\nold\ny","new_string":"x\nnew\ny"}}]}}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"2","content":[{"type":"text","text":"package b"}]}]}}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"3","is_error":true,"content":"not found"}]}}`,
		`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"4","name":"Task","input":{"description":"look around","prompt":"Look around."}}]}}`,
		`{"type":"user","parent_tool_use_id":"4","message":{"content":[{"type":"text","text":"Look around."}]}}`,
		`{"type":"assistant","parent_tool_use_id":"4","message":{"content":[{"type":"text","text":"I look around.\nSo I do."},{"type":"tool_use","id":"5","name":"Bash","input":{"command":"true"}}]}}`,
		`{"type":"user","parent_tool_use_id":"4","message":{"content":[{"type":"tool_result","tool_use_id":"5","content":""}]}}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"4","content":"nothing is there"}]}}`,
		`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"6","name":"Task","input":{"description":"again"}},{"type":"tool_use","id":"7","name":"TodoWrite","input":{"todos":[{"content":"x"}]}}]}}`,
		`{"type":"assistant","parent_tool_use_id":"6","message":{"content":"I have looked."}}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"6","content":"I have looked.\nagentId: 1"}]}}`,
		`{"type":"system","subtype":"permission_denied","tool_name":"WebFetch"}`,
		`{"type":"assistant","error":"server_error","message":{"model":"<synthetic>","content":[{"type":"text","text":"API Error: overloaded"}]}}`,
		`{"type":"assistant","message":{"content":"All is well."}}`,
		`{"type":"result","subtype":"success","result":"All is well."}`,
		`{"type":"result","subtype":"error_max_turns"}`,
		`{"type":"rate_limit_event"}`,
		`plain`, `!a warning`,
	)
	const want = `I look.
Then I write.

● Bash: go vet a.go && ls
  ⎿ a
    b
    c
    … 2 more lines

↻ waits for its provider (try 1, 594ms): overloaded (HTTP 529)
↻ waits for its provider (try 2, 1s): no connection to its provider

✻ hm
  well

● Read: sub/b.go

● Edit: c
    - old
    + new

● Read: sub/b.go
  ⎿ package b

● Edit: c
  ⎿ error: not found

● Task: look around

  │ I look around.
  │ So I do.

  │ ● Bash: true
  │   ⎿ (nothing)

● Task: look around
  ⎿ nothing is there

● Task: again

● TodoWrite: {"todos":[{"content":"x"}]}

  │ I have looked.

● Task: again
  ⎿ (its last message)

· the tool WebFetch was refused: it is not permitted

✗ API Error: overloaded

All is well.

· the turn ended with error_max_turns

plain
stderr: a warning
`
	if got := shown(t, text, Style{Workspace: "/w"}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	colour := shown(t, text, Style{Workspace: "/w", Colour: true})
	for _, code := range []string{"0", bold, dim, red, green, yellow} {
		colour = strings.ReplaceAll(colour, "\x1b["+code+"m", "")
	}
	if colour != want {
		t.Errorf("in colour it is another text:\n%s", colour)
	}
}

// What each real agent printed, in each case that is recorded, is readable; and no control of
// the terminal in it steers one.
func TestRecordedTranscripts(t *testing.T) {
	t.Parallel()
	for name, golden := range map[string]string{"claude": "recorded.txt", "codex": "recorded-codex.txt", "gemini": "recorded-gemini.txt", "opencode": "recorded-opencode.txt", "pi": "recorded-pi.txt"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files, err := filepath.Glob("../harness/" + name + "/testdata/*.jsonl")
			if err != nil || len(files) == 0 {
				t.Fatal(files, err)
			}
			if name == "claude" {
				files = append(files, filepath.Join("testdata", "subagent.jsonl"))
			}
			var all strings.Builder
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&all, "=== %s\n%s", filepath.Base(file), shown(t, string(text), Style{Columns: 80}))
				steersNothing(t, file, string(text))
			}
			golden = filepath.Join("testdata", golden)
			if *update {
				if err := os.WriteFile(golden, []byte(all.String()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if all.String() != string(want) {
				t.Errorf("if this is meant: go test ./runtime/logview -update\n%s", all.String())
			}
		})
	}
}

// steersNothing puts control of the terminal behind each text of a transcript that is what
// the model says, a tool was given or has answered.
func steersNothing(t *testing.T, file, text string) {
	t.Helper()
	const control = `\u001b]0;title\u0007\u001b[2J\u009b2JOWNED\r`
	said := regexp.MustCompile(`("(?:text|content|output|command|aggregated_output|thinking|message|errorMessage)": ?"(?:[^"\\]|\\.)+)"`)
	evil := said.ReplaceAllString(text, "${1}"+strings.ReplaceAll(control, "$", "$$")+`"`)
	got := shown(t, evil, Style{Columns: 80})
	if i := strings.IndexFunc(got, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }); i >= 0 {
		t.Errorf("%s: control of the terminal is shown: %q", file, got[max(0, i-40):min(len(got), i+40)])
	}
	if filepath.Base(file) == "write.jsonl" && !strings.Contains(got, "OWNED") {
		t.Errorf("%s: nothing of what was put in is shown", file)
	}
}

// What a script printed is shown as it is, whatever it looks like, its standard error
// apart.
func TestOutputOfAScriptIsShownAsItIs(t *testing.T) {
	t.Parallel()
	got := shown(t, written("shell", "one", "", "  two\tthree  ", `{"type":"assistant","message":{"content":"x"}}`, "!four", "\xff", "1%\r50%\r100%\r", "!a\rb"), Style{})
	const want = "one\n\n  two\tthree  \n{\"type\":\"assistant\",\"message\":{\"content\":\"x\"}}\nstderr: four\n\uFFFD\n… 100%\nstderr: … b\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Lines that cannot be read, and a last one that a crash has torn, are said to be so, and
// what is around them is shown.
func TestDamageIsShownAndPassed(t *testing.T) {
	t.Parallel()
	text := written("claude", `{"type":"assistant","message":{"content":"before"}}`, "={", "=", `={"stream":"nonsense"}`, `={"type":"assistant","message":{"content":"as another system keeps it"}}`,
		`{"type":"assistant"`, `{"type":"assistant","message":7}`, `{"type":"user","message":{"content":[null,{"type":"tool_result"}]}}`, `{"type":"assistant","message":{"content":"after"}}`)
	const damaged = "(a line of the transcript is damaged)\n"
	const want = "before\n\n" + damaged + damaged + damaged + "\nas another system keeps it\n\n{\"type\":\"assistant\"\n\n  ⎿ (nothing)\n\nafter\n\n(the last line is incomplete)\n"
	if got := shown(t, text+`{"at":"2026-11-20T`, Style{}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	whole := strings.TrimSuffix(written("shell", "a"), "\n")
	if got := shown(t, whole, Style{}); got != "a\n" {
		t.Errorf("a last line that only has no end: %q", got)
	}
}

// What is shown does not steer a terminal and has no keys, also where escape sequences
// cut a key in two or the end of what is shown would.
func TestNothingShownSteersATerminalOrHasAKey(t *testing.T) {
	t.Parallel()
	const key, bad = "sk-ant-api03-abcdefghij0123456789", "\x1b]0;title\a\x1b[2J\u009b2JOWNED\r"
	broken := key[:10] + "\x1b[0m" + key[10:]
	var values secret.Values
	values.Add([]string{"MY_TOKEN=correct horse 1 battery"})
	block := func(kind string, more map[string]any) string {
		more["type"] = kind
		text, err := json.Marshal(map[string]any{"type": map[bool]string{true: "user", false: "assistant"}[kind == "tool_result"], "message": map[string]any{"content": []any{more}}})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	evil := bad + " " + broken + " " + key + " correct horse 1 battery"
	agent := written("claude", block("text", map[string]any{"text": evil}), block("thinking", map[string]any{"thinking": evil}),
		block("tool_use", map[string]any{"id": "1", "name": evil, "input": map[string]any{"command": evil, "old_string": evil, "new_string": "x" + evil}}),
		block("tool_result", map[string]any{"tool_use_id": "1", "content": evil + "\n" + strings.Repeat("x ", mostOfALine/2-5) + key}), block("tool_result", map[string]any{"tool_use_id": "2", "content": evil, "is_error": true}),
		`{"type":"system","subtype":"informational","content":"`+key+`"}`, "no event "+evil, "!"+evil)
	for name, text := range map[string]string{"an agent": agent, "a script": written("shell", evil, "!"+evil)} {
		for _, full := range []bool{false, true} {
			got := shown(t, text, Style{Mask: values.Text, Full: full})
			for _, r := range got {
				if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
					t.Errorf("%s: %q", name, got)
					break
				}
			}
			if strings.Contains(got, key[len(key)-12:]) || strings.Contains(got, "horse") || !strings.Contains(got, secret.Mask) {
				t.Errorf("%s, full %v: a key: %s", name, full, got)
			}
		}
	}
}

// A line that is too long is not held in memory, and what comes after it is read.
func TestALineThatIsTooLongIsPassed(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	lines := NewLines(io.MultiReader(strings.NewReader("a\n"), io.LimitReader(endless{}, longest+5), strings.NewReader("\nb\nrest")))
	var got []string
	for {
		raw, tooLong, err := lines.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, fmt.Sprint(string(raw), tooLong)); cap(lines.part) > longest {
			t.Errorf("%d bytes are held", cap(lines.part))
		}
	}
	rest, _ := lines.Rest()
	if want := []string{"a0", fmt.Sprint(longest + 5), "b0"}; !slices.Equal(got, want) || string(rest) != "rest" {
		t.Errorf("%q, %q", got, rest)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// A line that is being written is not read before its end is there.
func TestALineIsReadWhenItIsWhole(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	lines := NewLines(&file)
	next := func() string {
		line, _, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return "EOF"
		}
		return string(line)
	}
	var got []string
	for _, part := range []string{"on", "e\ntw", "", "o\n", "\n"} {
		file.WriteString(part)
		got = append(got, next())
	}
	if want := []string{"EOF", "one", "EOF", "two", ""}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Each line is one JSON object with a schema, with the bytes of the agent as they are and
// with what they mean.
func TestLinesAsJSON(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	e := NewEncoder(&out)
	if err := e.Attempt("r", "c#1", 2); err != nil {
		t.Fatal(err)
	}
	const event = `{"type":"assistant", "message":{"content":[{"type":"tool_use","id":"1","name":"Bash","input":{"command":"ls"}}]}}`
	for _, l := range parsed(t, written("claude", event, "={", "="+event, "\xff", "!e")) {
		if err := e.Line(l); err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range []Line{NewParser(known, transcript.Start{}).Long(7), NewParser(known, transcript.Start{}).Line([]byte("\xff"))} {
		if err := e.Line(l); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Member("end", time.Time{}, struct {
		Cost float64 `json:"cost"`
	}{0.5}); err != nil {
		t.Fatal(err)
	}
	const (
		begin = `{"schema":1,"runId":"r","codonId":"c#1","attempt":2,`
		at    = `"at":"2001-09-09T01:46:40Z",`
		tool  = `"entries":[{"kind":"tool","text":"ls","tool":"Bash","toolUseId":"1"}],`
		then  = `"occurredAt":"2001-09-09T01:46:40.000Z"}`
		never = `"occurredAt":null}`
	)
	want := []string{
		begin + at + `"stream":"start","start":{"schema":1,"harness":"claude","model":"m"},"entries":[],` + then,
		begin + at + `"stream":"stdout","event":` + event + `,` + tool + then,
		begin + `"stream":"damaged","line":"{","entries":[{"kind":"damaged","text":"a line of the transcript is damaged"}],` + never,
		begin + `"stream":"stdout","event":` + event + `,` + tool + never,
		begin + at + `"stream":"stdout","base64":"/w==","entries":[{"kind":"output","text":"` + "\uFFFD" + `"}],` + then,
		begin + at + `"stream":"stderr","line":"e","entries":[{"kind":"stderr","text":"e"}],` + then,
		begin + at + `"stream":"exit","exit":{"code":0},"entries":[],` + then,
		begin + `"stream":"damaged","bytes":7,"entries":[{"kind":"damaged","text":"a line of 7 B is not shown"}],` + never,
		begin + `"stream":"damaged","base64":"/w==","entries":[{"kind":"damaged","text":"a line of the transcript is damaged"}],` + never,
		begin + `"stream":"end","end":{"cost":0.5},` + never,
	}
	if got := strings.Split(strings.TrimSpace(out.String()), "\n"); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for line := range strings.Lines(out.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
}

// FuzzLine: whatever a transcript has, what is shown steers no terminal, and each line
// is one JSON object.
func FuzzLine(f *testing.F) {
	for _, s := range []string{written("shell", "a\x1b[31m", "!b"), written("claude", `{"type":"assistant","message":{"content":[{"type":"text","text":"x"},{"type":"tool_use","name":"B","input":{"old_string":"a","new_string":"b"}}]}}`), `{"type":"user","message":{"content":[{"type":"tool_result","content":"\u001b[2J"}]}}`, "{", `{"at":"2026-11-20T20:00:00Z","stream":"stdout","event":null}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got := shown(t, string(text), Style{Full: len(text)%2 == 0})
		for _, r := range got {
			if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
				t.Fatalf("%q", got)
			}
		}
		var out bytes.Buffer
		e := NewEncoder(&out)
		if err := e.Attempt("r", "c", 1); err != nil {
			t.Fatal(err)
		}
		for _, l := range parsed(t, string(text)) {
			out.Reset()
			if err := e.Line(l); err != nil {
				t.Fatal(err)
			}
			if bytes.Count(out.Bytes(), []byte("\n")) != 1 || utf8Valid(text) && !json.Valid(out.Bytes()) {
				t.Fatalf("%q", out.Bytes())
			}
		}
	})
}

func utf8Valid(text []byte) bool { return bytes.Equal(bytes.ToValidUTF8(text, nil), text) }

// An end has the mark that the run itself shows, in its colour.
func TestAnEndIsMarkedAsByTheRun(t *testing.T) {
	t.Parallel()
	for end, want := range map[End]string{Good: "\x1b[32m✓ x\x1b[0m\n", Bad: "\x1b[31m✗ x\x1b[0m\n", Cut: "\x1b[33m■ x\x1b[0m\n"} {
		var out strings.Builder
		if err := NewPrinter(&out, Style{Colour: true}).Ending(end, "x"); err != nil || out.String() != want {
			t.Errorf("%d: %q, %v", end, out.String(), err)
		}
	}
}
