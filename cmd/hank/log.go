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
		Name: "log", Usage: "show the transcript of a codon", ArgsUsage: "[CODON]",
		Description: `Without CODON, the one that is running or was the last. The newest attempt is shown,
with terminal escape sequences removed. --json prints the raw transcript: every byte
that the agent printed, one JSON object per line, with times.

Example: hank log review#1 --limit 20

Exit code 0: printed; 2: the codon has no transcript.`,
		Flags: []cli.Flag{executionFlag,
			&cli.IntFlag{Name: "limit", Usage: "show only the last `N` lines (0 = all)"},
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "follow the output until the run ends"},
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
			ending, err := t.Ending(executionOption(c))
			if err != nil {
				return err
			}
			return remark("the agent of codon %s has printed nothing; %s\n", t.CodonID, ending)
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
