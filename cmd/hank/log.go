package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

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
		Description: `Without CODON, the one at work or the last one. The newest attempt is shown.`,
		Flags: []cli.Flag{executionFlag, &cli.IntFlag{Name: "limit", Value: 0, Usage: "print only the last `N` lines (0: all)"},
			&cli.BoolFlag{Name: "raw", Usage: "print the transcript as it is"}},
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
			return printTranscript(path, c.Int("limit"), c.Bool("raw"))
		},
	}
}

func transcriptOf(v *recovery.View, id state.CodonID) (string, error) {
	for _, r := range v.State.Runs {
		for i := r.Len() - 1; i >= 0; i-- {
			if k := r.Codon(i); (id == "" || k.CodonID == id) && k.ClaudeLogPath != "" {
				return filepath.Join(v.Layout.Root, filepath.FromSlash(k.ClaudeLogPath)), nil
			}
		}
	}
	if id == "" {
		return "", &runtime.UsageError{Why: "no agent has been started yet"}
	}
	return "", &runtime.UsageError{Why: fmt.Sprintf("codon %s has no transcript: its agent was never started", id)}
}

func printTranscript(path string, limit int, raw bool) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if raw {
		_, err := io.Copy(os.Stdout, f)
		return err
	}
	var lines []string
	for e, err := range transcript.Read(f) {
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		switch e.Stream {
		case transcript.Stdout:
			lines = append(lines, spoken(e.Line))
		case transcript.Stderr:
			lines = append(lines, term.Dim(os.Stdout, string(e.Line)))
		}
	}
	if limit > 0 && len(lines) > limit {
		lines = lines[len(lines)-limit:]
	}
	for _, l := range lines {
		fmt.Println(l)
	}
	return nil
}

// lastWords returns the last line that an agent printed, from the end of its
// transcript.
func lastWords(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	const tail = 64 << 10
	if size, err := f.Seek(0, io.SeekEnd); err != nil || size > tail {
		_, err = f.Seek(-tail, io.SeekEnd)
		if err != nil {
			return ""
		}
	} else if _, err := f.Seek(0, io.SeekStart); err != nil {
		return ""
	}
	said := ""
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, tail)
	for lines.Scan() {
		e, err := transcript.Parse(lines.Bytes())
		if err == nil && e.Stream == transcript.Stdout && len(strings.TrimSpace(string(e.Line))) > 0 {
			said = spoken(e.Line)
		}
	}
	return said
}

// spoken is a line of an agent for people: the text in a JSON event, or the
// line as it is.
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
	text := string(line)
	if json.Unmarshal(line, &event) == nil {
		text = event.Type
		for _, b := range event.Message.Content {
			if b.Text != "" {
				text = b.Text
			} else if b.Name != "" {
				text = "uses " + b.Name
			}
		}
		if event.Result != "" {
			text = event.Result
		}
	}
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > 160 {
		text = string(r[:159]) + "…"
	}
	return text
}
