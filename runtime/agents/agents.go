package agents

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"hank/plan"
	"hank/recovery"
	"hank/recovery/githistory"
	"hank/runtime/exitcode"
	"hank/runtime/harness"
	"hank/runtime/harness/claude"
	"hank/runtime/harness/codex"
	"hank/runtime/harness/exec"
	"hank/runtime/harness/gemini"
	"hank/runtime/harness/opencode"
	"hank/runtime/harness/pi"
	"hank/runtime/harness/shell"
	"hank/state"
)

// Harnesses are those that hank has, by their names. Each is one that plan/kind says is
// driven.
var Harnesses = map[string]harness.Harness{
	shell.Name:    shell.Harness{},
	claude.Name:   claude.Harness{},
	codex.Name:    codex.Harness{},
	exec.Name:     exec.Harness{},
	gemini.Name:   gemini.Harness{},
	opencode.Name: opencode.Harness{},
	pi.Name:       pi.Harness{},
}

// Of is the harness that works on a codon, and the name under which its agent is looked for
// and allowed: that of the harness, and of the program where the codon names one. The error
// is a *model.NoHarnessError.
func Of(c *plan.Codon) (h harness.Harness, agent string, err error) {
	name, err := c.Model.Harness()
	if err != nil {
		return nil, "", err
	}
	if !c.Model.Kind().NamesProgram || len(c.Exec) == 0 {
		return Harnesses[name], name, nil
	}
	return exec.Harness{Program: c.Exec}, name + " " + c.Exec[0], nil
}

// permissionOf is the mode in which an agent of a name that Of gives works.
func permissionOf(agent string) string {
	name, _, _ := strings.Cut(agent, " ")
	return Harnesses[name].Permission()
}

// Foreign reads transcripts that no harness of this hank has written. Hankweave keeps
// events of Claude Code.
var Foreign harness.Harness = claude.Harness{}

// Missing says what of an agent's or of the hank's requirements is missing here
// for a command that runs codons, as the command itself will; nil: nothing.
func Missing(ctx context.Context, v *recovery.View) error {
	if v.Live || v.Blocked != nil || v.Meta.Replay != "" || v.State.Program == "" || v.State.Next() >= len(v.State.ExecutionPlan()) {
		return nil
	}
	frozen, err := frozenOf(v)
	if err != nil {
		return nil // who needs checkpoints says so, and Question asks about the hank
	}
	rest, err := ToRun(v.State, frozen)
	if err != nil {
		return nil // the run says so, at the codon
	}
	_, err = Found{}.Look(ctx, frozen.Hank, rest, Overlay(os.Environ()), func(string) {})
	return err
}

// frozenOf is the program from which an execution runs.
func frozenOf(v *recovery.View) (*plan.Program, error) {
	store, err := v.Store()
	if err != nil {
		return nil, err
	}
	defer store.Close()
	return githistory.LoadProgram(store, v.State.Program)
}

// ToRun is what of a plan is still to run, with the texts of the program that the plan was
// made from: the variables that a codon sets for its agent are not in the state. Where the
// program is nil they are left as the state has them.
func ToRun(s *state.State, p *plan.Program) (rest []plan.Entry, err error) {
	resolved := map[*plan.Codon]*plan.Codon{} // the iterations of a loop share theirs
	for _, e := range s.ExecutionPlan()[s.Next():] {
		if whole := (plan.Entry{}); p != nil && resolved[e.Codon] == nil {
			if whole, err = p.Resolve(e.Entry); err != nil {
				return nil, err
			}
			resolved[e.Codon] = whole.Codon
		}
		if e.Codon = cmp.Or(resolved[e.Codon], e.Codon); e.Codon != nil {
			rest = append(rest, e.Entry)
		}
	}
	return rest, nil
}

// Found are those that were looked for. An agent is looked for in the environment that its
// codon gives it, so that codons which set variables can find different ones.
type Found map[seat]harness.Check

// seat is for whom an agent was looked for: the codons that give it the same variables.
type seat struct {
	agent string // by the name that Of gives it
	env   string // the variables of its codon, as text; empty: it has none
}

// seatOf is the seat of an agent at a codon.
func seatOf(agent string, c *plan.Codon) seat {
	if len(c.Env) == 0 {
		return seat{agent: agent}
	}
	var text strings.Builder
	for _, name := range sorted(c.Env) {
		fmt.Fprintf(&text, "%q=%q ", name, c.Env[name])
	}
	return seat{agent, text.String()}
}

// Of is what was found of the agent of a codon; the zero Check if it was not looked for.
func (a Found) Of(c *plan.Codon) harness.Check {
	_, name, err := Of(c)
	if err != nil {
		return harness.Check{}
	}
	return a[seatOf(name, c)]
}

// Look looks for the agents of entries and of their fallbacks, and for what the hank requires,
// in an environment. What is known of an agent already is not looked for again. The own model
// of a codon may be one that cannot be used here if one of its fallbacks can.
//
// fresh are the agents that were not known before and can be used, each once, in the order of
// their codons.
func (a Found) Look(ctx context.Context, h *plan.Hank, entries []plan.Entry, environ []string, say func(line string)) (fresh []string, err error) {
	if err := requirements(h, environ); err != nil {
		return nil, err
	}
	l := looker{found: a, before: maps.Clone(a), environ: environ, say: say, looked: map[seat]bool{}, done: map[string]bool{}}
	for _, e := range entries {
		if err := l.lookFor(ctx, e.Codon); err != nil {
			return nil, &exitcode.AgentError{Why: fmt.Sprintf("codon %s: %v", e.CodonID, err)}
		}
	}
	var problems []string
	for _, e := range entries {
		problem := a.Problem(e.Codon, environ)
		instead, can := a.Instead(e.Codon, environ)
		switch {
		case problem == "" || l.done["codon "+string(e.Codon.ID)]:
		case can && l.isSaid(e.Codon): // by the command's first look
		case can:
			say(fmt.Sprintf("warning: codon %s begins with its fallback %s, because its own model %s cannot be used here: %s", e.Codon.ID, instead, e.Codon.Model, problem))
		case !slices.Contains(problems, problem):
			problems = append(problems, problem)
		}
		l.done["codon "+string(e.Codon.ID)] = true
	}
	if len(problems) > 0 {
		return nil, &exitcode.AgentError{Why: strings.Join(problems, "; ")}
	}
	return append(l.own, l.aside...), nil
}

// requirements checks that the variables and programs that a hank requires are
// there.
func requirements(h *plan.Hank, environ []string) error {
	var missing []string
	for _, lack := range Lacking(h, environ) {
		missing = append(missing, lack.String())
	}
	if len(missing) > 0 {
		return &exitcode.AgentError{Why: "missing requirements: " + strings.Join(missing, ", ")}
	}
	return nil
}

// Lack is a requirement of a hank that is not met.
type Lack struct {
	Program bool // else a variable
	Index   int  // in the list of the hank
	Name    string
}

func (l Lack) String() string {
	if l.Program {
		return "the program " + l.Name
	}
	return "the variable " + l.Name
}

// Lacking lists the variables and programs that a hank requires and that are not there.
func Lacking(h *plan.Hank, environ []string) (all []Lack) {
	if h.Requirements == nil {
		return nil
	}
	env := harness.NewEnviron(environ)
	for i, name := range h.Requirements.Env {
		if name = strings.TrimSpace(name); env[name] == "" {
			all = append(all, Lack{false, i, name})
		}
	}
	for i, tool := range h.Requirements.Tools {
		if tool = strings.TrimSpace(tool); harness.LookPath(tool, env) == "" {
			all = append(all, Lack{true, i, tool})
		}
	}
	return all
}

// SentinelEnviron is what the sentinels get: what agents get, and over it the variables
// HANKWEAVE_SENTINEL_NAME, which are for sentinels alone.
func SentinelEnviron(source []string) []string {
	own := map[string]string{}
	for name, value := range harness.NewEnviron(source) {
		if name, ours := strings.CutPrefix(name, "HANKWEAVE_SENTINEL_"); ours && name != "" {
			own[name] = value
		}
	}
	return WithEnv(Overlay(source), own)
}

// Overlay applies the variables HANKWEAVE_NAME to an environment.
func Overlay(source []string) []string {
	env := harness.NewEnviron(source)
	for _, name := range sorted(env) {
		rest, ours := strings.CutPrefix(name, "HANKWEAVE_")
		if !ours {
			continue
		}
		value := env[name]
		delete(env, name)
		if strings.HasPrefix(rest, "RUNTIME_") || strings.HasPrefix(rest, "SENTINEL_") || rest == "" {
			continue
		}
		if value == "unset" {
			delete(env, rest)
		} else {
			env[rest] = value
		}
	}
	delete(env, "HANK_FAILPOINT") // a test's order to hank, not to its agents
	return env.Finish(nil)
}

func sorted(env map[string]string) []string {
	names := make([]string, 0, len(env))
	for name := range env {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// WithEnv lays a codon's variables over an environment.
func WithEnv(environ []string, over map[string]string) []string {
	return harness.NewEnviron(environ).Finish(over)
}
