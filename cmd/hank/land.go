package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"hank/internal/shell"
	"hank/internal/term"
	"hank/runtime/exitcode"
	"hank/runtime/land"
	"hank/runtime/report"
	"hank/runtime/verdict"
)

func landCommand() *cli.Command {
	return &cli.Command{
		Name: "land", Usage: "commit a run's changes to a new branch of your repository",
		Description: `Creates the branch from HEAD, with one commit for each codon that changed something.
Your work tree, index, HEAD and other branches are not touched, no hook runs, and files
that the run did not change stay as they are in HEAD. The filters and attributes of your
repository apply as with git add. A report in .hankweave/reports lists what is on the
branch, what is left out and why, and what was checked. TARGETs are those of hank
rollback. Works during a run.

If the workspace is your checkout, its files already have the run's changes, and they
are uncommitted: git merge and git switch refuse to overwrite them. git reset papers
moves your current branch to papers and changes no file; what git status lists then is
your own. It unstages what you have staged. In another clone or worktree git merge
papers works.

Examples: hank land --branch papers --dry-run
          hank land --branch papers && git log -p papers
          hank land --branch fix --from gather --squash --message 'Fix the index'

Exit code 0: the branch was created, and all checks passed; 2: it exists, its name is
not allowed, a TARGET is unknown, or the workspace is in no repository; 4: nothing was
written, because HEAD has moved and has changed the same files, nothing can land, or
Git refused; or the branch was created, and a check failed (see the report);
9: git not found.`,
		Flags: []cli.Flag{executionFlag,
			&cli.StringFlag{Name: "branch", Aliases: []string{"b"}, Usage: "`NAME` of the new branch"},
			&cli.StringFlag{Name: "from", Usage: "include only changes after `TARGET` (default: initial)"},
			&cli.StringFlag{Name: "to", Usage: "include only changes up to `TARGET` (default: the last completed codon)"},
			&cli.StringFlag{Name: "onto", Usage: "base revision `REV` of the branch (default: HEAD)"},
			&cli.BoolFlag{Name: "squash", Usage: "create a single commit"},
			&cli.StringFlag{Name: "message", Aliases: []string{"m"}, Usage: "message `TEXT` of that commit"},
			&cli.BoolFlag{Name: "dry-run", Aliases: []string{"n"}, Usage: "dry run: show what would be on the branch, and write nothing to your repository"},
			jsonFlag},
		Action: func(c *cli.Context) error {
			if err := arguments(c, 0, 0); err != nil {
				return err
			}
			if c.String("branch") == "" {
				return &exitcode.UsageError{Why: "hank land needs --branch NAME; see: hank land --help"}
			}
			if c.String("message") != "" && !c.Bool("squash") {
				return &exitcode.UsageError{Why: "--message is for the single commit of --squash; give both"}
			}
			v, err := view(c)
			if err != nil {
				return err
			}
			done, err := land.Land(c.Context, v, land.Options{Branch: c.String("branch"), From: c.String("from"), To: c.String("to"),
				Onto: c.String("onto"), Squash: c.Bool("squash"), Message: c.String("message"), DryRun: c.Bool("dry-run"), Now: time.Now(), Work: work})
			if err != nil {
				return err
			}
			if c.Bool("json") {
				if err := printJSON(done); err != nil {
					return err
				}
			} else {
				printLanding(done)
			}
			if !done.Right() {
				return exitWith(exitcode.Decision)
			}
			return nil
		},
	}
}

func printLanding(l *land.Landing) {
	verb := "is"
	if l.DryRun {
		verb = "would be"
	}
	if l.CutShort {
		say("this landing was interrupted after its branch was created; its report:\n")
	}
	say("branch %s %s %s on top of %s\n", l.Branch, verb, term.Count(len(l.Commits), "commit"), orDefault(l.Base[:min(12, len(l.Base))], "nothing: the repository has no commit"))
	for _, k := range l.Commits {
		say("\n%s %s\n", term.Yellow(os.Stdout, k.SHA[:12]), k.Title)
		for i, f := range k.Files {
			if i == most {
				say("  and %d more\n", len(k.Files)-i)
				break
			}
			say("  %s %s\n", landSign(f.Kind), quotePath(f.String()))
		}
	}
	say("\n")
	t := term.NewTable(os.Stdout)
	for _, k := range l.Codons {
		note := "no changes"
		if k.Commit != "" {
			note = k.Commit[:12]
		}
		word := string(k.Verdict)
		if k.But != "" {
			word += ", " + k.But
		}
		t.Row("codon", string(k.CodonID), word, k.Bill.Text(), note)
	}
	_ = t.Flush() // as with any print
	if more := verdict.CaveatText(l.Caveats); more != "" {
		say("caveats: %s\n", more)
	}
	if n := len(l.LeftOut); n > 0 {
		say("left out, %s:\n", term.Count(n, "path"))
		for i, f := range l.LeftOut {
			if i == most {
				say("  and %d more\n", n-i)
				break
			}
			say("  %s: %s\n", quotePath(f.String()), f.Why)
		}
	}
	printNames("had uncommitted changes before the run and were changed by it; the branch has them as the run left them, with your changes where it kept them:", l.Mixed)
	printNames(fmt.Sprintf("had uncommitted changes before the run and were deleted by it; not on the branch, saved in checkpoint %s:", report.Short(l.From.SHA)), l.Deleted)
	printNames("uncommitted before the run and not changed by it; not on the branch:", l.Uncommitted)
	printPrivate(l)
	for _, k := range l.Checks {
		if k.Right {
			say("%s %s\n", term.Green(os.Stdout, "checked:"), k.What)
			continue
		}
		say("%s %s: %s\n", term.Red(os.Stdout, "FAILED CHECK:"), k.What, k.Why)
		printNames("  these:", k.Files)
	}
	switch {
	case l.DryRun:
		say("nothing was written to your repository\n")
	case l.Report != "":
		say("report     %s\nview with  git%s log -p %s\n", term.ShortPath(l.Report), within(l.Repository), shell.Quote(l.Branch))
	}
}

// printPrivate warns of files for secrets, with the way to leave them out.
func printPrivate(l *land.Landing) {
	if len(l.Private) == 0 {
		return
	}
	printNames(string(term.Yellow(os.Stdout, "new files on the branch whose names suggest secrets:")), l.Private)
	say("a line for each in %s, such as /%s, excludes them from the next landing", term.ShortPath(filepath.Join(l.Repository, ".gitignore")), quotePath(l.Private[0].String()))
	if !l.DryRun {
		say("; git%s branch -D %s removes this one", within(l.Repository), shell.Quote(l.Branch))
	}
	say("\n")
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

func landSign(kind string) term.Painted {
	switch kind {
	case "added":
		return term.Green(os.Stdout, "A")
	case "deleted":
		return term.Red(os.Stdout, "D")
	}
	return term.Yellow(os.Stdout, "M")
}

func printNames(what string, names []land.FileName) {
	if len(names) == 0 {
		return
	}
	say("%s\n", what)
	for i, n := range names {
		if i == most {
			say("  and %d more\n", len(names)-i)
			return
		}
		say("  %s\n", quotePath(n.String()))
	}
}
