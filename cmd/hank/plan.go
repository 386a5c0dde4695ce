package main

import (
	"os"
	"strconv"

	"github.com/urfave/cli/v2"

	"hank/internal/term"
	"hank/plan"
	"hank/recovery"
	"hank/runtime"
	"hank/runtime/exitcode"
	"hank/runtime/report"
	"hank/runtime/verdict"
	"hank/state"
)

// planned is an entry of the plan.
type planned struct {
	Index      int               `json:"index"` // from 1
	CodonID    state.CodonID     `json:"codonId"`
	Name       string            `json:"name"`
	Model      string            `json:"model"`
	Session    plan.Continuation `json:"continuationMode"`
	LoopID     state.CodonID     `json:"loopId,omitempty"`
	Iteration  *int              `json:"iteration,omitempty"` // from 0
	Status     state.CodonStatus `json:"status,omitempty"`    // empty: to come
	Verdict    verdict.Verdict   `json:"verdict,omitempty"`   // the status in a word for people
	Checkpoint state.SHA         `json:"checkpointSha,omitempty"`
	Next       bool              `json:"next,omitzero"`

	but string // what the verdict leaves unsaid
}

// planView is the JSON form of hank plan.
type planView struct {
	Schema    int       `json:"schema"`
	Execution string    `json:"execution,omitempty"`
	Hank      string    `json:"hank,omitempty"`
	Codons    []planned `json:"codons"`
}

func planCommand() *cli.Command {
	return &cli.Command{
		Name: "plan", Usage: "list the codons in the order in which they run", ArgsUsage: "[HANK|DIR]",
		Description: `Without an argument: the plan of the execution, with what is done and what is next.
With one, a HANK (a hank.json) or the DIR that holds one: what it would begin with. Loops are laid out one iteration at a
time, as they are needed. Reads only.

Example: hank plan --before review#2 --limit 10

Exit code 0: printed; 3: the hank that is named is invalid.`,
		Flags: []cli.Flag{executionFlag,
			&cli.StringFlag{Name: "config", Usage: "settings `FILE` (default: hankweave.json here, if it is there)"},
			&cli.StringFlag{Name: "model", Aliases: []string{"m"}, Usage: "use this `MODEL` for every codon"},
			&cli.IntFlag{Name: "limit", Usage: "print at most `N` (0: all), the last ones before --before"},
			&cli.StringFlag{Name: "before", Usage: "print only what comes before this `CODON`"},
			jsonFlag},
		Action: func(c *cli.Context) error {
			if err := arguments(c, 0, 1); err != nil {
				return err
			}
			p, err := planOf(c)
			if err != nil {
				return err
			}
			if p.Codons, err = lastBefore(p.Codons, c.Int("limit"), c.String("before"), func(e planned) string { return string(e.CodonID) }); err != nil {
				return err
			}
			if c.Bool("json") {
				return printJSON(p)
			}
			return printPlan(p)
		},
	}
}

// planOf is the plan of an execution if there is one and no hank is named.
func planOf(c *cli.Context) (planView, error) {
	if c.NArg() == 0 {
		v, err := view(c)
		if err == nil && len(v.State.ExecutionPlan()) > 0 {
			return planOfState(v), nil
		}
		if err != nil && (c.String("execution") != "" || !isHank(".")) {
			return planView{}, err
		}
	}
	layers, err := settings(c)
	if err != nil {
		return planView{}, err
	}
	path := orDefault(c.Args().First(), ".")
	program, found, err := runtime.LoadHank(path, layers)
	if err != nil {
		return planView{}, err
	}
	if program == nil {
		return planView{}, &exitcode.InvalidError{Diagnostics: located(path, found)}
	}
	p := planView{Schema: 1, Hank: path}
	for i, e := range program.Initial() {
		p.Codons = append(p.Codons, plannedOf(i, e))
	}
	return p, nil
}

func plannedOf(i int, e plan.Entry) planned {
	p := planned{Index: i + 1, CodonID: e.CodonID, Name: e.Codon.Name, Model: e.Codon.Model.String(), Session: e.Codon.ContinuationMode}
	if l := e.LoopContext; l != nil {
		p.LoopID, p.Iteration = l.LoopID, &l.Iteration
	}
	return p
}

func planOfState(v *recovery.View) planView {
	p := planView{Schema: 1, Execution: v.Layout.Root, Hank: v.Meta.HankPath, Codons: []planned{}}
	next := v.State.Next()
	newest := map[state.CodonID]state.Step{}
	for _, step := range v.State.Thread() {
		newest[step.Codon.CodonID] = step
	}
	for i, e := range v.State.ExecutionPlan() {
		entry := plannedOf(i, e.Entry)
		entry.Next = i == next
		if at := newest[e.CodonID]; at.Codon != nil && i <= next {
			entry.Status, entry.Checkpoint = at.Codon.Status, at.Codon.Checkpoint()
			entry.Verdict, entry.but = verdict.OfCodon(at.Codon, verdict.OfRun(v, at.Run)), verdict.Qualification(at.Codon)
		}
		p.Codons = append(p.Codons, entry)
	}
	return p
}

func printPlan(p planView) error {
	t := term.NewTable(os.Stdout)
	grows := false
	for _, e := range p.Codons {
		status := orDefault(string(e.Verdict), "-")
		if e.Next && e.Status == "" {
			status = "next"
		}
		name := e.Name
		if e.but != "" {
			name += " (" + e.but + ")"
		}
		grows = grows || e.LoopID != "" && e.Status == ""
		t.Row(strconv.Itoa(e.Index), string(e.CodonID), status, orDefault(report.Short(e.Checkpoint), "-"), e.Model, name)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if grows {
		say("a loop is laid out one iteration at a time; more may come\n")
	}
	return nil
}
