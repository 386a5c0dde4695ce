package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"hank/internal/prompt"
	"hank/internal/term"
	"hank/runtime/exitcode"
	"hank/runtime/history"
)

// How many targets are offered on a terminal, and named in a message.
const (
	offered = 12
	named   = 4
)

// pickTarget has the user pick where to go back to if the call does not say it.
func pickTarget(c *cli.Context, o *history.RollbackOptions) error {
	if o.To != "" || o.Undo || c.Bool("yes") || c.Bool("dry-run") { // without: last-success
		return nil
	}
	if !isTerminal() || c.Bool("json") {
		return needTarget(c, *o)
	}
	list, err := history.Choices(c.Context, *o, offered, true)
	if err != nil {
		return err
	}
	remark("Restore which checkpoint? What going there changes in the workspace as it is now:\n")
	t := term.NewTable(os.Stderr)
	t.Hang(2)
	row := func(cost string, cells ...any) {
		if len(o.Paths) == 0 { // a restore leaves no work behind
			cells = append(cells, cost)
		}
		t.Row(cells...)
	}
	row("cost left behind", " ", "target", "checkpoint", "time", "files")
	for i, k := range list {
		cost := k.CostLeft.Text()
		if k.Absent || k.Refused != nil || k.Uncompared {
			cost = "-"
		}
		row(cost, fmt.Sprintf("%3d", i+1), k.Name, k.Target, term.Age(k.Time.Time, time.Now()), k.Changes())
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if !terminal.Line(fmt.Sprintf("A number from 1 to %d, any TARGET, or q = cancel > ", len(list)), func(line string) string {
		if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(list) { // of more digits it may be a SHA
			o.To = "sha:" + string(list[n-1].SHA)
			return ""
		}
		typed := *o
		if typed.To = line; line == "" {
			return "There is no default."
		}
		if _, err := history.LookUp(c.Context, typed); err != nil {
			return forThis(c, err.Error())
		}
		o.To = line
		return ""
	}) {
		return history.ErrDeclined
	}
	return nil
}

// needTarget is the error where nobody can be asked, with the nearest targets.
func needTarget(c *cli.Context, o history.RollbackOptions) error {
	list, err := history.Choices(c.Context, o, named, false)
	if err != nil {
		return err
	}
	names := make([]string, len(list))
	for i, k := range list {
		names[i] = fmt.Sprintf("%s is %s", k.Name, k.Target)
	}
	needs := "hank rollback needs a TARGET"
	if len(o.Paths) > 0 {
		needs = "hank restore needs --from TARGET"
	}
	return &exitcode.UsageError{Why: fmt.Sprintf("%s: %s; see: `hank checkpoints`", needs, strings.Join(names, ", "))}
}

// confirming asks before a rollback, after its preview.
func confirming(c *cli.Context, o history.RollbackOptions) func(history.Preview) bool {
	return func(p history.Preview) bool {
		printPreview(&p, false)
		return asker(c)(prompt.Question{Text: "Proceed?", Answers: prompt.YesNo, Diff: func(out io.Writer) error {
			o.Work = nil
			return history.WritePatch(c.Context, o, out)
		}}) == 0
	}
}
