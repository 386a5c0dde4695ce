package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"hank/internal/term"
	"hank/recovery"
	"hank/runtime"
	"hank/state"
)

// diagnosis is the JSON form of hank doctor.
type diagnosis struct {
	Schema     int                `json:"schema"`
	Execution  string             `json:"execution"`
	Healthy    bool               `json:"healthy"` // the next command brings everything in order by itself
	Live       bool               `json:"live"`
	RunStatus  state.RunStatus    `json:"runStatus,omitempty"`
	Happened   string             `json:"happened,omitempty"` // how the newest run stands
	Source     string             `json:"source,omitempty"`   // where the state was read from
	Seq        uint64             `json:"lastEvent"`          // everything up to this event is safe
	Fixed      bool               `json:"fixed"`              // --fix was given and has been carried out
	Findings   []recovery.Finding `json:"findings"`
	Validation *state.Validation  `json:"validation,omitempty"`
	Store      *storeHealth       `json:"checkpoints,omitempty"`
	Quarantine []string           `json:"quarantine,omitempty"`
	Command    string             `json:"command,omitempty"` // the one to run next
}

// storeHealth is what a look at all objects of the store has shown.
type storeHealth struct {
	Objects  int      `json:"objects"`
	Bytes    int64    `json:"bytes"`
	Problems []string `json:"problems"`
}

func doctorCommand() *cli.Command {
	return &cli.Command{
		Name: "doctor", Usage: "say what happened, what is safe, and the one command to run next",
		Description: `Checks the state, the journal and every object of the checkpoints, and changes
nothing. --fix applies what is safe: it closes crashed runs, finishes changes that
were cut short, mends damaged files from the other memories and sets the damaged
ones aside; a checkpoint store that is gone is begun anew. Exit code 0: the next
command brings everything in order; 4: something needs your decision.`,
		Flags: []cli.Flag{executionFlag, &cli.BoolFlag{Name: "fix", Usage: "apply what is safe"}, breakLockFlag, jsonFlag},
		Action: func(c *cli.Context) error {
			if err := arguments(c, 0, 0); err != nil {
				return err
			}
			root, err := recovery.Find(orDefault(c.String("execution"), "."))
			if err != nil {
				return err
			}
			var done []recovery.Finding
			if c.Bool("fix") {
				if done, err = fix(c, root); err != nil {
					return err
				}
			}
			d := examine(c.Context, root)
			d.judge() // of what is so now, not of what was mended or lost before
			d.Fixed, d.Findings = c.Bool("fix"), append(done, d.Findings...)
			if c.Bool("json") {
				if err := printJSON(d); err != nil {
					return err
				}
			} else {
				printDiagnosis(d, c)
			}
			if !d.Healthy {
				return exitWith(runtime.ExitDecision)
			}
			return nil
		},
	}
}

// fix opens the execution, which brings it in order.
func fix(c *cli.Context, root string) ([]recovery.Finding, error) {
	x, err := recovery.Open(c.Context, root, recovery.Options{Command: "hank doctor --fix", BreakLock: c.String("break-lock"), ReplaceStore: true,
		Reap: runtime.Reap, Warn: func(line string) { fmt.Fprintln(os.Stderr, "hank: "+line) }})
	if err != nil {
		return nil, err
	}
	return x.Report.Findings, x.Close()
}

// examine looks at everything without changing it.
func examine(ctx context.Context, root string) diagnosis {
	d := diagnosis{Schema: 1, Execution: root, Findings: []recovery.Finding{}}
	v, err := recovery.Read(root)
	if err != nil {
		d.Findings = append(d.Findings, recovery.Finding{Severity: recovery.Blocked, What: err.Error()})
		var newer *state.NewerError
		if !errors.As(err, &newer) {
			d.Command = "hank doctor --fix"
		}
		return d
	}
	s := statusOf(v)
	d.Live, d.RunStatus, d.Source, d.Seq, d.Command = v.Live, s.RunStatus, v.Report.Source, v.State.Seq, s.Command
	d.Happened = happened(s)
	d.Findings, d.Quarantine = append(d.Findings, v.Report.Findings...), s.Quarantine
	validation := v.Validate()
	d.Validation = &validation
	if err := d.examineStore(ctx, v); err != nil && v.State.InitialCheckpoint != "" {
		d.Findings = append(d.Findings, recovery.Finding{Severity: recovery.Blocked, What: err.Error()})
		d.Command = "hank doctor --fix"
	}
	return d
}

// happened is the state of the newest run in one line.
func happened(s status) string {
	last := s.LastCodon
	switch {
	case s.LiveCodon != nil:
		return fmt.Sprintf("codon %s is at work", s.LiveCodon.CodonID)
	case s.Live:
		return "a run is at work"
	case s.RunStatus == "":
		return "nothing has run yet"
	case s.Position != nil:
		return fmt.Sprintf("rolled back to checkpoint %s", short(s.Position.CheckpointSHA))
	case s.RunStatus == state.StatusCompleted:
		return "the hank is done"
	case last != nil && last.FailureReason != nil && s.RunStatus != state.StatusCrashed:
		return fmt.Sprintf("codon %s failed: %s", last.CodonID, firstLine(last.FailureReason.Message))
	}
	return fmt.Sprintf("the last run %s (%s)", s.RunStatus, s.EndReason)
}

func (d *diagnosis) examineStore(ctx context.Context, v *recovery.View) error {
	store, err := v.Store()
	if err != nil {
		return err
	}
	defer store.Close()
	report, err := store.Check(ctx)
	if err != nil {
		return err
	}
	size, err := store.Size()
	d.Store = &storeHealth{report.Objects, size, append([]string{}, report.Problems...)}
	return err
}

// judge decides whether a person is needed.
func (d *diagnosis) judge() {
	d.Healthy = d.Validation == nil || d.Validation.Valid
	for _, f := range d.Findings {
		if f.Severity == recovery.Blocked || f.Severity == recovery.Lost {
			d.Healthy = false
		}
	}
	if d.Store != nil && len(d.Store.Problems) > 0 {
		d.Healthy = false
	}
}

func printDiagnosis(d diagnosis, c *cli.Context) {
	word := term.Green(os.Stdout, "healthy")
	if !d.Healthy {
		word = term.Red(os.Stdout, "needs you")
	}
	fmt.Printf("%s  %s\n", term.Bold(os.Stdout, shorten(d.Execution)), word)
	if d.Happened != "" {
		fmt.Printf("  %-11s %s\n", "happened", d.Happened)
	}
	for i, f := range d.Findings {
		if i == most {
			fmt.Printf("  and %d more: hank doctor --json\n", len(d.Findings)-i)
			break
		}
		fmt.Printf("  %-11s %s\n", f.Severity, f.What)
	}
	if d.Source != "" {
		fmt.Printf("  %-11s read from %s; everything up to event %d is safe\n", "state", d.Source, d.Seq)
	}
	if d.Validation != nil {
		printIssues("error", d.Validation.Errors)
		printIssues("warning", d.Validation.Warnings)
	}
	if s := d.Store; s != nil {
		verdict := "none is damaged"
		if len(s.Problems) > 0 {
			verdict = count(len(s.Problems), "problem")
		}
		fmt.Printf("  %-11s %d objects, %s: %s\n", "checkpoints", s.Objects, term.Bytes(s.Bytes), verdict)
		for _, p := range s.Problems[:min(len(s.Problems), most)] {
			fmt.Printf("  %-11s %s\n", "", p)
		}
	}
	if len(d.Quarantine) > 0 {
		fmt.Printf("  %-11s %s in %s\n", "set aside", count(len(d.Quarantine), "file"), shorten(recovery.Layout{Root: d.Execution}.Quarantine()))
	}
	switch {
	case d.Live:
		fmt.Printf("  %-11s a run is at work: hank status%s\n", "now", c2e(c))
	case d.Command != "":
		fmt.Printf("  %-11s %s%s\n", "run next", d.Command, c2e(c))
	default:
		fmt.Printf("  %-11s nothing; the hank is done\n", "run next")
	}
}

func printIssues(word string, issues []state.Issue) {
	for i, issue := range issues {
		if i == most {
			fmt.Printf("  %-11s and %d more\n", word, len(issues)-i)
			return
		}
		fmt.Printf("  %-11s [%s] %s\n", word, issue.Type, issue.Message)
	}
}
