package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/urfave/cli/v2"

	"hank/checkpoint"
	"hank/internal/advice"
	"hank/internal/prompt"
	"hank/internal/shell"
	"hank/internal/term"
	"hank/internal/typo"
	"hank/recovery"
	"hank/recovery/layout"
	"hank/runtime"
	"hank/runtime/exitcode"
	"hank/runtime/progress"
)

// Flags that many commands share.
var (
	executionFlag = &cli.StringFlag{Name: "execution", Aliases: []string{"e"}, Usage: "execution directory `DIR` (default: the current directory or its nearest parent that has one)"}
	jsonFlag      = &cli.BoolFlag{Name: "json", Usage: "print JSON"}
	limitFlag     = &cli.IntFlag{Name: "limit", Value: 50, Usage: "show at most `N` entries (0 = all)"}
	breakLockFlag = &cli.StringFlag{Name: "break-lock", Usage: "force-unlock: take over the lock `TOKEN` although its owner may still be alive"}
	dryRunFlag    = &cli.BoolFlag{Name: "dry-run", Aliases: []string{"n", "plan"}, Usage: "preview only: show what would change, and change nothing"}
	yesFlag       = &cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "skip confirmation prompts"}
)

// view reads the execution that the flags name.
func view(c *cli.Context) (*recovery.View, error) {
	root, err := executionOf(c)
	if err != nil {
		return nil, err
	}
	return recovery.Read(root)
}

// executionOf finds the execution that the command is about: the one that -e names,
// else the one here or in the nearest directory above.
func executionOf(c *cli.Context) (string, error) {
	named, err := namedExecution(c)
	if err != nil {
		return "", err
	}
	if named == "" {
		return layout.Find(".")
	}
	return layout.At(named)
}

// namedExecution is what -e says; empty where it is not given. One that is given
// and empty, such as a variable that is not set, means no directory, not this one.
func namedExecution(c *cli.Context) (string, error) {
	if c.IsSet("execution") && c.String("execution") == "" {
		return "", &exitcode.UsageError{Why: "-e needs the directory of an execution; the given value is empty"}
	}
	return c.String("execution"), nil
}

// executionOption is the -e of this call, which a command that is printed needs,
// too; empty where the execution is found from here without.
func executionOption(c *cli.Context) string {
	named := c.String("execution")
	if named == "" {
		return ""
	}
	if abs, err := filepath.Abs(named); err == nil {
		if found, err := layout.Find("."); err == nil && found == abs {
			return ""
		}
	}
	return " -e " + shell.Quote(named)
}

// forThis returns a text in which the commands of hank are for the execution that
// this call is about.
func forThis(c *cli.Context, text string) string {
	return advice.Render(text, executionOption(c))
}

// commandForThis is the same of a command by itself.
func commandForThis(c *cli.Context, command string) string {
	return advice.Command(command, executionOption(c))
}

// arguments checks the number of arguments of a command.
func arguments(c *cli.Context, least, most int) error {
	switch n := c.NArg(); {
	case n < least:
		return &exitcode.UsageError{Why: fmt.Sprintf("hank %s needs %s; see: hank %s --help", c.Command.Name, c.Command.ArgsUsage, c.Command.Name)}
	case most >= 0 && n > most:
		return &exitcode.UsageError{Why: fmt.Sprintf("hank %s: unexpected argument %q; see: hank %s --help", c.Command.Name, c.Args().Get(most), c.Command.Name)}
	}
	return nil
}

// printJSON writes a value as indented JSON with a newline. Text that is not
// UTF-8 is written as well as it can be; lists of files have pathBase64.
func printJSON(v any) error {
	text, err := json.Marshal(v, jsontext.WithIndent("  "), json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(append(text, '\n'))
	return err
}

// say prints text for people. What others have made of it (names, paths,
// messages) cannot steer the terminal. Nothing else in this package prints but
// printJSON, remark, and what is made for programs.
func say(format string, args ...any) error { return printTo(os.Stdout, format, args...) }

// remark is say on standard error.
func remark(format string, args ...any) error { return printTo(os.Stderr, format, args...) }

func printTo(out *os.File, format string, args ...any) (err error) {
	onScreen(func() { err = term.Fprintf(out, format, args...) })
	if err != nil && out == os.Stdout {
		unsaid.CompareAndSwap(nil, &err)
	}
	return err
}

// unsaid is why something that was to be said could not be written.
var unsaid atomic.Pointer[error]

// saidAll fails where a part of what a command found out could not be written: a list
// that is cut is a wrong one. What a command has changed is changed all the same, so
// that it is only told then.
func saidAll(c *cli.Context) error {
	err := unsaid.Load()
	switch {
	case err == nil, errors.Is(*err, syscall.EPIPE): // nobody wants to read the rest
		return nil
	case changes(c):
		remark("hank: the output could not be written: %v\n", *err)
		return nil
	}
	return fmt.Errorf("the output could not be written: %w", *err)
}

// changes reports whether a command changes something, and does not only look.
func changes(c *cli.Context) bool {
	switch c.Command.Name {
	case "doctor":
		return c.Bool("fix")
	case "gc":
		return c.Bool("apply")
	case "init", "stop", "skip", "run", "resume", "retry", "rollback", "restore", "land", "reset":
		return !c.Bool("dry-run")
	}
	return false
}

// terminal is where the user is asked.
var terminal = prompt.Terminal{In: os.Stdin, Out: os.Stderr}

// isTerminal reports whether the user can be asked.
func isTerminal() bool { return term.IsTerminal(os.Stdin) && term.IsTerminal(os.Stderr) }

// screen shows the run that this process drives, if there is one: what is printed
// meanwhile must not mix with its live line.
var screen atomic.Pointer[progress.Printer]

// onScreen runs what prints, beside the line of a running codon.
func onScreen(print func()) {
	if p := screen.Load(); p != nil {
		p.Print(print)
		return
	}
	print()
}

// asker returns how to ask the user, or nil.
func asker(c *cli.Context) runtime.Asker {
	if !isTerminal() || c.Bool("yes") {
		return nil
	}
	return func(q prompt.Question) (chosen int) {
		q.Text = forThis(c, q.Text)
		onScreen(func() { chosen = terminal.Ask(q) })
		return chosen
	}
}

// work shows what takes its time on standard error.
func work(what string, p *checkpoint.Progress) (end func()) {
	if s := screen.Load(); s != nil {
		if end, shown := s.Work(what, p); shown {
			return end
		}
	}
	return term.Work(os.Stderr, what, p.Done)
}

// lastBefore cuts a list, oldest first, to the last ones before a key.
func lastBefore[T any](list []T, limit int, before string, key func(T) string) ([]T, error) {
	if before != "" {
		at, keys := -1, make([]string, len(list))
		for i, e := range list {
			if keys[i] = key(e); keys[i] == before {
				at = i
			}
		}
		if at < 0 {
			why := fmt.Sprintf("--before: no entry %q", before)
			if near := typo.Nearest(before, keys); near != "" {
				why += "; did you mean " + near + "?"
			}
			return nil, &exitcode.UsageError{Why: why}
		}
		list = list[:at]
	}
	if limit > 0 && len(list) > limit {
		list = list[len(list)-limit:]
	}
	return list, nil
}

// notOneOf is the error about a flag whose value must be one of some words.
func notOneOf(flag, value string, words ...string) error {
	last := len(words) - 1
	why := fmt.Sprintf("--%s takes %s or %s, not %q", flag, strings.Join(words[:last], ", "), words[last], value)
	if near := typo.Nearest(value, words); near != "" {
		why += "; did you mean " + near + "?"
	}
	return &exitcode.UsageError{Why: why}
}

func orDefault(s, def string) string {
	if s == "" {
		return def
	}
	return s
}
