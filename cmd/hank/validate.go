package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"hank/internal/term"
	"hank/plan"
	"hank/plan/config"
	"hank/plan/diagnostic"
	"hank/recovery/layout"
	"hank/runtime/agents"
	"hank/runtime/exitcode"
	"hank/runtime/hankfile"
	"hank/runtime/report"
)

func validateCommand() *cli.Command {
	return &cli.Command{
		Name: "validate", Usage: "check a hank for errors without running it", ArgsUsage: "[HANK|DIR]",
		Description: `HANK is a hank.json, DIR the directory that holds one (default: the current directory,
or the hank of the execution). Works offline and writes nothing. Each message has a
file, line, column, rule and, if there is one, a hint.

Example: hank validate my-hank --strict --format github

Exit code 0: it can be run; 3: it cannot.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "config", Usage: "settings `FILE` (default: ./hankweave.json, if present)"},
			&cli.StringFlag{Name: "model", Aliases: []string{"m"}, Usage: "use `MODEL` for every codon"},
			sandboxFlag, executionFlag,
			&cli.StringFlag{Name: "workspace", Usage: "workspace `DIR`, as for hank run"},
			&cli.StringFlag{Name: "format", Value: "text", Usage: "output `FORMAT`: text, json, or github (workflow annotations)"},
			&cli.BoolFlag{Name: "strict", Usage: "treat warnings as errors"},
			&cli.BoolFlag{Name: "rules", Usage: "list the rules instead"},
			jsonFlag,
		},
		Action: func(c *cli.Context) error {
			if c.Bool("rules") {
				return printRules(c.Bool("json"))
			}
			if err := arguments(c, 0, 1); err != nil {
				return err
			}
			layers, err := settings(c)
			if err != nil {
				return err
			}
			path := orDefault(c.Args().First(), hankHere(c))
			program, found, err := hankfile.Load(path, layers)
			if err != nil {
				return err
			}
			v := report.Validate(path, program, located(path, found), layoutHere(c), c.Bool("strict"))
			return printValidation(c, program, v)
		},
	}
}

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

func printValidation(c *cli.Context, p *plan.Program, v *report.Validation) error {
	switch format := c.String("format"); {
	case c.Bool("json") || format == "json":
		if err := printJSON(v); err != nil {
			return err
		}
	case format == "github":
		for _, d := range v.Diagnostics {
			say("::%s file=%s,line=%d,col=%d,title=%s::%s\n", githubLevel(d), filepath.ToSlash(strings.TrimPrefix(d.File, "./")), d.Line, d.Column, d.Rule, githubText.Replace(d.Message))
		}
	case format == "text":
		printFound(os.Stdout, v.Diagnostics)
		if p == nil {
			say("%s: invalid\n", v.Hank)
		} else {
			word := "valid"
			switch {
			case v.OnlyStrict:
				word = "invalid with --strict"
			case !v.Valid:
				word = "invalid"
			}
			say("%s: %s (%s)\n", p.Hank.Title(), word, term.Count(v.Codons, "codon"))
			printStructure(p)
			say("  %-24s %s\n", "sandbox", said(v.Sandbox))
			for _, line := range v.Private {
				say("  %-24s %s\n", "warning", line)
			}
		}
	default:
		return notOneOf("format", format, "text", "json", "github")
	}
	if !v.Valid {
		return exitWith(exitcode.Invalid)
	}
	return nil
}

// ruleList is the JSON form of hank validate --rules.
type ruleList struct {
	Schema int               `json:"schema"`
	Rules  []diagnostic.Rule `json:"rules"`
}

func printRules(asJSON bool) error {
	if asJSON {
		return printJSON(ruleList{1, diagnostic.Rules()})
	}
	t := term.NewTable(os.Stdout)
	for _, r := range diagnostic.Rules() {
		t.Row(r.ID, string(r.Severity), r.Says)
	}
	return t.Flush()
}

// githubText escapes the message of an annotation.
var githubText = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")

func githubLevel(d diagnostic.Diagnostic) string {
	if d.Severity == diagnostic.Error {
		return "error"
	}
	return "warning"
}

// printStructure draws the program.
func printStructure(p *plan.Program) {
	for _, item := range p.Hank.Items {
		if item.Codon != nil {
			say("  %-24s %s (%s)\n", item.Codon.ID, item.Codon.Name, item.Codon.Model)
			continue
		}
		l := item.Loop
		say("  %-24s %s, repeated: %s\n", l.ID, l.Name, l.TerminateOn)
		for _, codon := range l.Codons {
			say("    %-22s %s (%s)\n", codon.ID, codon.Name, codon.Model)
		}
	}
}
