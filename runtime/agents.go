package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hank/internal/secret"
	"hank/plan"
	"hank/plan/model"
	"hank/recovery"
	"hank/runtime/harness"
	"hank/runtime/harness/claude"
	"hank/runtime/harness/replay"
	"hank/runtime/harness/shell"
	"hank/state"
)

// harnesses are the agents that hank can drive, by the name that a model
// leads to.
var harnesses = map[string]harness.Harness{
	shell.Name:  shell.Harness{},
	claude.Name: claude.Harness{},
}

// harnessName is what goes into the record.
func (a *attempt) harnessName() string {
	if a.replay != nil {
		return replay.Name
	}
	name, _ := a.entry.Codon.Model.Harness() // preflight has looked at it
	return name
}

func (a *attempt) harness() (harness.Harness, error) {
	if a.replay != nil {
		return a.replay.harness(a.entry.CodonID)
	}
	return harnesses[a.harnessName()], nil
}

// preflight looks whether everything that the rest of the plan needs is here,
// before anything is started. s is the state from which it is started.
func (d *driver) preflight(ctx context.Context, s *state.State) error {
	var rest []plan.Entry
	for _, e := range s.ExecutionPlan()[s.Next():] {
		rest = append(rest, e.Entry)
	}
	if rest == nil { // only the run's end is to come
		return nil
	}
	return d.check(ctx, d.program.Hank, rest)
}

// preflightNew is preflight for a hank that has no execution yet: none is made
// that could not run here. What it finds is not looked for again.
func preflightNew(ctx context.Context, p *plan.Program, o Options) (map[string]harness.Check, error) {
	d := &driver{opts: o, secrets: &secret.Values{}}
	err := d.check(ctx, p.Hank, p.Initial())
	return d.agents, err
}

// AgentsMissing says what of an agent's or of the hank's requirements is missing here
// for a command that runs codons, as the command itself will; nil: nothing.
func AgentsMissing(ctx context.Context, v *recovery.View) error {
	if v.Live || v.Blocked != nil || v.State.Program == "" || v.State.Next() >= len(v.State.ExecutionPlan()) {
		return nil
	}
	store, err := v.Store()
	if err != nil {
		return nil // who needs checkpoints says so
	}
	defer store.Close()
	frozen, err := recovery.LoadProgram(store, v.State.Program)
	if err != nil {
		return nil // Question asks about it
	}
	d := &driver{program: frozen, secrets: &secret.Values{}}
	return d.preflight(ctx, v.State)
}

// check looks for the agents of entries, and for what the hank requires.
func (d *driver) check(ctx context.Context, h *plan.Hank, entries []plan.Entry) error {
	if d.agents == nil {
		d.agents = map[string]harness.Check{}
	}
	if d.opts.Replay != "" {
		return nil
	}
	if err := Requirements(h, d.environ()); err != nil {
		return err
	}
	var problems []string
	for _, e := range entries {
		name, err := e.Codon.Model.Harness()
		if err != nil {
			return &AgentError{fmt.Sprintf("codon %s: %v", e.CodonID, err)}
		}
		if _, known := d.agents[name]; known {
			continue
		}
		check := harnesses[name].Check(ctx, d.environ())
		d.agents[name] = check
		if check.Problem != "" {
			problems = append(problems, check.Problem)
		}
		if check.Note != "" {
			d.say("%s", check.Note)
		}
	}
	if len(problems) > 0 {
		return &AgentError{strings.Join(problems, "; ")}
	}
	return nil
}

// Requirements checks that the variables and programs that a hank requires are
// there.
func Requirements(h *plan.Hank, environ []string) error {
	if h.Requirements == nil {
		return nil
	}
	env := harness.NewEnviron(environ)
	var missing []string
	for _, name := range h.Requirements.Env {
		if env[name] == "" {
			missing = append(missing, "the variable "+name)
		}
	}
	for _, tool := range h.Requirements.Tools {
		if harness.LookPath(tool, env) == "" {
			missing = append(missing, "the program "+tool)
		}
	}
	if len(missing) > 0 {
		return &AgentError{"the hank requires what is not here: " + strings.Join(missing, ", ")}
	}
	return nil
}

// environ is what every agent and rig gets: hank's own environment with the
// overlay HANKWEAVE_NAME=value (NAME=value; the value unset removes NAME), and
// without the variables that are meant for hank.
func (d *driver) environ() []string {
	source := d.opts.Environ
	if source == nil {
		source = os.Environ()
	}
	return Overlay(source)
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

func sorted(env harness.Environ) []string {
	names := make([]string, 0, len(env))
	for name := range env {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// environFor adds what one codon is told. A workspace inside a user's own
// repository must not make its agents act on that repository by accident:
// git looks no further up than the workspace.
func (d *driver) environFor(e plan.Entry, attempt string, number int) []string {
	env := harness.NewEnviron(d.environ())
	env["HANK_CODON"] = string(e.CodonID)
	env["HANK_ATTEMPT"] = attempt
	env["HANK_ATTEMPT_NUMBER"] = strconv.Itoa(number)
	env["HANK_WORKSPACE"] = d.x.Layout.Workspace
	env["GIT_CEILING_DIRECTORIES"] = filepath.Dir(d.x.Layout.Workspace)
	delete(env, "HANK_ITERATION")
	if e.LoopContext != nil {
		env["HANK_ITERATION"] = fmt.Sprint(e.LoopContext.Iteration)
	}
	delete(env, "HANK_DATA")
	if d.x.Meta().ReadOnlySourceDataPath != "" {
		env["HANK_DATA"] = d.x.Layout.Data()
	}
	if d.settings.AnthropicBaseURL != "" {
		env["ANTHROPIC_BASE_URL"] = d.settings.AnthropicBaseURL
	}
	return env.Finish(nil)
}

// withEnv lays a codon's variables over an environment.
func withEnv(environ []string, over map[string]string) []string {
	return harness.NewEnviron(environ).Finish(over)
}

// priced is what a use cost: the agent's own figure, or the registry's price.
func (a *attempt) priced(u harness.Usage) state.USD {
	if u.Priced {
		return u.Cost
	}
	nano, _ := a.entry.Codon.Model.Price(model.Tokens{Input: u.Tokens.Input, Output: u.Tokens.Output, CacheRead: u.Tokens.CacheRead, CacheWrite: u.Tokens.CacheCreation})
	return state.USD(nano)
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}
