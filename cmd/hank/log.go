package main

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

	"github.com/urfave/cli/v2"

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

func logCommand() *cli.Command {
	return &cli.Command{
		Name: "log", Usage: "print what the agent of a codon said", ArgsUsage: "[CODON]",
		Description: `Without CODON, the one at work or the last one. The newest attempt is shown, without
what would steer a terminal. With --json the transcript is printed as it is: every
byte that was said, one JSON object a line, with the times.

Example: hank log review#1 --limit 20

Exit code 0: printed; 2: the codon has no transcript.`,
		Flags: []cli.Flag{executionFlag,
			&cli.IntFlag{Name: "limit", Usage: "print only the last `N` lines (0: all)"},
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "wait for more until the run ends"},
			jsonFlag},
		Action: func(c *cli.Context) error {
			if err := arguments(c, 0, 1); err != nil {
				return err
			}
			v, err := view(c)
			if err != nil {
				return err
			}
			record, err := transcriptOf(v, state.CodonID(c.Args().First()))
			if err != nil {
				return err
			}
			said, err := printTranscript(c, v.Layout.Root, v.Layout.Workspace, v.Layout.Resolve(record.ClaudeLogPath))
			if err != nil || said || c.Bool("json") {
				return err
			}
			return printSilence(c, record)
		},
	}
}

// transcriptOf finds the newest record that has a transcript.
func transcriptOf(v *recovery.View, id state.CodonID) (*state.Codon, error) {
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
	return nil, &exitcode.UsageError{Why: fmt.Sprintf("codon %s has no transcript: its agent was never started; see: hank plan", id)}
}

// printSilence says what is known of an attempt whose agent has said nothing: how
// it ended, and why.
func printSilence(c *cli.Context, record *state.Codon) error {
	v, err := view(c) // it may have ended since
	if err != nil {
		return err
	}
	ended := ""
	for _, r := range v.State.Runs {
		for _, k := range r.Codons() {
			if k.ClaudeLogPath != record.ClaudeLogPath {
				continue
			}
			ended = string(verdict.OfCodon(k, verdict.OfRun(v, r)))
			if more := verdict.Qualification(k); more != "" {
				ended += ", " + more
			}
			if k.FailureReason != nil {
				ended += ": " + k.FailureReason.Message
			}
		}
	}
	return remark("the agent of codon %s has said nothing; %s\n", record.CodonID, ended)
}

// printTranscript prints what the agent said, and reports whether that is anything.
func printTranscript(c *cli.Context, root, workspace, path string) (said bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, &exitcode.UsageError{Why: fmt.Sprintf("the transcript %s is not there", shorten(path))}
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	lines := bufio.NewReader(f)
	limit := c.Int("limit")
	var kept []term.Painted
	p := &printer{raw: c.Bool("json"), workspace: workspace}
	err = eachLine(lines, func(line []byte) {
		text, ok := p.shown(line)
		switch {
		case !ok:
		case limit <= 0:
			say("%s\n", text)
		default:
			if kept = append(kept, text); len(kept) > limit {
				kept = kept[1:]
			}
		}
	})
	for _, text := range kept {
		say("%s\n", text)
	}
	if err == nil && c.Bool("follow") {
		err = followTranscript(c, root, lines, p)
	}
	return p.said, err
}

// eachLine calls fn for each complete line that there is.
func eachLine(r *bufio.Reader, fn func([]byte)) error {
	for {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil // a line that has no end was torn by a crash
		}
		if err != nil {
			return err
		}
		fn(bytes.TrimSuffix(line, []byte("\n")))
	}
}

// followTranscript prints what comes, until no run is at work any more.
func followTranscript(c *cli.Context, root string, lines *bufio.Reader, p *printer) error {
	var part []byte // of a line that is being written
	for {
		_, gone := runtime.Control(c.Context, root, "ping")
		for {
			line, err := lines.ReadBytes('\n')
			part = append(part, line...)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			if text, ok := p.shown(bytes.TrimSuffix(part, []byte("\n"))); ok {
				say("%s\n", text)
			}
			part = part[:0]
		}
		if gone != nil {
			return nil
		}
		if err := pause(c.Context, 200*time.Millisecond); err != nil {
			return err
		}
	}
}

// pause waits, unless the context ends first.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// printer makes a transcript readable, line by line.
type printer struct {
	raw       bool   // for programs: every line as it is
	workspace string // which is left out of the arguments of tools
	last      string // the last text of the agent, which its result repeats
	tool      string // that the agent uses at the moment
	said      bool   // something was printed
}

// shown is an entry of a transcript as it is printed; false: it is not.
func (p *printer) shown(line []byte) (text term.Painted, ok bool) {
	defer func() { p.said = p.said || ok }()
	if p.raw {
		return term.Painted(line), true
	}
	e, err := transcript.Parse(line)
	switch {
	case err != nil && isAgentEvent(line): // as Hankweave kept it
		return p.spoken(line)
	case err != nil:
		return term.Yellow(os.Stdout, "a damaged line of the transcript"), true
	case e.Stream == transcript.Stdout:
		return p.spoken(e.Line)
	case e.Stream == transcript.Stderr:
		return term.Dim(os.Stdout, string(e.Line)), true
	}
	return "", false
}

// lastWords returns what an agent said last, and the tool that it uses at the
// moment, from the end of its transcript.
func lastWords(path, workspace string) (said, tool string) {
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
	p := &printer{workspace: workspace}
	_ = eachLine(bufio.NewReader(f), func(line []byte) {
		e, err := transcript.Parse(line)
		if err == nil && e.Stream == transcript.Stdout && len(bytes.TrimSpace(e.Line)) > 0 {
			p.spoken(e.Line)
		} else if err != nil && isAgentEvent(line) {
			p.spoken(line)
		}
	})
	return oneLine(p.last, width), oneLine(p.tool, width)
}

// oneLine is a text for people in one line of at most so many characters.
func oneLine(text string, width int) string {
	text = term.OneLine(term.Printable(text))
	if r := []rune(text); len(r) > width {
		text = string(r[:width-1]) + "…"
	}
	return text
}

// isAgentEvent tells whether a line is an event of an agent by itself.
func isAgentEvent(line []byte) bool {
	var event struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(line, &event) == nil && event.Type != ""
}

// silentEvents are those of an agent that say nothing to people where they have
// no text and no tool.
var silentEvents = []string{"system", "user", "assistant", "result", "stream_event", "rate_limit_event"}

// spoken is a line of an agent for people: what it says and which tools it uses,
// in a JSON event, or the line as it is. false: it has nothing to say, or has
// said it already.
func (p *printer) spoken(line []byte) (term.Painted, bool) {
	var event struct {
		Type    string `json:"type"`
		Subtype string `json:"subtype"`
		Result  string `json:"result"`
		Message struct {
			Content blocks `json:"content"`
		} `json:"message"`
	}
	if json.Unmarshal(line, &event) != nil || event.Type == "" {
		p.last = string(line)
		return term.Painted(term.Printable(p.last)), true
	}
	var said []string
	if event.Type == "assistant" || event.Type == "user" || event.Type == "result" {
		p.tool = "" // it has answered, or there is nothing to wait for
	}
	for _, b := range event.Message.Content {
		switch {
		case b.Text != "":
			said, p.last = append(said, b.Text), b.Text
		case b.Name != "":
			tool := strings.ReplaceAll(harness.ToolUse{Name: b.Name, Input: b.Input}.String(), p.workspace+"/", "")
			p.tool = tool
			said = append(said, term.Fit(term.OneLine(tool), mostOfATool))
		}
	}
	switch {
	case event.Type == "result" && event.Result == "" && event.Subtype != "success" && event.Subtype != "":
		said = append(said, "ended: "+event.Subtype)
	case event.Result != "" && event.Result != p.last:
		said, p.last = append(said, event.Result), event.Result
	}
	if len(said) == 0 {
		if slices.Contains(silentEvents, event.Type) {
			return "", false
		}
		return term.Painted(term.Printable(string(line))), true
	}
	return term.Painted(term.Printable(strings.Join(said, "\n"))), true
}

// mostOfATool is how many columns the use of a tool may take in the log.
const mostOfATool = 300

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
