package main

import (
	"os"

	"github.com/urfave/cli/v2"

	"hank/internal/term"
	"hank/runtime/report"
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
			t, err := report.OpenTranscript(v, state.CodonID(c.Args().First()))
			if err != nil {
				return err
			}
			defer t.Close()
			printed, err := printTranscript(c, t)
			if err != nil || printed || c.Bool("json") {
				return err
			}
			ending, err := t.Ending()
			if err != nil {
				return err
			}
			return remark("the agent of codon %s has said nothing; %s\n", t.CodonID, ending)
		},
	}
}

// printTranscript prints what the agent printed, and reports whether that is anything.
func printTranscript(c *cli.Context, t *report.Transcript) (printed bool, err error) {
	raw, limit := c.Bool("json"), c.Int("limit")
	show := func(line report.TranscriptLine) {
		if !raw && line.Kind == report.Silent {
			return
		}
		printed = true
		say("%s\n", transcriptText(line, raw))
	}
	var kept []report.TranscriptLine
	err = t.Read(func(line report.TranscriptLine) {
		switch {
		case limit <= 0:
			show(line)
		case raw || line.Kind != report.Silent:
			if kept = append(kept, line); len(kept) > limit {
				kept = kept[1:]
			}
		}
	})
	for _, line := range kept {
		show(line)
	}
	if err == nil && c.Bool("follow") {
		err = t.Follow(c.Context, show)
	}
	return printed, err
}

// transcriptText is a line of a transcript as it is printed; raw: for programs.
func transcriptText(line report.TranscriptLine, raw bool) term.Painted {
	switch {
	case raw:
		return term.Painted(line.Raw)
	case line.Kind == report.Damaged:
		return term.Yellow(os.Stdout, line.Text)
	case line.Kind == report.ErrorOutput:
		return term.Dim(os.Stdout, line.Text)
	}
	return term.Painted(line.Text)
}
