package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"hank/cmd/hank/upkeep"
	"hank/internal/completion"
	"hank/recovery/layout"
	"hank/runtime/exitcode"
	"hank/runtime/report/cost"
	"hank/runtime/report/eventlog"
	"hank/runtime/report/names"
)

// following prints what can follow on a command line.
func following(app *cli.App, words []string) {
	for _, name := range completion.Following(app, words, namesFor) {
		fmt.Println(name)
	}
}

// namesFor lists the names of a kind, by the placeholder that help texts have for it.
func namesFor(kind string, words []string) []string {
	switch kind {
	case "WAY":
		return cost.Ways
	case "KIND":
		return upkeep.Kinds()
	case "FORMAT":
		if words[0] == "plan" {
			return []string{"text", "json", "mermaid"}
		}
		return validateFormats
	case "MODE":
		return []string{"workspace", "none"}
	case "TYPE":
		return eventlog.Names()
	case "COMMAND":
		return nil
	case "A", "B":
		kind = "TARGET"
	}
	root, err := layout.Find(".")
	if named := completion.Value(words, "execution", "e"); named != "" {
		root, err = layout.At(named)
	}
	if err != nil {
		return nil
	}
	return names.Of(root, kind)
}

func completionCommand() *cli.Command {
	return &cli.Command{
		Name: "completion", Usage: "print a shell completion script", ArgsUsage: strings.Join(completion.Shells(), "|"),
		Description: `To use it now:  source <(hank completion bash)
The script itself tells where to install it for every shell. It completes commands,
flags, and the names of the execution: targets, codons, runs, gates. It only reads.

Example: hank completion zsh > "${fpath[1]}/_hank"`,
		Action: func(c *cli.Context) error {
			if err := arguments(c, 1, 1); err != nil {
				return err
			}
			script, ok := completion.Script(c.Args().First())
			if !ok {
				return &exitcode.UsageError{Why: fmt.Sprintf("unsupported shell %q (%s)", c.Args().First(), strings.Join(completion.Shells(), ", "))}
			}
			_, err := os.Stdout.WriteString(script)
			return err
		},
	}
}
