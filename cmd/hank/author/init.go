package author

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"hank/cmd/hank/call"
	"hank/internal/prompt"
	"hank/internal/shell"
	"hank/internal/vfs"
	"hank/runtime/exitcode"
	"hank/runtime/usergit"
)

// starter is a hank that runs without a key: two scripts and a check.
const starter = `{
  "meta": { "name": "first-hank", "version": "0.1.0", "description": "two steps and a check, all of them shell scripts" },
  "hank": [
    {
      "id": "gather",
      "name": "List the files of the data",
      "model": "shell",
      "continuationMode": "fresh",
      "promptText": "if [ -d read_only_data_source ]; then ls -la read_only_data_source/; else date; fi >listing.txt\necho \"listing.txt is written.\""
    },
    {
      "id": "count",
      "name": "Count them",
      "model": "shell",
      "continuationMode": "fresh",
      "promptText": "wc -l <listing.txt >count.txt\necho \"The number of lines is $(cat count.txt).\""
    }
  ]
}
`

// begun is the JSON form of hank init.
type begun struct {
	Schema int    `json:"schema"`
	Hank   string `json:"hank"`
}

func Init() *cli.Command {
	return &cli.Command{
		Name: "init", Usage: "create a starter hank", ArgsUsage: "[DIR]",
		Description: `Writes hank.json to DIR (default: the current directory), unless it exists, and offers
to add agentRoot/ and rigArchive/ to .gitignore if DIR is in a Git repository. For an
agent instead of a script, set "model" to sonnet and write the prompt in words.

Example: hank init my-hank && cd my-hank && hank run

Exit code 0: written; 2: hank.json already exists.`,
		Flags: []cli.Flag{call.YesFlag, call.JSONFlag},
		Action: func(c *cli.Context) error {
			if err := call.Arguments(c, 0, 1); err != nil {
				return err
			}
			dir := call.OrDefault(c.Args().First(), ".")
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
			name := filepath.Join(dir, "hank.json")
			f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
			if os.IsExist(err) {
				return &exitcode.UsageError{Why: name + " already exists; nothing was changed"}
			}
			if err != nil {
				return err
			}
			if _, err := f.WriteString(starter); err != nil {
				return err
			}
			if err := f.Close(); err != nil {
				return err
			}
			done := func(line string) { call.PrintTo(progressOut(c), "%s\n", line) }
			done("wrote " + name)
			if err := offerIgnore(c, dir, done); err != nil {
				return err
			}
			if c.Bool("json") {
				return call.JSON(begun{1, name})
			}
			if dir == "." {
				call.Say("next: hank run\n")
			} else {
				call.Say("next: cd %s && hank run\n", shell.Quote(dir))
			}
			return nil
		},
	}
}

// largestRules is more than any .gitignore has, in bytes.
const largestRules = 16 << 20

// offerIgnore adds the directories of an execution to the .gitignore of a
// repository, if the person agrees.
func offerIgnore(c *cli.Context, dir string, done func(string)) error {
	if !inRepository(dir) {
		return nil
	}
	name := filepath.Join(dir, ".gitignore")
	old, err := vfs.ReadLimited(name, largestRules)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	have := strings.Split(strings.ReplaceAll(string(old), "\r\n", "\n"), "\n")
	var add []string
	for _, line := range usergit.NotIgnored(c.Context, dir, "agentRoot/", "rigArchive/") {
		if !slices.Contains(have, line) {
			add = append(add, line)
		}
	}
	if len(add) == 0 {
		return nil
	}
	q := prompt.Question{Text: "Add " + strings.Join(add, " and ") + " to " + name + "?", Answers: prompt.YesNo, Default: 1, Optional: true}
	if ask := call.Asker(c); !c.Bool("yes") && (ask == nil || ask(q) != 0) {
		done(fmt.Sprintf("note: add these lines to %s: %s", name, strings.Join(add, " and ")))
		return nil
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	text := strings.Join(add, "\n") + "\n"
	if len(old) > 0 && old[len(old)-1] != '\n' {
		text = "\n" + text // the last line has no end yet
	}
	if _, err := f.WriteString(text); err != nil {
		return err
	}
	done(fmt.Sprintf("added %s to %s", strings.Join(add, " and "), name))
	return f.Close()
}

func inRepository(dir string) bool {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return false
	}
	for {
		if _, err := os.Stat(filepath.Join(abs, ".git")); err == nil {
			return true
		}
		if abs == filepath.Dir(abs) {
			return false
		}
		abs = filepath.Dir(abs)
	}
}

// progressOut is where progress goes: to standard error when JSON goes to standard output.
func progressOut(c *cli.Context) *os.File {
	if c.Bool("json") {
		return os.Stderr
	}
	return os.Stdout
}
