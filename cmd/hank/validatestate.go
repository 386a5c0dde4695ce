package main

import (
	"os"

	"github.com/urfave/cli/v2"

	"hank/internal/term"
	"hank/runtime/exitcode"
	"hank/runtime/report/output"
	"hank/runtime/report/statecheck"
)

// validateState is hank validate --state.
func validateState(c *cli.Context) error {
	if named := c.Args().First(); named != "" { // so that commands that are advised name it, too
		if err := c.Set("execution", named); err != nil {
			return err
		}
	}
	root, err := executionOf(c)
	if err != nil {
		return err
	}
	s := statecheck.Of(c.Context, root, settingsHere(c), executionOption(c))
	switch format := c.String("format"); {
	case c.Bool("json") || format == "json":
		form := output.StateCheckOf(s)
		return jsonEnding(form, form.Error)
	case format == "text":
		printFound(os.Stdout, s.Diagnostics)
		word := "valid"
		if !s.Valid {
			word = "invalid"
		}
		err = say("%s: %s\n", term.ShortPath(s.Execution), word)
	default:
		return notOneOf("format", format, "text", "json")
	}
	if err == nil && !s.Valid {
		err = exitWith(exitcode.Invalid)
	}
	return err
}
