package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"hank/cmd/hank/call"
	"hank/internal/sandbox"
	"hank/internal/term"
	"hank/plan"
	"hank/plan/config"
	"hank/plan/diagnostic"
	"hank/plan/diagnostic/format"
	"hank/recovery/layout"
	"hank/runtime/agents"
	"hank/runtime/exitcode"
	"hank/runtime/hankfile"
	"hank/runtime/machine"
	"hank/runtime/report/output"
	"hank/runtime/request"
	"hank/runtime/validation"
)

func validateCommand() *cli.Command {
	return &cli.Command{
		Name: "validate", Usage: "check hanks for errors without running them", ArgsUsage: "[HANK|DIR ...]",
		Description: `HANK is a hank.json, DIR the directory that holds one, or has directories below that do
(default: the current directory, or the hank of the execution). hankweave.json in the
current directory is checked, too; as an argument, it is checked alone, and of several each;
hanks among the arguments are checked with --config, else with the last. Works offline, runs
no script and writes nothing. Each message has a file, line, column, rule and, if
there is one, a hint; docs/rules.md has an example of each rule.

What this machine lacks (variables, programs, agents, keys, the sandbox, permissions) is a
warning, with --machine an error, as hank run checks it before it creates anything. What a
run only warns of, such as a sentinel without a key, stays a warning. --strict does not
change that.

--state checks the state of an execution, by the types of errors and warnings of the
compatible system and hank's own, as hank doctor judges it. A state that is whole is valid,
also where the execution waits for you. Nothing is changed. --state and --rules print
text or JSON.

What is wrong with a hank or its settings is in the report in every format. A command that
cannot judge, because a flag is wrong or a file cannot be read, prints no report: one
sentence goes to standard error, and an object with --json or --format json.

Examples: hank validate my-hank --strict --format github
          hank validate hanks/ --format sarif >hank.sarif
          hank validate --state my-run --json

Exit code 0: all can be run; 2: nothing was judged; 3: one cannot be run.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "config", Usage: "settings `FILE` (default: ./hankweave.json, if present)"},
			&cli.StringFlag{Name: "model", Aliases: []string{"m"}, Usage: "use `MODEL` for every codon"},
			sandboxFlag, executionFlag,
			&cli.StringFlag{Name: "workspace", Usage: "workspace `DIR`, as for hank run"},
			&cli.StringFlag{Name: "format", Value: "text", Usage: "output `FORMAT`: text, json, sarif (2.1.0), github (workflow annotations) or junit"},
			&cli.BoolFlag{Name: "strict", Usage: "treat warnings about a hank as errors"},
			&cli.BoolFlag{Name: "machine", Usage: "treat warnings about this machine as errors"},
			&cli.BoolFlag{Name: "state", Usage: "check the state of an execution instead: that in DIR, or the one that -e names or is here"},
			&cli.BoolFlag{Name: "rules", Usage: "list the rules instead"},
			jsonFlag,
		},
		Action: func(c *cli.Context) error {
			if call.Exclusive(c, "rules", "state") > 1 {
				return &exitcode.UsageError{Why: "--rules and --state are mutually exclusive"}
			}
			if format := c.String("format"); c.Bool("json") && c.IsSet("format") && format != "json" {
				return &exitcode.UsageError{Why: "--json and --format " + format + " are mutually exclusive"}
			}
			if os.Getenv("GOGC") == "" { // it is over before the garbage matters
				debug.SetGCPercent(400)
			}
			if c.Bool("rules") {
				return printRules(c)
			}
			if c.Bool("state") {
				if err := arguments(c, 0, 1); err != nil {
					return err
				}
				return validateState(c)
			}
			v, err := validate(c)
			if err != nil {
				return err
			}
			if err := printValidation(c, v); err != nil || v.Valid {
				return err
			}
			return exitWith(exitcode.Invalid)
		},
	}
}

// validate judges what the command names.
func validate(c *cli.Context) (*validation.Validation, error) {
	if format := c.String("format"); !slices.Contains(validateFormats, format) {
		return nil, notOneOf("format", format, validateFormats...)
	}
	hanks, settings, err := hankfile.Find(c.Args().Slice())
	if err != nil {
		return nil, err
	}
	if len(settings) == 0 || c.IsSet("config") {
		settings = append(settings, c.String("config"))
	}
	var layers config.Layers // the hanks are judged under the last ones
	var found []diagnostic.Diagnostic
	for _, name := range settings {
		found = slices.DeleteFunc(found, func(d diagnostic.Diagnostic) bool { return d.File == diagnostic.Environment }) // said again
		under, more, err := call.SettingsFound(c, name)
		if err != nil {
			return nil, err
		}
		layers, found = under, slices.Concat(found, more, machine.Output(under, layoutHere(c).Root))
	}
	if dir := c.String("workspace"); dir != "" {
		if err := request.CheckWorkspace(dir); err != nil {
			return nil, err
		}
	}
	o := validation.Options{Strict: c.Bool("strict"), Machine: c.Bool("machine")}
	v := validation.New(found, o)
	if c.Args().Len() == 0 {
		hanks = []string{hankHere(c)}
	}
	here := machine.Place{Environ: agents.Overlay(os.Environ()), Observe: agents.SentinelEnviron(os.Environ()), Layout: layoutHere(c), Kernel: sandbox.Kernel(), Known: agents.Found{}}
	for _, path := range hanks {
		program, found, err := hankfile.Load(path, layers)
		if err != nil {
			return nil, err
		}
		file, err := hankfile.File(path)
		if err != nil {
			return nil, err
		}
		v.Add(c.Context, path, filepath.Dir(file), program, found, here, o)
	}
	return v, nil
}

// validateFormats are the forms in which the diagnostics can be printed.
var validateFormats = []string{"text", "json", "sarif", "github", "junit"}

// hankHere is the hank that is meant where none is named: that of the execution
// that -e names, the one in this directory, or that of the execution here.
func hankHere(c *cli.Context) string {
	if c.String("execution") == "" && hankfile.Is(".") {
		return "."
	}
	root, err := executionOf(c)
	if err != nil {
		return "."
	}
	meta, err := layout.ReadMeta(root)
	if err != nil || meta.HankPath == "" {
		return "."
	}
	return term.ShortPath(meta.HankPath)
}

// layoutHere is where hank run would have its execution and workspace.
func layoutHere(c *cli.Context) layout.Layout {
	root, err := executionOf(c)
	if err != nil {
		root = orDefault(c.String("execution"), ".")
		if abs, err := filepath.Abs(root); err == nil {
			root = abs
		}
	}
	l := layout.LayoutOf(root)
	if abs, err := filepath.Abs(c.String("workspace")); err == nil && c.String("workspace") != "" {
		l.Workspace = abs
	}
	return l
}

// said is the sandbox in one line.
func said(s *agents.Confinement) string {
	switch {
	case s.Sandbox != config.WorkspaceSandbox:
		return "none (agents have your user's full write access)"
	case s.Problem != "":
		return "error: " + s.Problem
	case !s.InForce:
		return "requested \"workspace\" but unavailable on this system, so the hank does not run here: " + s.Why
	}
	return fmt.Sprintf("workspace, active (Landlock ABI %d); agents, rigs and checks write only in %s", s.ABI, strings.Join(s.Writable, ", "))
}

func printValidation(c *cli.Context, v *validation.Validation) error {
	write := func(text []byte, err error) error {
		if err == nil {
			_, err = os.Stdout.Write(text)
		}
		return err
	}
	code := exitcode.Done
	if !v.Valid {
		code = exitcode.Invalid
	}
	switch c.String("format") {
	case "sarif":
		text, err := format.SARIF(v.Groups(), version, int(code))
		return write(append(text, '\n'), err)
	case "junit":
		return write(format.JUnit(v.Groups()))
	case "github":
		for _, d := range v.Diagnostics {
			say("%s\n", format.GitHub(d))
		}
		return nil
	}
	if c.Bool("json") || c.String("format") == "json" {
		form := output.ValidationOf(v, c.Args().First())
		return jsonEnding(form, form.Error)
	}
	for _, g := range v.Groups() {
		printFound(os.Stdout, g.Found)
	}
	for _, h := range v.Hanks {
		printHank(h, len(v.Hanks) == 1)
	}
	return say("%s\n", v.Sentence())
}

// printHank prints the verdict on a hank and, of the only one, what is in it.
func printHank(h *validation.Hank, only bool) {
	if h.Program == nil {
		say("%s: invalid\n", format.Path(h.Path))
		return
	}
	name := h.Name
	if !only {
		name = format.Path(h.Path) + ": " + name
	}
	say("%s: %s (%s)\n", name, h.Verdict(), term.Count(h.Codons, "codon"))
	if !only {
		return
	}
	printStructure(h.Program)
	say("  %-24s %s\n", "sandbox", said(h.Sandbox))
	for _, line := range h.Private {
		say("  %-24s %s\n", "warning", line)
	}
}

func printRules(c *cli.Context) error {
	format := c.String("format")
	switch {
	case c.NArg() > 0:
		return &exitcode.UsageError{Why: "hank validate --rules takes no HANK"}
	case format != "text" && format != "json":
		return notOneOf("format", format, "text", "json")
	case c.Bool("json") || format == "json":
		return printJSON(output.Rules{Schema: 1, Rules: diagnostic.Rules()})
	}
	t := term.NewTable(os.Stdout)
	for _, r := range diagnostic.Rules() {
		t.Row(r.ID, string(r.Severity), r.Says)
	}
	return t.Flush()
}

// printStructure draws the program.
func printStructure(p *plan.Program) {
	var text strings.Builder // there may be ten thousand lines
	line := func(format string, args ...any) { text.WriteString(string(term.Sprintf(format, args...))) }
	for _, item := range p.Hank.Items {
		if item.Codon != nil {
			line("  %-24s %s (%s)\n", item.Codon.ID, item.Codon.Name, modelsOf(item.Codon))
			continue
		}
		l := item.Loop
		line("  %-24s %s, repeated: %s\n", l.ID, l.Name, l.TerminateOn)
		for i := range l.Codons {
			line("    %-22s %s (%s)\n", l.Codons[i].ID, l.Codons[i].Name, modelsOf(&l.Codons[i]))
		}
	}
	say("%s", term.Painted(text.String()))
}

// modelsOf are the model of a codon and those that it falls back to.
func modelsOf(c *plan.Codon) string {
	text := c.Model.String()
	for _, f := range c.Fallback {
		text += ", else " + f.Model.String()
	}
	return text
}
