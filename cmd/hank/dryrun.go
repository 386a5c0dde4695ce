package main

import (
	"github.com/urfave/cli/v2"

	"hank/cmd/hank/call"
	"hank/runtime"
	"hank/runtime/forecast"
	"hank/runtime/report/output"
)

// tellForecast prints what a command would do.
func tellForecast(c *cli.Context, r runtime.Request, a runtime.Answers) error {
	if r.OpID != "" {
		return errDryOperation
	}
	f, err := forecast.Of(c.Context, r, a)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		f.Message = forThis(c, f.Message)
		form := output.ForecastOf(f, call.ProblemForThis(c, f.Asked))
		return jsonEnding(form, form.Error)
	}
	for _, line := range f.Lines() {
		say("%s\n", forThis(c, line))
	}
	return exitWith(f.ExitCode)
}
