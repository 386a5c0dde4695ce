package author

import (
	"os"
	"slices"
	"strconv"

	"github.com/urfave/cli/v2"

	"hank/cmd/hank/call"
	"hank/internal/term"
	"hank/runtime/exitcode"
	"hank/runtime/hankfile"
	"hank/runtime/report"
	"hank/runtime/report/output"
	"hank/runtime/report/planview"
)

func Plan() *cli.Command {
	return &cli.Command{
		Name: "plan", Usage: "list the codons in the order in which they run, and what holds for each", ArgsUsage: "[HANK|DIR]",
		Description: `Without an argument: the plan of the execution, with what has run and what is next.
With HANK (a hank.json) or the DIR that holds one: the initial plan. Loop iterations
are added as they are reached. Reads only.

Below the list: when loops end, fallbacks, gates, budgets, which codons share a session of their
agent, and the patterns that each codon adds to what checkpoints track. The size of a
prompt is without what its placeholders stand for. --limit and --before show the list alone.

--format mermaid draws a flowchart: in a Markdown file, put it between lines of
` + "```mermaid and ```" + `.

Examples: hank plan --before review#2 --limit 10
          hank plan my-hank --format mermaid

Exit code 0: printed; 3: HANK is invalid.`,
		Flags: []cli.Flag{call.ExecutionFlag,
			&cli.StringFlag{Name: "config", Usage: "settings `FILE` (default: ./hankweave.json, if present)"},
			&cli.StringFlag{Name: "model", Aliases: []string{"m"}, Usage: "use `MODEL` for every codon"},
			&cli.IntFlag{Name: "limit", Usage: "show at most `N` entries (0 = all), the last ones before --before"},
			&cli.StringFlag{Name: "before", Usage: "show only entries before `CODON`"},
			&cli.StringFlag{Name: "format", Value: "text", Usage: "output `FORMAT`: text, json or mermaid"},
			call.JSONFlag},
		Action: func(c *cli.Context) error {
			if err := call.Arguments(c, 0, 1); err != nil {
				return err
			}
			format := c.String("format")
			switch {
			case c.Bool("json") && c.IsSet("format") && format != "json":
				return &exitcode.UsageError{Why: "--json and --format " + format + " are mutually exclusive"}
			case c.Bool("json"):
				format = "json"
			case format != "text" && format != "json" && format != "mermaid":
				return call.NotOneOf("format", format, "text", "json", "mermaid")
			}
			p, err := planOf(c)
			if err != nil {
				return err
			}
			whole := len(p.Codons)
			if p.Codons, err = call.LastBefore(p.Codons, c.Int("limit"), c.String("before"), func(e planview.Planned) string { return string(e.CodonID) }); err != nil {
				return err
			}
			switch format {
			case "json":
				return call.JSON(output.PlanOf(p, call.HankPath(p.Hank), c.Args().First()))
			case "mermaid":
				if len(p.Codons) < whole {
					return &exitcode.UsageError{Why: "--format mermaid draws the whole plan: it goes without --limit and --before"}
				}
				return call.Say("%s", p.Mermaid())
			}
			if err := printPlan(p); err != nil || len(p.Codons) < whole {
				return err
			}
			return printSentences(p)
		},
	}
}

// planOf is the plan of an execution if there is one and no hank is named.
func planOf(c *cli.Context) (*planview.Plan, error) {
	if c.NArg() == 0 {
		v, err := call.View(c)
		if err == nil {
			if p := planview.Of(v); p != nil {
				return p, nil
			}
		} else if c.String("execution") != "" || !hankfile.Is(".") {
			return nil, err
		}
	}
	layers, err := call.Settings(c)
	if err != nil {
		return nil, err
	}
	path := call.OrDefault(c.Args().First(), ".")
	program, found, err := hankfile.Load(path, layers)
	if err != nil {
		return nil, err
	}
	if program == nil {
		return nil, &exitcode.InvalidError{Diagnostics: call.Located(path, found)}
	}
	return planview.Initial(path, program), nil
}

func printPlan(p *planview.Plan) error {
	t, begun := term.NewTable(os.Stdout), p.Begun()
	heading := []string{"", "codon", "model", "prompt", "tracks", "name"}
	if begun {
		heading = slices.Insert(heading, 2, "status", "checkpoint")
	}
	t.Fit()
	t.Heading(heading...)
	for _, e := range p.Codons {
		status := call.OrDefault(e.Verdict.String(), "-")
		if e.Next && e.Status == "" {
			status = "next"
		}
		name := e.Name
		if e.But != "" {
			name += " (" + e.But + ")"
		}
		row := []any{strconv.Itoa(e.Index), string(e.CodonID), e.Model, e.PromptText(), e.TracksText(), name}
		if begun {
			row = slices.Insert(row, 2, any(status), any(call.OrDefault(report.Short(e.Checkpoint), "-")))
		}
		t.Row(row...)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if more := p.More(); more != "" {
		call.Say("%s\n", more)
	}
	return nil
}

func printSentences(p *planview.Plan) error {
	t := term.NewTable(os.Stdout)
	for _, s := range p.Sentences() {
		t.Row(s.About, s.Text)
	}
	if p.Unread != "" {
		t.Row("note", "prompts, loops and budgets are not known: "+p.Unread)
	}
	return t.Flush()
}
