package main

import (
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"hank/internal/secret"
	"hank/internal/term"
	"hank/recovery"
	"hank/runtime/exitcode"
	"hank/runtime/logview"
	"hank/runtime/report"
	"hank/state"
)

func logCommand() *cli.Command {
	return &cli.Command{
		Name: "log", Usage: "show the transcript of a codon", ArgsUsage: "[CODON]",
		Description: `Shows what the agent or script of a codon printed, and which tools it used, in the newest
attempt at CODON; without CODON, at the one that is running or was the last. review#2
is one iteration of a loop, review the newest of them, @~1 the codon before the last.

--follow follows the run through its codons, and ends when the run ends. --all shows every
attempt, oldest first; CODON and --run restrict it.

On a terminal it is shown by $PAGER, or less; with PAGER=cat or --follow it is not.
What tools answered is cut, and keys and terminal escape sequences are left out. --json has
every line in full, one object per line, with what it means in "entries"; --raw prints the
bytes of the transcript.

Examples: hank log review#2 --attempt 1
          hank log -f
          hank log --all --json | jq -r '.entries[]? | select(.kind == "tool") | .text'

Exit code 0: printed; 2: there is no such codon, run or attempt, or it has no transcript.`,
		Flags: []cli.Flag{executionFlag,
			&cli.StringFlag{Name: "run", Usage: "only attempts in `RUN`"},
			&cli.IntFlag{Name: "attempt", Usage: "the attempt `N` at the codon in its run, counted from 1"},
			&cli.BoolFlag{Name: "all", Usage: "show all attempts, oldest first"},
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "follow the run until it ends"},
			&cli.IntFlag{Name: "limit", Usage: "show only the last `N` lines of each attempt (0 = all)"},
			&cli.BoolFlag{Name: "full", Usage: "cut nothing"},
			&cli.BoolFlag{Name: "raw", Usage: "print the bytes of the transcript"},
			jsonFlag},
		Action: printLog,
	}
}

func printLog(c *cli.Context) error {
	if err := arguments(c, 0, 1); err != nil {
		return err
	}
	q := report.LogQuery{Codon: state.CodonID(c.Args().First()), Run: state.RunID(c.String("run")), Attempt: c.Int("attempt"), All: c.Bool("all"), Limit: c.Int("limit")}
	follow := c.Bool("follow")
	switch {
	case c.IsSet("attempt") && q.Attempt < 1:
		return &exitcode.UsageError{Why: "--attempt takes a number from 1 on"}
	case q.Attempt > 0 && (q.All || follow):
		return &exitcode.UsageError{Why: "--attempt cannot be combined with --all or --follow"}
	case c.Bool("raw") && c.Bool("json"):
		return &exitcode.UsageError{Why: "--raw and --json cannot be combined"}
	}
	v, err := view(c)
	if err != nil {
		return err
	}
	if follow {
		return report.FollowLog(c.Context, v, q, settingsHere(c), executionOption(c), logView(c, v, v.Live, os.Stdout))
	}
	out, end := term.Page(os.Stdout)
	return end(report.PrintLog(v, q, logView(c, v, false, out)))
}

// logView is what shows the transcripts; live: one that grows.
func logView(c *cli.Context, v *recovery.View, live bool, out io.Writer) report.LogView {
	switch {
	case c.Bool("raw"):
		return report.NewLogRaw(out)
	case c.Bool("json"):
		return report.NewLogJSON(out)
	}
	var secrets secret.Values
	secrets.Add(os.Environ())
	style := logview.Style{Colour: term.Colours(os.Stdout), Columns: term.Width(os.Stdout), Full: c.Bool("full"), Workspace: v.Layout.Workspace, Mask: secrets.Text}
	return report.NewLogText(out, style, live, c.Bool("all"), executionOption(c), func(text string) { remark("%s\n", text) })
}
