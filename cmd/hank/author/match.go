package author

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"hank/cmd/hank/call"
	"hank/internal/pattern"
	"hank/internal/term"
	"hank/recovery"
	"hank/recovery/layout"
	"hank/runtime/exitcode"
	"hank/runtime/report"
	"hank/runtime/tracked"
)

// shownUntracked is how many untracked files are listed.
const shownUntracked = 10

func Match() *cli.Command {
	return &cli.Command{
		Name: "match", Usage: "list the files that patterns of checkpointedFiles track", ArgsUsage: "[PATTERN...]",
		Description: `PATTERN is one as "checkpointedFiles" takes it: a glob with ** and braces, the name of a
file or a directory, or one of these after ! for what is taken out again. Without
PATTERN: what a codon without "checkpointedFiles" tracks. Looked at is the workspace of
the execution, or the current directory if there is no execution, or --workspace. The
files are those that a checkpoint would hold. Below them: what a PATTERN fits that no
checkpoint takes, and why. Reads only.

Examples: hank match 'src/**' '!**/*.log'
          hank match report --workspace ../data --name-only

Exit code 0: printed, whether or not there are files; 2: an invalid PATTERN or DIR; 4: no
checkpoint can be made, as a file cannot be read; 74: the workspace cannot be read.`,
		Flags: []cli.Flag{call.ExecutionFlag,
			&cli.StringFlag{Name: "workspace", Usage: "look at `DIR`, as the workspace of a new execution"},
			&cli.BoolFlag{Name: "name-only", Usage: "only the paths of the tracked files"},
			call.JSONFlag},
		Action: func(c *cli.Context) error {
			if call.Exclusive(c, "name-only", "json") > 1 {
				return &exitcode.UsageError{Why: "--name-only and --json are mutually exclusive"}
			}
			for _, p := range c.Args().Slice() {
				plain := strings.TrimPrefix(p, "!")
				if !pattern.Inside(plain) {
					return &exitcode.UsageError{Why: fmt.Sprintf("%q is not inside the workspace: patterns are relative to it", p)}
				}
				if !pattern.Valid(plain) {
					return &exitcode.UsageError{Why: fmt.Sprintf("%q is not a pattern: %s", p, pattern.Hint)}
				}
			}
			f, err := trackedFiles(c)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return call.JSON(report.TrackedOf(f))
			}
			for _, file := range f.Files {
				call.Say("%s\n", call.QuotePath(file.Path))
			}
			if !c.Bool("name-only") {
				sayTracked(f)
			}
			return nil
		},
	}
}

// trackedFiles looks at the workspace that is named, else at that of the execution, else
// here.
func trackedFiles(c *cli.Context) (*tracked.Files, error) {
	patterns := c.Args().Slice()
	if c.IsSet("workspace") {
		dir := c.String("workspace")
		if c.IsSet("execution") {
			return nil, &exitcode.UsageError{Why: "--workspace and -e are mutually exclusive"}
		}
		return trackedIn(c, dir, patterns)
	}
	root, err := call.ExecutionOf(c)
	var none *layout.NotFoundError
	if errors.As(err, &none) && !c.IsSet("execution") {
		return trackedIn(c, ".", patterns)
	}
	if err != nil {
		return nil, err
	}
	v, err := recovery.Read(root)
	if err != nil {
		return nil, err
	}
	return tracked.Of(c.Context, v, patterns)
}

func trackedIn(c *cli.Context, dir string, patterns []string) (*tracked.Files, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if fi, err := os.Stat(abs); err != nil || !fi.IsDir() {
		return nil, &exitcode.UsageError{Why: fmt.Sprintf("--workspace: %q is not a directory", dir)}
	}
	return tracked.In(c.Context, abs, patterns)
}

func sayTracked(f *tracked.Files) {
	call.Say("tracked: %s, %s\n", term.Count(len(f.Files), "file"), term.Bytes(f.Bytes()))
	for _, p := range f.Patterns {
		switch {
		case p.Anywhere > 0:
			plain, not := strings.TrimPrefix(p.Text, "!"), ""
			if plain != p.Text {
				not = "!"
			}
			call.Say("%s fits no file in the workspace itself; %s**/%s fits %s\n", call.QuotePath(p.Text), not, call.QuotePath(plain), term.Count(p.Anywhere, "file"))
		case p.Fits == 0:
			call.Say("%s fits no file\n", call.QuotePath(p.Text))
		}
	}
	if len(f.Untracked) == 0 {
		return
	}
	call.Say("in no checkpoint: %s\n", term.Count(len(f.Untracked), "file"))
	for i, u := range f.Untracked {
		if i == shownUntracked {
			call.Say("  and %d more; --json lists all\n", len(f.Untracked)-i)
			break
		}
		call.Say("  %s: %s\n", call.QuotePath(u.Path), u.Why)
	}
}
