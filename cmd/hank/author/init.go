package author

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"hank/cmd/hank/call"
	"hank/internal/prompt"
	"hank/internal/shell"
	"hank/internal/vfs"
	"hank/plan/fields"
	"hank/recovery/layout"
	"hank/runtime/exitcode"
	"hank/runtime/history"
	"hank/runtime/report/output"
	"hank/runtime/usergit"
)

//go:embed templates
var templatesFS embed.FS

// template is a hank to begin with, which runs without a key.
type template struct{ name, says string }

// templates are those that there are; the first is the default.
var templates = []template{
	{"blank", "two steps, both of them scripts"},
	{"codebook", "describe each table of a data set, check, publish"},
	{"review", "review code and fix it in a loop; a gate asks before it is published"},
}

func Init() *cli.Command {
	return &cli.Command{
		Name: "init", Usage: "create a starter hank", ArgsUsage: "[DIR]",
		Description: `Writes hank.json and the files that it refers to into DIR (default: the current directory),
unless one of them exists. One is hank.schema.json, which "$schema" names: editors complete
and check hank.json with it, without a network. One that hank has written before stays. On a terminal it asks which template; elsewhere, and with
--yes or no answer, it is blank. All run as they are, as shell scripts:

   blank     two steps
   codebook  describe each table of a data set, check that none is left out, publish
   review    review code and fix it until nothing changes; a gate asks before publishing

For an agent instead of a script, set "model" to sonnet and write the prompt in words.
If DIR is in a Git repository that does not ignore agentRoot/ and rigArchive/ yet, it
offers to add them to .gitignore.

Examples: hank init my-hank && cd my-hank && hank run
          hank init --template codebook && hank run . ~/tables

Exit code 0: written; 2: a file exists already, DIR is no directory, or there is no such
template; 4: you have cancelled the question for it.`,
		Flags: []cli.Flag{&cli.StringFlag{Name: "template", Usage: "begin with the template `NAME`: blank, codebook or review"}, call.YesFlag, call.JSONFlag},
		Action: func(c *cli.Context) error {
			if err := call.Arguments(c, 0, 1); err != nil {
				return err
			}
			dir := call.OrDefault(c.Args().First(), ".")
			name := filepath.Join(dir, "hank.json")
			if fi, err := os.Stat(dir); err == nil && !fi.IsDir() {
				return &exitcode.UsageError{Why: dir + " is not a directory; nothing was changed"}
			}
			if _, err := os.Lstat(name); err == nil {
				return &exitcode.UsageError{Why: name + " already exists; nothing was changed"}
			}
			chosen, err := chooseTemplate(c)
			if err != nil {
				return err
			}
			written, err := write(chosen, dir)
			if err != nil {
				return err
			}
			done := func(line string) { call.PrintTo(progressOut(c), "%s\n", line) }
			for _, name := range written {
				done("wrote " + name)
			}
			if err := offerIgnore(c, dir, done); err != nil {
				return err
			}
			if c.Bool("json") {
				return call.JSON(output.BegunOf(name, call.HankPath(name), c.Args().First(), chosen, written))
			}
			run := "hank run"
			if _, err := layout.Find(dir); err == nil {
				run += " -e ." // else it would be for that execution
			}
			if dir != "." {
				run = "cd " + shell.Path(dir) + " && " + run
			}
			call.Say("next: %s\n", run)
			return nil
		},
	}
}

// chooseTemplate is the template that is named, or chosen on a terminal, or the first.
func chooseTemplate(c *cli.Context) (string, error) {
	var names, answers []string
	for _, t := range templates {
		names, answers = append(names, t.name), append(answers, t.name+": "+t.says)
	}
	if named := c.String("template"); c.IsSet("template") {
		if !slices.Contains(names, named) {
			return "", call.NotOneOf("template", named, names...)
		}
		return named, nil
	}
	ask := call.Asker(c)
	if ask == nil {
		return names[0], nil
	}
	switch at := ask(prompt.Question{Text: "Which template?", Answers: answers, Default: 1, Optional: true}); at {
	case prompt.NotAsked:
		return names[0], nil
	case prompt.Cancelled:
		return "", history.ErrDeclined
	default:
		return names[at], nil
	}
}

// write writes the files of a template into a directory, all or, where one of them exists
// already, none. hank.json comes last: a hank is there as a whole or not at all.
func write(chosen, dir string) (written []string, err error) {
	root, err := fs.Sub(templatesFS, "templates/"+chosen)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	err = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(name))
		if _, err := os.Lstat(to); err == nil {
			return &exitcode.UsageError{Why: to + " already exists; nothing was changed"}
		}
		files[to], err = fs.ReadFile(root, name)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := addSchema(files, dir); err != nil {
		return nil, err
	}
	hank := filepath.Join(dir, "hank.json")
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(files)), func(name string) bool { return name == hank })
	for _, name := range append(names, hank) {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return nil, err
		}
		f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if os.IsExist(err) {
			return nil, &exitcode.UsageError{Why: name + " already exists; nothing was written over"}
		}
		if err != nil {
			return nil, err
		}
		_, err = f.Write(files[name])
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
		written = append(written, name)
	}
	return written, nil
}

// addSchema adds the schema that hank.json names to the files to write, unless it is there.
func addSchema(files map[string][]byte, dir string) error {
	schema := fields.Schemas()[0]
	name := filepath.Join(dir, schema.FileName())
	old, err := vfs.ReadLimited(name, 16*int64(len(schema.Text)))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		files[name] = schema.Text
	case err != nil || !schema.Wrote(old):
		return &exitcode.UsageError{Why: name + " already exists, and is no schema that hank has written; nothing was changed"}
	}
	return nil
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
