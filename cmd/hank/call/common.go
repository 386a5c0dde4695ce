package call

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/urfave/cli/v2"

	"hank/checkpoint"
	"hank/internal/advice"
	"hank/internal/lazyregexp"
	"hank/internal/prompt"
	"hank/internal/shell"
	"hank/internal/term"
	"hank/internal/typo"
	"hank/recovery"
	"hank/recovery/layout"
	"hank/runtime"
	"hank/runtime/exitcode"
	"hank/runtime/history"
	"hank/runtime/progress"
	"hank/runtime/report/cost"
)

// Flags that many commands share.
var (
	ExecutionFlag = &cli.StringFlag{Name: "execution", Aliases: []string{"e"}, Usage: "execution directory `DIR` (default: the current directory or its nearest parent that has one)"}
	JSONFlag      = &cli.BoolFlag{Name: "json", Usage: "print JSON"}
	LimitFlag     = &cli.IntFlag{Name: "limit", Value: 50, Usage: "show at most `N` entries (0 = all)"}
	BreakLockFlag = &cli.StringFlag{Name: "break-lock", Usage: "force-unlock: take over the lock `TOKEN` although its owner may still be alive"}
	DryRunFlag    = &cli.BoolFlag{Name: "dry-run", Aliases: []string{"n", "plan"}, Usage: "preview only: show what would change, and change nothing"}
	YesFlag       = &cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "skip confirmation prompts"}
)

// View reads the execution that the flags name.
func View(c *cli.Context) (*recovery.View, error) {
	root, err := ExecutionOf(c)
	if err != nil {
		return nil, err
	}
	return recovery.Read(root)
}

// ExecutionOf finds the execution that the command is about: the one that -e names,
// else the one here or in the nearest directory above.
func ExecutionOf(c *cli.Context) (string, error) {
	if named := c.String("execution"); named != "" {
		return layout.At(named)
	}
	return layout.Find(".")
}

// ExecutionOption is the -e of this call, which a command that is printed needs,
// too; empty where the execution is found from here without.
func ExecutionOption(c *cli.Context) string {
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

// ForThis returns a text in which the commands of hank are for the execution that
// this call is about.
func ForThis(c *cli.Context, text string) string {
	return advice.Render(text, ExecutionOption(c))
}

// CommandForThis is the same of a command by itself.
func CommandForThis(c *cli.Context, command string) string {
	return advice.Command(command, ExecutionOption(c))
}

// Arguments checks the number of arguments of a command, and that what hank records of
// them, or sends to a run, is UTF-8.
func Arguments(c *cli.Context, least, most int) error {
	switch n := c.NArg(); {
	case n < least:
		return &exitcode.UsageError{Why: fmt.Sprintf("hank %s needs %s; see: hank %s --help", c.Command.Name, c.Command.ArgsUsage, c.Command.Name)}
	case most >= 0 && n > most:
		return &exitcode.UsageError{Why: fmt.Sprintf("hank %s: unexpected argument %q; see: hank %s --help", c.Command.Name, c.Args().Get(most), c.Command.Name)}
	}
	texts := append(c.StringSlice("label"), c.String("note"), c.String("reply"), c.String("run"))
	switch c.Command.ArgsUsage {
	case "GATE", "[CODON]", "[REASON]":
		texts = append(texts, c.Args().First())
	}
	for _, text := range texts {
		if !utf8.ValidString(text) {
			return &exitcode.UsageError{Why: fmt.Sprintf("the text %q is not UTF-8, and hank cannot record it", text)}
		}
	}
	return nil
}

// placeholder is the name that the help of a flag has for its value.
var placeholder = lazyregexp.New("`[^`]+`")

// noneEmpty refuses a value that is given and empty, as a variable that is not set gives it:
// it would mean what is meant without it, such as another checkpoint. Only a text may be empty.
func noneEmpty(c *cli.Context) error {
	if slices.Contains(c.Args().Slice(), "") && c.Command.ArgsUsage != "[REASON]" {
		return &exitcode.UsageError{Why: fmt.Sprintf("hank %s takes %s; the given value is empty", c.Command.Name, c.Command.ArgsUsage)}
	}
	for _, f := range c.Command.Flags {
		empty := false
		switch name := f.Names()[0]; f.(type) {
		case *cli.StringFlag:
			empty = c.IsSet(name) && c.String(name) == ""
		case *cli.StringSliceFlag:
			empty = slices.Contains(c.StringSlice(name), "")
		}
		if !empty {
			continue
		}
		if value := strings.Trim(placeholder.FindString(f.(cli.DocGenerationFlag).GetUsage()), "`"); value != "TEXT" {
			return &exitcode.UsageError{Why: fmt.Sprintf("--%s needs %s; the given value is empty", f.Names()[0], value)}
		}
	}
	return nil
}

// JSON writes a value as indented JSON with a newline. Text that is not
// UTF-8 is written as well as it can be; lists of files have pathBase64.
func JSON(v any) error {
	text, err := json.Marshal(v, jsontext.WithIndent("  "), json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return err
	}
	PrintedJSON = true
	_, err = os.Stdout.Write(append(text, '\n'))
	return err
}

// PrintedJSON is whether JSON was called: a command prints one object.
var PrintedJSON bool

// JSONLine writes a value as one line of JSON.
func JSONLine(out io.Writer, v any) error {
	text, err := json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return err
	}
	_, err = out.Write(append(text, '\n'))
	return err
}

// Say prints text for people. What others have made of it (names, paths,
// messages) cannot steer the terminal. Nothing else in this package prints but
// JSON, remark, and what is made for programs.
func Say(format string, args ...any) error { return PrintTo(os.Stdout, format, args...) }

// Remark is say on standard error.
func Remark(format string, args ...any) error { return PrintTo(os.Stderr, format, args...) }

// RemarkLong is Remark of a line that a terminal gets in several, where it is longer than one.
func RemarkLong(line string) error { return divided(os.Stderr, "", "  ", line, nil) }

// Label is what stands before a fact of a summary.
func Label(name string) string { return fmt.Sprintf("  %-11s ", name) }

// Beside prints a text after what begins its line. A terminal gets it in several lines where it
// is longer than one. paint colours it; nil does not.
func Beside(begin, text string, paint func(*os.File, string) term.Painted) error {
	return divided(os.Stdout, begin, strings.Repeat(" ", len(begin)), text, paint)
}

// divided prints a text after what begins its line, and what does not fit there in lines that
// are indented.
func divided(out *os.File, begin, indent, text string, paint func(*os.File, string) term.Painted) (err error) {
	for _, line := range term.Clauses(text, term.Width(out)-len(indent)) {
		shown := term.Sprintf("%s", line)
		if paint != nil {
			shown = paint(out, line)
		}
		if err = PrintTo(out, "%s%s\n", begin, shown); err != nil {
			return err
		}
		begin = indent
	}
	return nil
}

func PrintTo(out *os.File, format string, args ...any) (err error) {
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
		Remark("hank: the output could not be written: %v\n", *err)
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
	case "init", "stop", "skip", "run", "resume", "retry", "rollback", "restore", "land", "reset", "approve", "reject", "hold", "release":
		return !c.Bool("dry-run")
	}
	return false
}

// Terminal is where the user is asked.
var Terminal = prompt.Terminal{In: os.Stdin, Out: os.Stderr}

// IsTerminal reports whether the user can be asked.
func IsTerminal() bool { return term.IsTerminal(os.Stdin) && term.IsTerminal(os.Stderr) }

// Screen shows the run that this process drives, if there is one: what is printed
// meanwhile must not mix with its live line.
var Screen atomic.Pointer[progress.Printer]

// onScreen runs what prints, beside the line of a running codon.
func onScreen(print func()) {
	if p := Screen.Load(); p != nil {
		p.Print(print)
		return
	}
	print()
}

// Asker returns how to ask the user, or nil.
func Asker(c *cli.Context) runtime.Asker {
	if !IsTerminal() || c.Bool("yes") {
		return nil
	}
	return func(q prompt.Question) (chosen int) {
		q.Text = ForThis(c, q.Text)
		onScreen(func() { chosen = Terminal.Ask(q) })
		return chosen
	}
}

// Work shows what takes its time on standard error.
func Work(what string, p *checkpoint.Progress) (end func()) {
	if s := Screen.Load(); s != nil {
		if end, shown := s.Work(what, p); shown {
			return end
		}
	}
	return term.Work(os.Stderr, what, p.Done)
}

// LastBefore cuts a list, oldest first, to the last ones before a key.
func LastBefore[T any](list []T, limit int, before string, key func(T) string) ([]T, error) {
	if before != "" {
		at, keys := -1, make([]string, len(list))
		for i, e := range list {
			if keys[i] = key(e); keys[i] == before {
				at = i
			}
		}
		if at < 0 {
			why := fmt.Sprintf("--before: no entry %q", before)
			slices.Reverse(keys) // of the iterations of a loop the last one is meant
			if near := history.NearestCodon(before, keys); near != "" {
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

// NotOneOf is the error about a flag whose value must be one of some words.
func NotOneOf(flag, value string, words ...string) error {
	last := len(words) - 1
	why := fmt.Sprintf("--%s takes %s or %s, not %q", flag, strings.Join(words[:last], ", "), words[last], value)
	if near := typo.Nearest(value, words); near != "" {
		why += "; did you mean " + near + "?"
	}
	return &exitcode.UsageError{Why: why}
}

func OrDefault(s, def string) string {
	if s == "" {
		return def
	}
	return s
}

// Exclusive counts the flags that are set.
func Exclusive(c *cli.Context, names ...string) int {
	n := 0
	for _, name := range names {
		if c.Bool(name) {
			n++
		}
	}
	return n
}

// ParseAge reads a time span, in days too.
func ParseAge(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, &exitcode.UsageError{Why: fmt.Sprintf("an age is a number with a unit, such as 30d, 12h or 10m, not %q", text)}
	}
	return d, nil
}

// CatchUp has the cost index brought up to date, best effort.
func CatchUp(execution string) {
	if self, err := os.Executable(); err == nil {
		cost.StartCatchUp(self, execution)
	}
}

// QuotePath shows a path on one line: as it is, or, where it holds what does
// not print, quoted.
func QuotePath(p string) string {
	if q := strconv.Quote(p); q != `"`+p+`"` {
		return q
	}
	return p
}
