package main

import (
	"fmt"
	"os"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/urfave/cli/v2"

	"hank/runtime/exitcode"
	"hank/runtime/report"
)

func eventsCommand() *cli.Command {
	return &cli.Command{
		Name: "events", Usage: "print the event log, one event per line",
		Description: `With --json each line is an object {schema, seq, id, timestamp, type, data}. The
filters combine; --type may be given several times.

Example: hank events --follow --type CodonTransitioned --codon review#1`,
		Flags: []cli.Flag{executionFlag,
			&cli.StringSliceFlag{Name: "type", Usage: "only events of `TYPE`, or transitions of that type (CodonStarted)"},
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
			v, err := view(c)
			if err != nil {
				return err
			}
			q := report.EventQuery{Limit: c.Int("limit"), Before: c.Uint64("before"), Since: since, Types: c.StringSlice("type"), Codon: c.String("codon"), Run: c.String("run")}
			to := report.EventSink{Event: printEvent, Damage: func(why string) { remark("hank: %s\n", forThis(c, why)) }}
			if c.Bool("json") {
				to.Event = printEventLine
			}
			if c.Bool("follow") {
				return report.FollowEvents(c.Context, v, q, to)
			}
			return report.ReadEvents(v, q, to)
		},
	}
}

// printEventLine prints an event as one line of JSON.
func printEventLine(e report.Event) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(append(text, '\n'))
	return err
}

func printEvent(e report.Event) error {
	kind, about := e.Summary()
	return say("%6d  %s  %-22s %.120s\n", e.Seq, e.Timestamp.Local().Format("15:04:05.000"), kind, about)
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
		return at, &exitcode.UsageError{Why: fmt.Sprintf("--since takes a time such as 2026-01-02T15:04:05Z or a duration such as 10m, not %q", text)}
	}
	return at, nil
}
