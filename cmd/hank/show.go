package main

import (
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"hank/internal/term"
	"hank/recovery"
	"hank/runtime"
	"hank/state"
)

func showCommand() *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "show everything about a run or a codon", ArgsUsage: "[RUN|CODON]",
		Flags: []cli.Flag{executionFlag, limitFlag, jsonFlag},
		Action: func(c *cli.Context) error {
			if err := arguments(c, 0, 1); err != nil {
				return err
			}
			v, err := view(c)
			if err != nil {
				return err
			}
			name := c.Args().First()
			if run := v.State.Run(state.RunID(name)); run != nil || name == "" {
				return showRuns(c, v, run)
			}
			return showCodon(c, v, state.CodonID(name))
		},
	}
}

// runView is a run with its records, as JSON.
type runView struct {
	*state.Run
	Codons []*state.Codon `json:"codons"`
}

func showRuns(c *cli.Context, v *recovery.View, only *state.Run) error {
	var runs []runView
	for i, r := range v.State.Runs {
		if limit := c.Int("limit"); limit > 0 && i == limit {
			break
		}
		if only == nil || r == only {
			runs = append(runs, runView{r, r.Codons()})
		}
	}
	if c.Bool("json") {
		return printJSON(map[string]any{"schema": 1, "runs": runs})
	}
	for _, r := range runs {
		how := r.StartingConditions.Type
		if src := r.StartingConditions.Source; src != nil {
			how = fmt.Sprintf("%s of %s", r.StartingConditions.Reason, src.RunID)
		}
		fmt.Printf("run %s  %s %s  %s, %s, $%s\n", r.RunID, r.Status, r.EndReason, how, r.StartTime.Local().Format("2006-01-02 15:04:05"), r.Cost())
		t := term.NewTable(os.Stdout)
		for _, k := range r.Codons {
			t.Row("  "+string(k.CodonID), string(k.Status), took(k), "$"+k.Cost().String(), short(k.Checkpoint()), why(k))
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func took(k *state.Codon) string {
	if k.EndTime == nil {
		return ""
	}
	return term.Duration(k.EndTime.Sub(k.StartTime.Time))
}

func why(k *state.Codon) string {
	if k.FailureReason == nil {
		return ""
	}
	return k.FailureReason.Message
}

func showCodon(c *cli.Context, v *recovery.View, id state.CodonID) error {
	var found []*state.Codon
	for _, r := range v.State.Runs {
		for i := r.Len() - 1; i >= 0; i-- {
			if k := r.Codon(i); k.CodonID == id {
				found = append(found, k)
			}
		}
	}
	if len(found) == 0 {
		return &runtime.UsageError{Why: fmt.Sprintf("there is neither a run nor a codon %q; see: hank show", id)}
	}
	if c.Bool("json") {
		return printJSON(map[string]any{"schema": 1, "codons": found})
	}
	for _, k := range found {
		if err := printJSON(k); err != nil {
			return err
		}
	}
	return nil
}
