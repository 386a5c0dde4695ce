package upkeep

import (
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"hank/cmd/hank/call"
	"hank/internal/advice"
	"hank/internal/shell"
	"hank/internal/term"
	"hank/runtime/exitcode"
	"hank/runtime/land"
	"hank/runtime/report/output"
)

func Land() *cli.Command {
	return &cli.Command{
		Name: "land", Usage: "commit a run's changes to a new branch of your repository",
		Description: `Creates the branch from HEAD, with one commit for each codon that changed something.
Your work tree, index, HEAD and other branches are not touched, no hook runs, and files
that the run did not change stay as they are in HEAD. The filters and attributes of your
repository apply as with git add. A report in .hankweave/reports lists what is on the
branch, what is left out and why, and what was checked. The way back is printed, as a
command. TARGETs are those of hank rollback. Works during a run.

If the workspace is your checkout, its files already have the run's changes, and they
are uncommitted: git merge and git switch refuse to overwrite them. --switch puts HEAD
and the index on the branch, and writes no file: what the run changed is committed then,
what you had staged stays staged, and what git status lists is your own. It also prints
the commands that merge the branch and that undo the merge. Its way back leaves the branch
and the files: git branch -D NAME removes the one, hank rollback initial restores the
others. It does not work during a run, nor where what you have staged differs from what
the run made of the same file.

Examples: hank land --branch papers --dry-run
          hank land --branch papers --switch
          hank land --branch papers --update --switch
          hank land --branch fix --from gather --squash --message 'Fix the index'

Exit code 0: the branch was created, and all checks passed; 2: it exists, its name is
not allowed, a TARGET is unknown, or the workspace is in no repository; 4: nothing was
written, because HEAD has moved and has changed the same files, nothing can land, HEAD
and the index cannot be moved, the branch is not where hank land left it, or Git refused;
or the branch was created, and a check failed (see the report); 5: --switch during a
run; 9: git not found.`,
		Flags: []cli.Flag{call.ExecutionFlag,
			&cli.StringFlag{Name: "branch", Aliases: []string{"b"}, Usage: "`NAME` of the new branch"},
			&cli.BoolFlag{Name: "switch", Usage: "put HEAD and the index on the branch, without writing a file"},
			&cli.BoolFlag{Name: "update", Usage: "add what is new to a branch that hank land has made"},
			&cli.StringFlag{Name: "from", Usage: "include only changes after `TARGET` (default: where the last landing in HEAD's history ended, else initial)"},
			&cli.StringFlag{Name: "to", Usage: "include only changes up to `TARGET` (default: the last completed codon)"},
			&cli.StringFlag{Name: "onto", Usage: "base revision `REV` of the branch (default: HEAD)"},
			&cli.BoolFlag{Name: "squash", Usage: "create a single commit"},
			&cli.StringFlag{Name: "message", Aliases: []string{"m"}, Usage: "message `TEXT` of that commit"},
			&cli.BoolFlag{Name: "dry-run", Aliases: []string{"n"}, Usage: "dry run: show what would be on the branch, and write nothing to your repository"},
			call.JSONFlag},
		Action: func(c *cli.Context) error {
			if err := call.Arguments(c, 0, 0); err != nil {
				return err
			}
			if c.String("branch") == "" {
				return &exitcode.UsageError{Why: "hank land needs --branch NAME; see: hank land --help"}
			}
			if c.String("message") != "" && !c.Bool("squash") {
				return &exitcode.UsageError{Why: "--message is for the single commit of --squash; give both"}
			}
			if c.Bool("update") && (c.String("from") != "" || c.String("onto") != "") {
				return &exitcode.UsageError{Why: "--update continues where the branch ends; --from and --onto are for a new branch"}
			}
			v, err := call.View(c)
			if err != nil {
				return err
			}
			done, err := land.Land(c.Context, v, land.Options{Branch: c.String("branch"), Switch: c.Bool("switch"), Update: c.Bool("update"), From: c.String("from"), To: c.String("to"),
				Onto: c.String("onto"), Squash: c.Bool("squash"), Message: c.String("message"), DryRun: c.Bool("dry-run"), Now: time.Now(), Work: call.Work})
			if err != nil {
				return err
			}
			if c.Bool("json") {
				form := output.LandingOf(done)
				return call.JSONEnding(form, form.Error)
			}
			at := land.Reader{Git: within(done.Repository), Hank: func(command string) string { return advice.Command(command, call.ExecutionOption(c)) }}
			if err := done.Print(os.Stdout, at); err != nil {
				return err
			}
			if !done.Right() {
				return call.ExitWith(exitcode.Decision)
			}
			return nil
		},
	}
}

// within is the -C that git needs from here to act on a repository.
func within(repository string) string {
	root, err := os.Stat(repository)
	here, hereErr := os.Getwd()
	for at := here; err == nil && hereErr == nil; at = filepath.Dir(at) {
		if fi, err := os.Stat(at); err == nil && os.SameFile(fi, root) {
			return ""
		}
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil || at == filepath.Dir(at) {
			break // it is in another repository, or in none
		}
	}
	return " -C " + shell.Quote(term.ShortPath(repository))
}
