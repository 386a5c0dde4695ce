package author

import (
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"hank/cmd/hank/call"
	"hank/internal/term"
	"hank/plan/model"
	"hank/runtime/exitcode"
	"hank/runtime/report/models"
	"hank/runtime/report/output"
)

func Models() *cli.Command {
	return &cli.Command{
		Name: "models", Usage: "show which models names stand for, and their prices", ArgsUsage: "[NAME...]",
		Description: `NAME is a model as hank.json names it: sonnet, anthropic/claude-opus-4-8,
pi/openai/gpt-5-high. Without NAME all models are listed. Prices are in dollars per
million tokens. The last lines say where the facts come from, and of what day they are;
"models" and "prices" of hankweave.json replace them. Without NAME --json prints the
list in the form that "models" takes.

Example: hank models sonnet opus-high pi/openai/gpt-5

Exit code 3: a NAME stands for no model.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "config", Usage: "settings `FILE` (default: ./hankweave.json, if present)"},
			call.JSONFlag,
		},
		Action: func(c *cli.Context) error {
			layers, err := call.Settings(c)
			if err != nil {
				return err
			}
			if c.NArg() == 0 {
				return printModels(c, models.ListModels(layers.Models()))
			}
			return printNamed(c, models.NamedModels(layers.Models(), c.Args().Slice()))
		},
	}
}

func printModels(c *cli.Context, list models.ModelList) error {
	if c.Bool("json") {
		return call.JSON(list)
	}
	t := term.NewTable(os.Stdout)
	t.Heading("model", "input", "output", "context", "released")
	for _, m := range list.Models {
		t.Row(append(append([]any{m.Provider + "/" + m.ID}, models.PriceCells(m.Cost, m.Limits)...), m.Released)...)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	printOrigins(list.Origins)
	return nil
}

func printNamed(c *cli.Context, named models.ModelNames) error {
	switch {
	case c.Bool("json"):
		if err := call.JSON(output.ModelNamesOf(named)); err != nil {
			return err
		}
	default:
		t := term.NewTable(os.Stdout)
		t.Heading("name", "model", "agent", "effort", "input", "output", "context")
		for _, n := range named.Names {
			if n.Error == "" {
				t.Row(n.Cells()...)
			}
		}
		if err := t.Flush(); err != nil {
			return err
		}
		printOrigins(named.Origins)
	}
	for _, n := range named.Names {
		if n.Error != "" {
			near := ""
			if len(n.Near) > 0 {
				near = "; did you mean " + strings.Join(n.Near, ", ") + "?"
			}
			call.Remark("hank: %s%s\n", n.Error, near)
		}
	}
	if named.Wrong > 0 {
		return call.ExitWith(exitcode.Invalid)
	}
	return nil
}

func printOrigins(origins []model.Origin) {
	for _, o := range origins {
		call.Say("%s\n", term.Count(o.Models, "model")+" from "+models.OriginSentence(o))
	}
}
