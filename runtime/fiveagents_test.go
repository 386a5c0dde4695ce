//go:build unix

package runtime

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hank/internal/modelserver"
	"hank/internal/proc"
	"hank/internal/short"
	"hank/recovery"
	"hank/runtime/agents"
	"hank/runtime/report/cost"
	"hank/state"
)

// fiveModels are the models of the five codons, each of another agent.
var fiveModels = []string{"anthropic/claude-sonnet-4-5", "openai/gpt-5.5", "google/gemini-2.5-pro", "opencode/anthropic/claude-sonnet-4-5", "pi/anthropic/claude-sonnet-4-5"}

// relay is a hank of five codons, each with another of the real agents, that pass a file
// along, and the stand-in for their providers.
type relay struct {
	t         *testing.T
	dir       string
	execution string
	binary    string
	environ   []string
	server    *modelserver.Server

	mu     sync.Mutex
	holds  int            // the codon whose command does not end; 0: none
	served map[int]served // to the agent of each codon, since it was killed
	told   map[int]served // to the sentinels of each codon, since it was killed
	aside  []string       // what was asked for no codon
}

// served is what the provider has served, by its own count and prices.
type served struct {
	input, output, cached, written int64
	cost                           state.USD
}

func (s served) plus(o served) served {
	return served{s.input + o.input, s.output + o.output, s.cached + o.cached, s.written + o.written, s.cost + o.cost}
}

// withoutCost are the tokens alone.
func (s served) withoutCost() served {
	s.cost = 0
	return s
}

// counted is what hank has counted, as the provider would.
func counted(t state.Tokens, cost state.USD) served {
	return served{t.Input, t.Output, t.CacheRead, t.CacheCreation, cost}
}

// pricesOfFive are those of the providers, in billionths of a dollar for a token: of input, of
// output, and of input that is cached.
var pricesOfFive = map[string][3]int64{
	"claude-sonnet-4-5": {3_000, 15_000, 300}, "gpt-5.5": {5_000, 30_000, 500}, "gemini-2.5-pro": {1_250, 10_000, 125}, "claude-haiku-4-5": {1_000, 5_000, 100},
}

var (
	stepAsked   = regexp.MustCompile(`Do step (\d)\.`)
	stepWatched = regexp.MustCompile(`^Watch step-(\d) as `)
)

// newRelay needs the agents that scripts/install-agents installs.
func newRelay(t *testing.T) *relay {
	t.Helper()
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{t: t, dir: t.TempDir(), binary: program, served: map[int]served{}, told: map[int]served{}}
	r.execution = filepath.Join(r.dir, "execution")
	r.server = modelserver.NewFunc(t, r.answer)
	home := t.TempDir()
	r.environ = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + t.TempDir(), "HANK_STATE_DIR=" + filepath.Join(r.dir, "registry"), "AT=" + r.dir}
	r.environ = slices.Concat(r.environ, r.server.Environ(), r.server.OpenAIEnviron(), r.server.GeminiEnviron())
	for _, agent := range []string{"claude", "codex", "gemini", "opencode", "pi"} {
		cli, err := filepath.Abs("../.agents/" + agent + "/node_modules/.bin/" + agent)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(cli); err != nil {
			t.Fatalf("%v; run scripts/install-agents", err)
		}
		name := strings.ToUpper(agent)
		r.environ = append(r.environ, name+"_PATH_TO_"+name+"_EXECUTABLE="+cli)
	}
	var codons []string
	for i, model := range fiveModels {
		codons = append(codons, fmt.Sprintf(`{"id": "step-%d", "name": "Step %[1]d", "model": %q, "continuationMode": "fresh", "promptText": "Do step %[1]d.",
			"sentinels": [{"sentinelConfig": %[3]s}, {"sentinelConfig": %[4]s}]}`, i+1, model, watcher("narrator", "codon.completed"), watcher("auditor", "tool.result")))
	}
	put(t, r.dir, "hank.json", `{"hank": [`+strings.Join(codons, ",\n")+`]}`)
	return r
}

// watcher is a sentinel that is asked about each event of a type.
func watcher(id, event string) string {
	return fmt.Sprintf(`{"id": %q, "name": %[1]q, "model": "anthropic/claude-haiku-4-5", "trigger": {"type": "event", "on": [%[2]q]},
		"execution": {"strategy": "immediate"}, "userPromptText": "Watch <%%= it.codon.id %%> as %[1]s: <%%= it.events.length %%>"}`, id, event)
}

// answer is the model: it has the agent run one command, and then says that it is done.
func (r *relay) answer(req modelserver.Request) modelserver.Turn {
	r.mu.Lock()
	defer r.mu.Unlock()
	step, done := 0, false
	for _, m := range req.Messages {
		if found := stepAsked.FindStringSubmatch(m.Text); found != nil {
			step, _ = strconv.Atoi(found[1])
		}
		done = done || strings.Contains(m.Text, "wrote the line of the step")
	}
	used := modelserver.Usage{Input: int64(1000 + 100*step), Output: 50, CacheRead: int64(333 + step)}
	if len(req.Messages) > 0 {
		if found := stepWatched.FindStringSubmatch(req.Messages[len(req.Messages)-1].Text); found != nil {
			step, _ = strconv.Atoi(found[1])
			r.told[step] = r.told[step].plus(r.bill(req, used))
			return modelserver.Turn{Text: "I have seen it.", Usage: used}
		}
	}
	if len(req.Tools) == 0 || step == 0 {
		r.aside = append(r.aside, fmt.Sprintf("%s: %.300s", req.Model, req.Body))
		return modelserver.Turn{Text: "ok", Usage: used}
	}
	r.served[step] = r.served[step].plus(r.bill(req, used))
	if done {
		return modelserver.Turn{Text: fmt.Sprintf("Step %d is done.", step), Usage: used}
	}
	command := fmt.Sprintf(`test %d = 1 || grep -q "line %d" relay.txt && echo "line %d" >>relay.txt && echo "wrote the line of the step"`, step, step-1, step)
	if r.holds == step {
		command = fmt.Sprintf(`echo half >half-%d; (trap "" TERM; sh -c 'echo $$ >%s/at-%d.new; exec sleep 600') & until [ -s %[2]s/at-%[1]d.new ]; do sleep 0.02; done; mv %[2]s/at-%[1]d.new %[2]s/at-%[1]d; wait`, step, r.dir, step)
	}
	return modelserver.Turn{Text: "I will do it.", Tools: []modelserver.Tool{shellTool(req, command)}, Usage: used}
}

// bill is what a request costs.
func (r *relay) bill(req modelserver.Request, used modelserver.Usage) served {
	prices, known := pricesOfFive[req.Model]
	if !known {
		r.t.Errorf("a request to %q, of which there is no price", req.Model)
	}
	return served{used.Input, used.Output, used.CacheRead, 0, state.USD(used.Input*prices[0] + used.Output*prices[1] + used.CacheRead*prices[2])}
}

// shellTool is the call by which an agent runs a command.
func shellTool(req modelserver.Request, command string) modelserver.Tool {
	has := func(name string) bool { return slices.Contains(req.Tools, name) }
	switch {
	case has("Bash"):
		return modelserver.Tool{Name: "Bash", Input: map[string]string{"command": command, "description": "Do the step"}}
	case has("exec_command"):
		return modelserver.Tool{Name: "exec_command", Input: map[string]any{"cmd": command, "yield_time_ms": 30_000}}
	case has("run_shell_command"):
		return modelserver.Tool{Name: "run_shell_command", Input: map[string]any{"command": command}}
	case has("todowrite"):
		return modelserver.Tool{Name: "bash", Input: map[string]string{"command": command, "description": "Do the step"}}
	}
	return modelserver.Tool{Name: "bash", Input: map[string]any{"command": command}}
}

// start starts the program on the execution.
func (r *relay) start(args ...string) (*exec.Cmd, *bytes.Buffer) {
	r.t.Helper()
	cmd, out := exec.Command(r.binary, append(args, "-e", r.execution)...), &bytes.Buffer{}
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = r.dir, r.environ, out, out, time.Minute
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, out
}

// do runs a command to its end, which must be good.
func (r *relay) do(args ...string) string {
	r.t.Helper()
	cmd, out := r.start(args...)
	if err := cmd.Wait(); err != nil {
		r.t.Fatalf("hank %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out.String()
}

// killIn runs until the command of a codon is at work and the agent has told of the request
// before it, if it ever does, and kills the runtime, and with it its keepers. It returns the
// process that the command has left, and what was served for the codon.
func (r *relay) killIn(step int) (orphan proc.Identity, was served) {
	r.t.Helper()
	r.hold(step)
	cmd, out := r.start("run", "hank.json", "--allow-bypass")
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for orphan.PID == 0 {
		select {
		case err := <-ended:
			r.t.Fatalf("it ended before step %d was at work: %v\n%s", step, err, out)
		case <-time.After(20 * time.Millisecond):
		}
		text, _ := os.ReadFile(filepath.Join(r.dir, fmt.Sprintf("at-%d", step)))
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			if orphan, err = proc.Of(pid); err != nil {
				r.t.Fatal(err)
			}
		}
	}
	if !untold[step] {
		within(r.t, 3*time.Minute, fmt.Sprintf("the agent of step %d has told of its request", step), func() bool { return known(r.view()) == r.sum(step) })
	}
	if err := cmd.Process.Kill(); err != nil {
		r.t.Fatal(err)
	}
	<-ended
	return orphan, r.hold(0)
}

// untold are the steps whose agents tell of a request when its tools have ended, and not
// before: opencode does. What was served to one that is killed in a tool nobody knows.
var untold = map[int]bool{4: true}

// known is what the attempt at work has used by what its agent has printed and written so far.
func known(v *recovery.View) (all served) {
	run := v.State.Current()
	if run == nil || run.Live() == nil {
		return all
	}
	if more := agents.Unrecorded(v.Layout, v.State, run.RunID); more != nil {
		used := more[len(more)-1].(state.CostsUpdated)
		return counted(used.Tokens, used.Cost)
	}
	return counted(run.Live().TokenCount(), run.Live().Cost())
}

// sum is what was served to the agent of a codon, since it was killed.
func (r *relay) sum(step int) served {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.served[step]
}

// hold has the command of a codon not end, 0: none, and returns what was served for the
// one before, which begins anew.
func (r *relay) hold(step int) (was served) {
	r.mu.Lock()
	defer r.mu.Unlock()
	was = r.served[r.holds].plus(r.told[r.holds])
	r.served[r.holds], r.told[r.holds] = served{}, served{}
	r.holds = step
	return was
}

func (r *relay) view() *recovery.View {
	r.t.Helper()
	v, err := recovery.Read(r.execution)
	if err != nil {
		r.t.Fatal(err)
	}
	return v
}

// attempts are the records of a codon, the oldest first.
func attempts(s *state.State, id string) (all []*state.Codon) {
	for i := range s.Runs {
		for _, c := range s.Runs[len(s.Runs)-1-i].Codons() {
			if string(c.CodonID) == id {
				all = append(all, c)
			}
		}
	}
	return all
}

// TestFiveAgentsPassAFileAlongAndAreKilledInEachCodon: each checkpoint has what its agent
// wrote and nothing of what was killed, nothing outlives its codon, two sentinels watch each,
// and the costs are what the provider has served, to the billionth of a dollar. Only what was
// served to an agent that was killed before it told of it is missing, and hank cost says so.
func TestFiveAgentsPassAFileAlongAndAreKilledInEachCodon(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	r := newRelay(t)
	orphans, killed := map[int]proc.Identity{}, map[int]served{}
	for step := 1; step <= len(fiveModels); step++ {
		orphans[step], killed[step] = r.killIn(step)
		if step == 1 {
			continue
		}
		if lives, why := orphans[step-1].Check(); lives != proc.Dead {
			t.Errorf("what the agent of step %d has started is still there when that of step %d works: %s", step-1, step, why)
		}
	}
	said := r.do("run")
	if lives, why := orphans[len(fiveModels)].Check(); lives != proc.Dead {
		t.Errorf("what the agent of the last step has started is still there: %s", why)
	}
	v := r.view()
	want, all, printed := "", served{}, r.do("cost", "--csv")
	git := func(args ...string) string {
		out, err := exec.Command("git", append([]string{"--git-dir", v.Layout.Store()}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v, %s", args, err, out)
		}
		return string(out)
	}
	for i, model := range fiveModels {
		step := i + 1
		want += fmt.Sprintf("line %d\n", step)
		records := attempts(v.State, fmt.Sprintf("step-%d", step))
		if len(records) != 2 || records[0].Interrupted != state.InterruptedByCrash || records[1].Status != state.Completed {
			t.Fatalf("the attempts at step %d are %+v\n%s", step, records, said)
		}
		lost, c := records[0], records[1]
		var watched served
		for _, s := range c.Sentinels.All() {
			if watched = watched.plus(counted(s.Tokens, s.TotalCost)); s.LLMCallCount == 0 || s.OpenCalls > 0 {
				t.Errorf("a sentinel of %s: %s", model, s)
			}
		}
		if len(c.Sentinels.All()) != 2 || watched != r.told[step] {
			t.Errorf("the sentinels of %s have used %+v, and %+v was served", model, watched, r.told[step])
		}
		if got := git("show", string(c.CompletionCheckpoint)+":relay.txt"); got != want {
			t.Errorf("the checkpoint of %s has %q", model, got)
		}
		if names := git("ls-tree", "-r", "--name-only", string(c.CompletionCheckpoint)); names != "relay.txt\n" {
			t.Errorf("the checkpoint of %s has %q", model, names)
		}
		if names := git("ls-tree", "-r", "--name-only", string(lost.ErrorCheckpoint)); !strings.Contains(names, fmt.Sprintf("half-%d", step)) {
			t.Errorf("the work of %s that was killed is %q", model, names)
		}
		if used := counted(c.TokenCount(), c.Cost()); used != r.served[step] {
			t.Errorf("%s has used %+v, and %+v was served", model, used, r.served[step])
		}
		if killed[step].cost == 0 {
			t.Errorf("nothing was served to the killed attempt of %s", model)
		}
		if untold[step] {
			killed[step] = served{}
		}
		if used := counted(lost.TokenCount(), lost.Cost()); used != killed[step] {
			t.Errorf("the killed attempt of %s has used %+v, and %+v was served", model, used, killed[step])
		}
		of := killed[step].plus(r.served[step]).plus(r.told[step])
		all = all.plus(of)
		if row := fmt.Sprintf("\nstep-%d,2,%s,0,", step, of.cost); !strings.Contains(printed, row) {
			t.Errorf("hank cost has no row %q: %s", row, printed)
		}
	}
	if len(r.aside) > 0 {
		t.Errorf("the provider was asked for no codon: %q", r.aside)
	}
	if bill := v.State.Bill(); bill.Cost != all.cost {
		t.Errorf("the costs are %s in all, and %s was served", bill.Cost, all.cost)
	}
	sums := cost.SumUp(v, cost.Query{By: "codon"}, askHere)
	if sums.Total.Cost != all.cost || sums.NoIndex != "" {
		t.Errorf("by hank cost %s were spent, and %s was served; %s", sums.Total.Cost, all.cost, sums.NoIndex)
	}
	// The requests of all five that were killed may have been open, and none of a sentinel.
	if sums.Unreported != (cost.Unreported{Attempts: 5}) || sums.Unpriced != (cost.Unpriced{}) {
		t.Errorf("of what is in no sum hank cost says %+v and %+v", sums.Unreported, sums.Unpriced)
	}
	t.Logf("%s", printed)
}
