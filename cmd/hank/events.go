package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"hank/cmd/hank/call"
	"hank/internal/term"
	"hank/runtime/exitcode"
	"hank/runtime/history"
	"hank/runtime/report/eventlog"
	"hank/runtime/report/output"
	"hank/state"
)

func eventsCommand() *cli.Command {
	return &cli.Command{
		Name: "events", Usage: "print the event log, one event per line",
		Description: `Prints a line for each event: its number, the local time, with the day where it changes, its
name and what has happened. --type takes names as they are printed, and the types that
--json has. The filters combine; --type may be given several times.

On a terminal it is shown by $PAGER, or less; with PAGER=cat or --follow it is not.
With --json each line is an object {schema, seq, id, timestamp, type, data}, with the time in
UTC. codon.started and codon.completed, which repeat what a state.transition says, are only
there.

Example: hank events --follow --type codon.failed --type run.failed

Exit code 0: printed; 2: there is no such type, codon or run.`,
		Flags: []cli.Flag{executionFlag,
			&cli.StringSliceFlag{Name: "type", Usage: "only events of `TYPE`, such as codon.failed or CodonTransitioned"},
			&cli.StringFlag{Name: "codon", Usage: "only events about `CODON`"},
			&cli.StringFlag{Name: "run", Usage: "only events about `RUN`"},
			&cli.StringFlag{Name: "since", Usage: "only events since `TIME` (RFC 3339 timestamp, or a duration such as 10m)"},
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "follow the log until Ctrl-C"},
			&cli.IntFlag{Name: "limit", Usage: "show only the last `N` events (0 = all)"},
			&cli.Uint64Flag{Name: "before", Usage: "only events before number `SEQ`"},
			jsonFlag},
		Action: func(c *cli.Context) error {
			if err := arguments(c, 0, 0); err != nil {
				return err
			}
			since, err := sinceTime(c.String("since"), time.Now())
			if err != nil {
				return err
			}
			if c.Bool("follow") && c.Uint64("before") > 0 {
				return &exitcode.UsageError{Why: "--follow and --before cannot be combined"}
			}
			if err := eventlog.CheckTypes(c.StringSlice("type")); err != nil {
				return err
			}
			v, err := view(c)
			if err != nil {
				return err
			}
			q := eventlog.Query{Limit: c.Int("limit"), Before: c.Uint64("before"), Since: since, Types: c.StringSlice("type"), Codon: c.String("codon"), Run: c.String("run"), Text: !c.Bool("json")}
			if err := findNames(v.State, &q, c.Bool("follow")); err != nil {
				return err
			}
			out, end := term.Page(os.Stdout)
			if c.Bool("follow") {
				out = os.Stdout
			}
			to := eventlog.Sink{Event: eventPrinter(c, out), Damage: func(why string) { remark("hank: %s\n", forThis(c, why)) }}
			if c.Bool("json") {
				to.Event = func(e eventlog.Event) error { return call.JSONLine(out, output.EventOf(e)) }
			}
			if c.Bool("follow") {
				return eventlog.Follow(c.Context, v, q, to)
			}
			return end(eventlog.Read(v, q, to))
		},
	}
}

// findNames looks up the codon and the run of a query, so that a mistyped one is not taken
// for one without events. Who follows may wait for an iteration that is still to come.
func findNames(s *state.State, q *eventlog.Query, follow bool) error {
	if q.Run != "" && s.Run(state.RunID(q.Run)) == nil {
		return history.UnknownRun(s.Runs, q.Run)
	}
	if q.Codon == "" {
		return nil
	}
	find := history.CodonThere
	if follow {
		find = history.CodonToCome
	}
	id, err := find(s, q.Codon)
	q.Codon = string(id)
	return err
}

// eventPrinter prints events as lines, with the day where it changes: on a terminal as a
// line of its own, elsewhere as a column, so that each event is one line.
func eventPrinter(c *cli.Context, out io.Writer) func(eventlog.Event) error {
	const elsewhere = 160 // columns of a sentence
	day, columns := "", term.Width(os.Stdout)
	return func(e eventlog.Event) error {
		at := e.Timestamp.Local()
		date, when, most := at.Format(time.DateOnly), "", elsewhere
		changed := date != day
		day = date
		name, says := fmt.Sprintf("%-20s", e.Name()), e.Sentence(executionOption(c))
		switch {
		case columns > 0:
			if changed {
				if err := term.Fprintf(out, "%s\n", term.Bold(os.Stdout, date)); err != nil {
					return err
				}
			}
			when = fmt.Sprintf("%6d  %s", e.Seq, at.Format(time.TimeOnly))
			most = max(20, columns-term.Columns(when+name)-4)
			says = withShortName(says, columns)
		case changed:
			when = fmt.Sprintf("%6d  %s %s", e.Seq, date, at.Format("15:04:05.000"))
		default:
			when = fmt.Sprintf("%6d  %10s %s", e.Seq, "", at.Format("15:04:05.000"))
		}
		return term.Fprintf(out, "%s  %s  %s\n", term.Dim(os.Stdout, when), painted(name), term.Fit(says, most))
	}
}

// withShortName is a sentence in which a long name of a codon, or of a loop, leaves room on a
// line for what happened.
func withShortName(sentence string, columns int) string {
	at := len(sentence) - len(strings.TrimPrefix(sentence, "after "))
	name, _, _ := strings.Cut(sentence[at:], " ")
	name, named := strings.CutSuffix(name, ":")
	if !named && at == 0 || term.Columns(name) <= columns/3 {
		return sentence
	}
	return sentence[:at] + term.FitMiddle(name, columns/4) + sentence[at+len(name):]
}

// painted is the name of an event in the colour of what it tells.
func painted(name string) term.Painted {
	switch _, what, _ := strings.Cut(strings.TrimSpace(name), "."); what {
	case "failed", "crashed", "setup.failed":
		return term.Red(os.Stdout, name)
	case "completed":
		return term.Green(os.Stdout, name)
	case "paused", "skipped":
		return term.Yellow(os.Stdout, name)
	}
	return term.Sprintf("%s", name)
}

func sinceTime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := parseAge(text); err == nil {
		return now.Add(-d), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, &exitcode.UsageError{Why: fmt.Sprintf("--since takes a time such as 2001-02-03T15:04:05Z or a duration such as 10m, not %q", text)}
	}
	return at, nil
}
