package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/urfave/cli/v2"

	"hank/internal/vfs"
	"hank/recovery"
	"hank/recovery/hankweave"
	"hank/runtime/exitcode"
	"hank/state"
	"hank/state/journal"
)

func eventsCommand() *cli.Command {
	return &cli.Command{
		Name: "events", Usage: "print the journal, one event a line",
		Description: `With --json each line is an object {schema, seq, id, timestamp, type, data}. The
filters combine; --type may be given several times.

Example: hank events --follow --type CodonTransitioned --codon review#1`,
		Flags: []cli.Flag{executionFlag,
			&cli.StringSliceFlag{Name: "type", Usage: "only events of this `TYPE`, or transitions of this type (CodonStarted)"},
			&cli.StringFlag{Name: "codon", Usage: "only those about this `CODON`"},
			&cli.StringFlag{Name: "run", Usage: "only those about this `RUN`"},
			&cli.StringFlag{Name: "since", Usage: "only those since this `TIME` (RFC 3339), or within this span (10m)"},
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "wait for more, until Ctrl-C"},
			&cli.IntFlag{Name: "limit", Usage: "print only the last `N` (0: all)"},
			&cli.Uint64Flag{Name: "before", Usage: "print only events before number `SEQ`"},
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
				return &exitcode.UsageError{Why: "--follow and --before exclude each other"}
			}
			v, err := view(c)
			if err != nil {
				return err
			}
			p := eventPrinter{option: executionOption(c), json: c.Bool("json"), limit: c.Int("limit"), before: c.Uint64("before"), since: since,
				types: c.StringSlice("type"), codon: c.String("codon"), run: c.String("run")}
			return p.print(c.Context, v, c.Bool("follow"))
		},
	}
}

// eventPrinter prints the events that pass its filters.
type eventPrinter struct {
	option     string // the -e that commands need
	json       bool
	limit      int
	before     uint64
	since      time.Time
	types      []string
	codon, run string

	kept []journal.Event // the last ones, as far as there is a limit
	last uint64
}

// scope is what filters look at in an event's data.
type scope struct {
	TransitionType string `json:"transitionType"`
	RunID          string `json:"runId"`
	CodonID        string `json:"codonId"`
	Transition     struct {
		Data struct {
			Record struct {
				Status state.CodonStatus `json:"status"`
			} `json:"record"`
		} `json:"data"`
	} `json:"transition"`
}

func scopeOf(e journal.Event) scope {
	var s scope
	_ = json.Unmarshal(e.Data, &s) // data of another shape has no scope
	return s
}

func (p *eventPrinter) print(ctx context.Context, v *recovery.View, follow bool) error {
	read := func() error { return p.readThrough(v.Layout.Events(), v.State.Seq) }
	if v.ForeignJournal {
		read, follow = func() error { return p.readForeign(v) }, false
	}
	if err := read(); err != nil {
		return err
	}
	for _, e := range p.kept {
		if err := p.show(e); err != nil {
			return err
		}
	}
	if !follow {
		return nil
	}
	p.limit = 0
	for {
		err := journal.Follow(ctx, vfs.OS, v.Layout.Events(), p.last+1, 200*time.Millisecond, p.take)
		next, ok := behind(err)
		if !ok {
			return err
		}
		p.last = next - 1
	}
}

// readThrough reads the whole journal, past damage, which it reports. Where there
// is none there is nothing to print; known is the last event that the state knows.
func (p *eventPrinter) readThrough(dir string, known uint64) error {
	for from := uint64(1); ; {
		err := journal.Read(vfs.OS, dir, from, p.take)
		next, ok := behind(err)
		switch {
		case errors.Is(err, os.ErrNotExist) && p.last == 0:
			if known > 0 {
				remark("hank: the journal %s is gone; see: hank doctor%s\n", dir, p.option)
			}
			return nil
		case !ok || next <= from && from > 1:
			return err
		}
		from = next
	}
}

// readForeign reads the journal of an execution that hank has not gone on with
// yet.
func (p *eventPrinter) readForeign(v *recovery.View) error {
	return v.ReadForeignEvents(func(line uint64, e hankweave.ForeignEvent) error {
		return p.take(journal.Event{Seq: line, ID: e.ID, Timestamp: e.Timestamp.Time, Type: e.Type, Data: e.Data})
	})
}

// behind says where the journal goes on behind damage, and reports it.
func behind(err error) (next uint64, ok bool) {
	var gap *journal.GapError
	if !errors.As(err, &gap) || gap.Next == 0 {
		return 0, false
	}
	remark("hank: %s\n", gap.Error())
	return gap.Next, true
}

func (p *eventPrinter) take(e journal.Event) error {
	p.last = max(p.last, e.Seq)
	if !p.wants(e) {
		return nil
	}
	if p.limit <= 0 {
		return p.show(e)
	}
	if p.kept = append(p.kept, e); len(p.kept) > p.limit {
		p.kept = p.kept[1:]
	}
	return nil
}

func (p *eventPrinter) wants(e journal.Event) bool {
	if p.before > 0 && e.Seq >= p.before || e.Timestamp.Before(p.since) {
		return false
	}
	if p.codon == "" && p.run == "" && len(p.types) == 0 {
		return true
	}
	about := scopeOf(e)
	return (p.codon == "" || p.codon == about.CodonID) && (p.run == "" || p.run == about.RunID) &&
		(len(p.types) == 0 || slices.Contains(p.types, e.Type) || about.TransitionType != "" && slices.Contains(p.types, about.TransitionType))
}

// eventLine is an event as JSON.
type eventLine struct {
	Schema    int            `json:"schema"`
	Seq       uint64         `json:"seq"`
	ID        string         `json:"id"`
	Timestamp state.Time     `json:"timestamp"`
	Type      string         `json:"type"`
	Data      jsontext.Value `json:"data"`
}

func (p *eventPrinter) show(e journal.Event) error {
	if p.json {
		text, err := json.Marshal(eventLine{1, e.Seq, e.ID, state.At(e.Timestamp), e.Type, e.Data})
		if err != nil {
			return err
		}
		_, err = os.Stdout.Write(append(text, '\n'))
		return err
	}
	kind, text := e.Type, string(e.Data)
	if about := scopeOf(e); about.TransitionType != "" {
		kind, text = about.TransitionType, about.CodonID
		if s := about.Transition.Data.Record.Status; s != "" {
			text += " " + string(s)
		}
		if text == "" {
			text = about.RunID
		}
	}
	return say("%6d  %s  %-22s %.120s\n", e.Seq, e.Timestamp.Local().Format("15:04:05.000"), kind, text)
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
		return at, &exitcode.UsageError{Why: fmt.Sprintf("--since takes a time such as 2026-01-02T15:04:05Z or a span such as 10m, not %q", text)}
	}
	return at, nil
}
