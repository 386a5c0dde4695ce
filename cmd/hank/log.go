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
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"hank/internal/term"
	"hank/recovery"
	"hank/runtime"
	"hank/runtime/harness/transcript"
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
			path, err := transcriptOf(v, state.CodonID(c.Args().First()))
			if err != nil {
				return err
			}
			return printTranscript(c, v.Layout.Root, path)
		},
	}
}

func transcriptOf(v *recovery.View, id state.CodonID) (string, error) {
	for _, r := range v.State.Runs {
		for i := r.Len() - 1; i >= 0; i-- {
			if k := r.Codon(i); (id == "" || k.CodonID == id) && k.ClaudeLogPath != "" {
				return v.Layout.Resolve(k.ClaudeLogPath), nil
			}
		}
	}
	if id == "" {
		return "", &runtime.UsageError{Why: "no agent has been started yet"}
	}
	if !knows(v.State, id) {
		return "", &runtime.UsageError{Why: fmt.Sprintf("there is no codon %s; see: hank plan", id)}
	}
	return "", &runtime.UsageError{Why: fmt.Sprintf("codon %s has no transcript: its agent was never started; see: hank plan", id)}
}

func printTranscript(c *cli.Context, root, path string) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return &runtime.UsageError{Why: fmt.Sprintf("the transcript %s is not there", shorten(path))}
	}
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewReader(f)
	limit := c.Int("limit")
	var kept []term.Painted
	err = eachLine(lines, func(line []byte) {
		text, ok := shown(line, c.Bool("json"))
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
		err = followTranscript(c, root, lines)
	}
	return err
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
func followTranscript(c *cli.Context, root string, lines *bufio.Reader) error {
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
			if text, ok := shown(bytes.TrimSuffix(part, []byte("\n")), c.Bool("json")); ok {
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

// shown is an entry of a transcript as it is printed; false: it is not.
func shown(line []byte, raw bool) (term.Painted, bool) {
	if raw {
		return term.Painted(line), true // for programs
	}
	e, err := transcript.Parse(line)
	switch {
	case err != nil && isAgentEvent(line): // as Hankweave kept it
		return term.Painted(spoken(line)), true
	case err != nil:
		return term.Yellow(os.Stdout, "a damaged line of the transcript"), true
	case e.Stream == transcript.Stdout:
		return term.Painted(spoken(e.Line)), true
	case e.Stream == transcript.Stderr:
		return term.Dim(os.Stdout, string(e.Line)), true
	}
	return "", false
}

// lastWords returns the last line that an agent printed, from the end of its
// transcript.
func lastWords(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	const tail, width = 64 << 10, 160
	if fi, err := f.Stat(); err != nil {
		return ""
	} else if _, err := f.Seek(max(0, fi.Size()-tail), io.SeekStart); err != nil {
		return ""
	}
	said := ""
	_ = eachLine(bufio.NewReader(f), func(line []byte) {
		e, err := transcript.Parse(line)
		if err == nil && e.Stream == transcript.Stdout && len(bytes.TrimSpace(e.Line)) > 0 {
			said = spoken(e.Line)
		} else if err != nil && isAgentEvent(line) {
			said = spoken(line)
		}
	})
	said = strings.Join(strings.Fields(said), " ")
	if r := []rune(said); len(r) > width {
		said = string(r[:width-1]) + "…"
	}
	return said
}

// isAgentEvent tells whether a line is an event of an agent by itself.
func isAgentEvent(line []byte) bool {
	var event struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(line, &event) == nil && event.Type != ""
}

// spoken is a line of an agent for people: what it says in a JSON event, or
// the line as it is.
func spoken(line []byte) string {
	var event struct {
		Type    string `json:"type"`
		Result  string `json:"result"`
		Message struct {
			Content []struct {
				Text string `json:"text"`
				Name string `json:"name"`
			} `json:"content"`
		} `json:"message"`
	}
	if json.Unmarshal(line, &event) != nil || event.Type == "" {
		return term.Printable(string(line))
	}
	if event.Result != "" {
		return term.Printable(event.Result)
	}
	var said []string
	for _, b := range event.Message.Content {
		if b.Text != "" {
			said = append(said, b.Text)
		} else if b.Name != "" {
			said = append(said, "uses "+b.Name)
		}
	}
	if len(said) == 0 {
		return "(" + term.Printable(event.Type) + ")"
	}
	return term.Printable(strings.Join(said, "\n"))
}
