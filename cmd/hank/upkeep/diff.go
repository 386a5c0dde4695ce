package upkeep

import (
	"bufio"
	"errors"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"hank/checkpoint/diff"
	"hank/cmd/hank/call"
	"hank/internal/term"
	"hank/runtime/exitcode"
	"hank/runtime/history"
	"hank/runtime/report"
	"hank/runtime/report/output"
)

func Diff() *cli.Command {
	return &cli.Command{
		Name: "diff", Usage: "show changes between two checkpoints, or a checkpoint and the workspace", ArgsUsage: "[A] [B]",
		Description: `A and B are TARGETs, see hank rollback --help; here review is the newest of its
iterations that has begun. Without B: the current workspace. Without both: the changes since the
checkpoint that the next codon starts from. Reads only. Without a flag it prints the files
with their changed lines; --patch prints a patch for git apply --binary (on a terminal $PAGER
shows it, without escape sequences). Files that only one of the two looks at
(checkpointedFiles) are left out and counted.

Examples: hank diff initial
          hank diff gather review#1 --patch | git apply --stat

Exit code 0: printed, whether or not there are changes; 2: unknown TARGET.`,
		Flags: []cli.Flag{call.ExecutionFlag,
			&cli.BoolFlag{Name: "stat", Usage: "files and changed lines (the default)"},
			&cli.BoolFlag{Name: "patch", Aliases: []string{"p"}, Usage: "the change itself, as a Git patch"},
			&cli.BoolFlag{Name: "name-only", Usage: "only the paths"},
			call.JSONFlag},
		Action: func(c *cli.Context) error {
			if err := call.Arguments(c, 0, 2); err != nil {
				return err
			}
			if call.Exclusive(c, "stat", "patch", "name-only", "json") > 1 {
				return &exitcode.UsageError{Why: "--stat, --patch, --name-only and --json are mutually exclusive"}
			}
			v, err := call.View(c)
			if err != nil {
				return err
			}
			d, err := history.Compare(c.Context, v, c.Args().Get(0), c.Args().Get(1))
			if err != nil {
				return err
			}
			defer d.Close()
			return printDiff(c, d)
		},
	}
}

func printDiff(c *cli.Context, d *history.Difference) error {
	switch {
	case c.Bool("patch"):
		return printPatch(d)
	case c.Bool("name-only"):
		for _, ch := range d.Changes {
			call.Say("%s\n", call.QuotePath(ch.Path))
		}
		return nil
	}
	stats, err := d.Stat()
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return call.JSON(output.DifferenceOf(report.DifferenceOf(d, stats)))
	}
	printStats(d, stats)
	return nil
}

// printPatch writes a patch as it is, and to a terminal, which is not for git
// apply, by the pager, in colours and without what would steer it.
func printPatch(d *history.Difference) error {
	if !term.IsTerminal(os.Stdout) {
		out := bufio.NewWriter(os.Stdout)
		return errors.Join(d.Patch(out), out.Flush())
	}
	pager, end := term.Page(os.Stdout)
	out := bufio.NewWriter(pager)
	shown := term.PatchLines(out, os.Stdout)
	err := d.Patch(shown)
	if err == nil {
		err = errors.Join(shown.Close(), out.Flush())
	}
	return end(err)
}

// statWidth is how wide the bar of a file's changed lines may get.
const statWidth = 30

func printStats(d *history.Difference, stats []diff.FileStat) {
	to := "the workspace"
	if d.To.SHA != "" {
		to = d.To.String()
	}
	if d.LeftOut > 0 {
		defer call.Say("left out: %s that only one of the two looks at (checkpointedFiles)\n", term.Count(d.LeftOut, "file"))
	}
	if len(d.Changes) == 0 {
		call.Say("no differences between %s and %s\n", d.From, to)
		return
	}
	widest, longest, added, deleted := 0, 1, 0, 0
	for i, s := range stats {
		widest = max(widest, term.Columns(call.QuotePath(d.Changes[i].Path)))
		longest = max(longest, s.Added+s.Deleted)
		added, deleted = added+s.Added, deleted+s.Deleted
	}
	for i, s := range stats {
		path := call.QuotePath(d.Changes[i].Path)
		call.Say("%s %s%s  %s\n", sign(d.Changes[i].Kind), path, strings.Repeat(" ", widest-term.Columns(path)), bar(s, longest))
	}
	call.Say("from %s to %s: %s, %s added, %d deleted\n", d.From, to, term.Count(len(stats), "file"), term.Count(added, "line"), deleted)
}

func sign(k diff.ChangeKind) term.Painted {
	switch k {
	case diff.Added:
		return term.Green(os.Stdout, "A")
	case diff.Deleted:
		return term.Red(os.Stdout, "D")
	case diff.TypeChanged:
		return term.Yellow(os.Stdout, "T")
	}
	return term.Yellow(os.Stdout, "M")
}

// bar draws the changed lines of a file, to scale where there are many.
func bar(s diff.FileStat, longest int) term.Painted {
	if s.Binary {
		return "binary"
	}
	total := s.Added + s.Deleted
	plus, minus := s.Added, s.Deleted
	if longest > statWidth {
		width := (total*statWidth + longest - 1) / longest
		if total > 0 {
			plus = (s.Added*width + total/2) / total
		}
		minus = width - plus
	}
	return term.Sprintf("%5d %s%s", total, term.Green(os.Stdout, strings.Repeat("+", plus)), term.Red(os.Stdout, strings.Repeat("-", minus)))
}
