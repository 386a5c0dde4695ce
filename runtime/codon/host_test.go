//go:build unix

package codon_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/go-json-experiment/json"

	"hank/plan"
	"hank/plan/config"
	"hank/recovery/layout"
	"hank/runtime/budget"
	"hank/runtime/codon"
	"hank/runtime/exitcode"
	"hank/runtime/harness"
	"hank/runtime/harness/shell"
	"hank/runtime/session"
	"hank/state"
)

// host is a codon.Host in memory: the state is the fold of what was recorded, and a
// checkpoint is the names of the files in the workspace.
type host struct {
	t         *testing.T
	workspace string
	program   *plan.Program

	mu          sync.Mutex
	state       *state.State
	log         []string // what was recorded and checkpointed, in order
	checkpoints map[state.SHA][]string
	stopping    []codon.Request
	dropped     []codon.Request
	explained   int
	stuck       []codon.Stuck

	sessions     []map[string]string // that were kept
	sessionError error               // of keeping one

	requests chan codon.Request
	onStatus map[state.CodonStatus]func() error // before the record gets a status
}

const run = "run-1"

// attempts gives each attempt a name of its own: all that bears it is killed at its end.
var attempts atomic.Int64

// newHost has a program whose codons are those of a hank.json, and a run of it.
func newHost(t *testing.T, codons string) *host {
	t.Helper()
	program, found := plan.LoadWith(fstest.MapFS{"hank.json": {Data: []byte(`{"hank": [` + codons + `]}`)}}, "hank.json", config.Layers{})
	if program == nil {
		t.Fatal(found)
	}
	h := &host{t: t, program: program, workspace: filepath.Join(t.TempDir(), "workspace"), state: &state.State{Lineage: "lineage"},
		checkpoints: map[state.SHA][]string{}, requests: make(chan codon.Request, 4)}
	if err := os.Mkdir(h.workspace, 0o755); err != nil {
		t.Fatal(err)
	}
	entries, err := json.Marshal(program.Initial())
	if err != nil {
		t.Fatal(err)
	}
	err = h.apply(
		state.InitialCheckpointSet{SHA: h.checkpoint()},
		state.PlanSet{Program: "program", HankHash: "hash", Entries: entries},
		state.RunStarted{Run: &state.Run{RunID: run, RunFolder: "runs/1", GitBranch: "run-1", Status: state.StatusRunning, StartTime: h.Now(), ServerPid: 1,
			StartingConditions: state.StartingConditions{Type: state.StartFresh, InitialCheckpointSHA: "checkpoint-1"}}})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// spec is the next attempt at the entry of the plan at an index.
func (h *host) spec(index, number int) codon.Spec {
	h.t.Helper()
	entry, err := h.program.Resolve(h.state.ExecutionPlan()[index].Entry)
	if err != nil {
		h.t.Fatal(err)
	}
	root := h.t.TempDir()
	accounts, yes := budget.NewAccounts(h.state, false), true
	return codon.Spec{
		Run: run, ID: fmt.Sprintf("host-test-%d-%d", os.Getpid(), attempts.Add(1)), Entry: entry, Number: number, Base: h.state.Base,
		Harness: shell.Harness{}, Program: h.program, Limits: accounts.Limits(h.program, entry, budget.Use{}), LoopLimits: accounts.LoopLimits(h.program, entry),
		Settings: config.Settings{CheckOutputs: &yes}, // there is no output directory
		Layout:   layout.Layout{Root: root, Workspace: h.workspace}, Environ: []string{"PATH=" + os.Getenv("PATH")},
	}
}

// checkpoint remembers the workspace.
func (h *host) checkpoint() state.SHA {
	var names []string
	files, err := os.ReadDir(h.workspace)
	if err != nil {
		h.t.Error(err)
	}
	for _, f := range files {
		names = append(names, f.Name())
	}
	sha := state.SHA(fmt.Sprintf("checkpoint-%d", len(h.checkpoints)+1))
	h.checkpoints[sha] = names
	return sha
}

func (h *host) apply(moves ...state.Transition) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, move := range moves {
		next, err := state.Apply(h.state, h.state.Seq+1, move)
		if err != nil {
			return err
		}
		h.state = next
	}
	return nil
}

// record notes how transitions were recorded, and applies them.
func (h *host) record(how string, moves ...state.Transition) error {
	for _, move := range moves {
		what := string(move.Type())
		if moved, ok := move.(state.CodonTransitioned); ok {
			what = string(moved.Record.Status)
			if before := h.onStatus[moved.Record.Status]; before != nil {
				if err := before(); err != nil {
					return err
				}
			}
		}
		if what != string(state.CostsUpdated{}.Type()) { // of which there may be any number
			h.log = append(h.log, how+" "+what)
		}
	}
	return h.apply(moves...)
}

func (h *host) Live() *state.Codon {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.state.Run(run).Live()
}

func (h *host) Now() state.Time { return state.At(time.Now()) }

func (h *host) Record(moves ...state.Transition) error { return h.record("durable", moves...) }

func (h *host) RecordLater(moves ...state.Transition) error { return h.record("later", moves...) }

func (h *host) Note(string, any) {}

func (h *host) Checkpoint(_ context.Context, next *state.Codon) (*state.Codon, error) {
	sha := h.checkpoint()
	switch next.Status {
	case state.Starting:
		next.RigSetupCheckpoint = sha
	case state.Completed:
		next.CompletionCheckpoint = sha
	case state.Failed:
		next.ErrorCheckpoint = sha
	case state.Skipped:
		next.SkipCheckpoint = sha
	}
	if err := h.record("checkpoint", state.CodonTransitioned{RunID: run, Record: next}); err != nil {
		return nil, err
	}
	return next, nil
}

func (h *host) Preserve(_ context.Context, paths []string, _ string) error {
	h.log = append(h.log, "preserve "+strings.Join(paths, " "))
	return nil
}

func (h *host) LeftOut() []string { return nil }

func (h *host) LeaveOut(string) error { return nil }

func (h *host) Requests() <-chan codon.Request { return h.requests }

func (h *host) Stopping(r codon.Request) { h.stopping = append(h.stopping, r) }
func (h *host) Dropped(r codon.Request)  { h.dropped = append(h.dropped, r) }

func (h *host) ExplainRefusal(f *state.FailureReason) { h.explained++; f.Message += " (explained)" }

// KeepSession remembers the texts of the files of a session.
func (h *host) KeepSession(_ context.Context, f session.Files) (state.SHA, error) {
	if h.sessionError != nil {
		return "", h.sessionError
	}
	texts := map[string]string{}
	for _, name := range f.Names {
		text, err := os.ReadFile(filepath.Join(f.Root, name))
		if err != nil {
			return "", err
		}
		texts[name] = string(text)
	}
	h.sessions = append(h.sessions, texts)
	return state.SHA(fmt.Sprintf("session-%d", len(h.sessions))), nil
}

func (h *host) BringBackSession(_ context.Context, f session.Files, to state.SHA) (bool, error) {
	var n int
	if _, err := fmt.Sscanf(string(to), "session-%d", &n); err != nil || n > len(h.sessions) {
		return false, fmt.Errorf("there is no %s", to)
	}
	for name, text := range h.sessions[n-1] {
		if err := os.WriteFile(filepath.Join(f.Root, name), []byte(text), 0o600); err != nil {
			return false, err
		}
	}
	return true, nil
}

func (h *host) Say(string, ...any) {}

func (h *host) Stuck(s codon.Stuck) { h.stuck = append(h.stuck, s) }

func (h *host) Monitor() *codon.Monitor { return nil }

// must runs an attempt and compares how it ended: its status, why it failed or was
// interrupted, and the files in its checkpoint.
func (h *host) must(spec codon.Spec, want string) *state.Codon {
	h.t.Helper()
	record, err := codon.Run(h.t.Context(), spec, h)
	if err != nil {
		h.t.Fatal(err)
	}
	h.ended(record, want)
	return record
}

// ended fails the test unless record ended as want says: its status, why, and the files
// of its checkpoint.
func (h *host) ended(record *state.Codon, want string) {
	h.t.Helper()
	why := record.Interrupted
	if f := record.FailureReason; f != nil && why == "" {
		why = f.Class
	}
	files := h.checkpoints[record.Checkpoint()]
	if got := strings.TrimSpace(fmt.Sprintf("%s %s %v", record.Status, cmp.Or(why, "-"), files)); got != want {
		h.t.Fatalf("it ended %s, want %s: %+v", got, want, record.FailureReason)
	}
}

// c is a codon of the model shell.
func c(id, script string, more ...string) string {
	text, _ := json.Marshal(script)
	return fmt.Sprintf(`{"id": %q, "name": %[1]q, "model": "shell", "continuationMode": "fresh", "promptText": %s%s}`, id, text, strings.Join(append([]string{""}, more...), ", "))
}

func TestAnAttemptRecordsEachStepBeforeTheNext(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]struct {
		codon, want string
		log         []string
	}{
		"without a rig": {c("a", "echo by hank >$HANK_CODON"), "completed - [a]",
			[]string{"later CodonStarted", "durable starting", "later initializing", "later running", "durable completing-sentinels", "checkpoint completed"}},
		"with a rig": {c("a", "cp rig a", `"rigSetup": [{"type": "command", "command": {"run": "touch rig"}}]`), "completed - [a rig]",
			[]string{"durable CodonStarted", "checkpoint starting", "later initializing", "later running", "durable completing-sentinels", "checkpoint completed"}},
		"with a rig that fails": {c("a", "touch a", `"rigSetup": [{"type": "command", "command": {"run": "touch rig; false"}}]`), "failed rig [rig]",
			[]string{"durable CodonStarted", "checkpoint failed"}},
		"that fails": {c("a", "touch a; exit 3"), "failed exit [a]",
			[]string{"later CodonStarted", "durable starting", "later initializing", "later running", "durable completing-sentinels", "checkpoint failed"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, s.codon)
			base := h.state.Base
			record := h.must(h.spec(0, 1), s.want)
			if !slices.Equal(h.log, s.log) {
				t.Errorf("recorded:\n%s\nwant:\n%s", strings.Join(h.log, "\n"), strings.Join(s.log, "\n"))
			}
			if record.BaseCheckpoint != base || h.Live() != nil {
				t.Errorf("based on %s, want %s; %v is left open", record.BaseCheckpoint, base, h.Live())
			}
			if rigged := h.checkpoints[record.RigSetupCheckpoint]; s.log[1] == "checkpoint starting" && !slices.Equal(rigged, []string{"rig"}) {
				t.Errorf("after the rig there was %q", rigged)
			}
		})
	}
}

// The base comes in with the Spec and the checkpoint goes out with the record: who
// runs the codon again decides from where.
func TestAnotherAttemptStartsWhereItIsTold(t *testing.T) {
	t.Parallel()
	h := newHost(t, c("a", `test $HANK_ATTEMPT_NUMBER = 2 && touch two`, `"rigSetup": [{"type": "command", "command": {"run": "echo >>rig"}}]`))
	first := h.must(h.spec(0, 1), "failed exit [rig]")
	again := h.spec(0, 2)
	again.Base, again.SkipRig, again.RigCheckpoint = first.BaseCheckpoint, true, first.RigSetupCheckpoint
	second := h.must(again, "completed - [rig two]")
	if second.BaseCheckpoint != first.BaseCheckpoint || second.RigSetupCheckpoint != first.RigSetupCheckpoint || second.Attempt != 2 {
		t.Errorf("%+v", second)
	}
	if text, err := os.ReadFile(filepath.Join(h.workspace, "rig")); err != nil || string(text) != "\n" {
		t.Errorf("the rig has run again: %q %v", text, err)
	}
}

func TestRequestsReachTheAgent(t *testing.T) {
	t.Parallel()
	stop := codon.Request{Signal: codon.StopNow, Reason: state.EndStopped, Code: exitcode.Stopped}
	force := codon.Request{Signal: codon.StopForce, Reason: state.EndStopped, Code: exitcode.Stopped}
	after := codon.Request{Signal: codon.StopAfterCodon, Reason: state.EndStopped, Code: exitcode.Stopped}
	for name, s := range map[string]struct {
		request  codon.Request
		want     string
		stopping []codon.Request
	}{
		"skip":             {codon.Request{Signal: codon.SkipCodon}, "skipped - [a]", nil},
		"stop":             {stop, "failed stop [a]", []codon.Request{stop}},
		"stop by force":    {force, "failed stop [a]", []codon.Request{force}},
		"stop after codon": {after, "completed - [a b]", []codon.Request{after}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := "touch a; echo here; sleep 60"
			if s.request == after {
				script = "touch a; echo here; until test -e go; do sleep 0.01; done; rm go; touch b"
			}
			h := newHost(t, c("a", script))
			asked := make(chan struct{})
			go func() { // as soon as the agent is running
				defer close(asked)
				for range 1000 {
					if _, err := os.Stat(filepath.Join(h.workspace, "a")); err == nil {
						break
					}
					time.Sleep(10 * time.Millisecond)
				}
				h.requests <- s.request
				for len(h.requests) > 0 {
					time.Sleep(time.Millisecond)
				}
				if s.request == after {
					_ = os.WriteFile(filepath.Join(h.workspace, "go"), nil, 0o600)
				}
			}()
			began := time.Now()
			h.must(h.spec(0, 1), s.want)
			<-asked
			if !slices.Equal(h.stopping, s.stopping) || time.Since(began) > 30*time.Second {
				t.Errorf("stopping %v after %v", h.stopping, time.Since(began))
			}
		})
	}
}

func TestABudgetEndsAnAgent(t *testing.T) {
	t.Parallel()
	script := `touch a; echo '::hank usage {"model":"m","inputTokens":1,"outputTokens":1,"costUSD":3}'; sleep 60; touch b`
	for onExceeded, want := range map[string]string{"complete": "completed - [a]", "fail": "failed budget [a]"} {
		h := newHost(t, c("a", script, `"budget": {"maxDollars": 2, "onExceeded": "`+onExceeded+`"}`))
		record := h.must(h.spec(0, 1), want)
		if hit := record.BudgetExceeded; hit == nil || hit.Scope != budget.ScopeCodon || hit.Limit != 2 || record.Cost() != state.Dollars(3) {
			t.Errorf("%s: %+v, cost %v", onExceeded, record.BudgetExceeded, record.Cost())
		}
	}
}

// stub is an agent of which a test says what it prints means.
type stub struct{ script string }

func (stub) Name() string { return "stub" }

func (stub) Check(context.Context, []string) harness.Check { return harness.Check{} }

func (stub) LoginFiles([]string) []string { return nil }

func (stub) Permission() string { return "" }

func (stub) Reader(harness.Request) harness.Reader { return &stubReader{} }

func (s stub) Command(r harness.Request) (harness.Command, error) {
	return harness.Command{Args: []string{"sh", "-c", s.script}, Env: r.Environ, Dir: r.Workspace, StopSignal: syscall.SIGTERM, StopGrace: time.Second}, nil
}

type stubReader struct{}

func (stubReader) Line(line []byte) []harness.Observation {
	switch word, rest, _ := strings.Cut(string(line), " "); word {
	case "session":
		return []harness.Observation{harness.SessionStarted{ID: rest}}
	case "refused":
		return []harness.Observation{harness.Retrying{Attempt: 1, Refused: &state.FailureReason{Type: state.FailAPI, Class: "api", Rule: "word:model_not_found", Message: "no such model"}}}
	}
	return nil
}

func (stubReader) Stderr([]byte) []harness.Observation { return nil }

func (stubReader) End(code int, signal string) harness.Verdict {
	return harness.Verdict{Success: code == 0 && signal == "", ResultSeen: true}
}

// agent is a codon for a stub.
func agent(more ...string) string {
	return strings.Replace(c("a", "p", more...), `"model": "shell"`, `"model": "sonnet"`, 1)
}

func TestARefusedModelEndsTheAgentAndIsExplained(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"in a session":     "touch a; echo session s; echo refused; sleep 60",
		"before a session": "touch a; echo refused; sleep 60",
	} {
		h := newHost(t, agent())
		spec := h.spec(0, 1)
		spec.Harness = stub{script}
		record := h.must(spec, "failed refusal [a]")
		if h.explained != 1 || record.FailureReason.Message != "no such model (explained)" {
			t.Errorf("%s: explained %d times: %q", name, h.explained, record.FailureReason.Message)
		}
	}
}

func TestACodonThatContinuesNeedsASession(t *testing.T) {
	t.Parallel()
	h := newHost(t, strings.Replace(agent(), `"id": "a"`, `"id": "first"`, 1)+", "+strings.Replace(agent(), `"continuationMode": "fresh"`, `"continuationMode": "continue-previous"`, 1))
	h.must(func() codon.Spec { s := h.spec(0, 1); s.Harness = stub{"echo session one"}; return s }(), "completed - []")
	spec := h.spec(1, 1)
	spec.Harness = stub{"touch ran"}
	record := h.must(spec, "failed session_not_found []")
	spec = h.spec(1, 2)
	spec.Harness, spec.Session, spec.Base = stub{"echo session two"}, "one", record.BaseCheckpoint
	if record := h.must(spec, "completed - []"); record.PreviousSessionID != "one" || record.ClaudeSessionID != "two" {
		t.Errorf("it continues %q in %q", record.PreviousSessionID, record.ClaudeSessionID)
	}
}

// A host that cannot record ends the attempt at once: the agent is killed, and nothing
// more is recorded or checkpointed.
func TestAHostThatFailsEndsTheAttempt(t *testing.T) {
	t.Parallel()
	full := errors.New("the disk is full")
	for status, want := range map[state.CodonStatus][]string{
		state.Starting:            {"later CodonStarted"},
		state.Initializing:        {"later CodonStarted", "durable starting"},
		state.CompletingSentinels: {"later CodonStarted", "durable starting", "later initializing", "later running"},
		state.Completed:           {"later CodonStarted", "durable starting", "later initializing", "later running", "durable completing-sentinels"},
	} {
		h := newHost(t, c("a", map[bool]string{true: "true", false: "sleep 60"}[status == state.CompletingSentinels || status == state.Completed]))
		h.onStatus = map[state.CodonStatus]func() error{status: func() error { return full }}
		began := time.Now()
		if record, err := codon.Run(t.Context(), h.spec(0, 1), h); !errors.Is(err, full) || record != nil || time.Since(began) > 30*time.Second {
			t.Errorf("%s: %v %v after %v", status, record, err, time.Since(began))
		}
		if !slices.Equal(h.log, want) {
			t.Errorf("%s: recorded %q, want %q", status, h.log, want)
		}
	}
}

// What a played back agent did to files is in its checkpoint.
func TestAPlayedBackAgentsFilesAreApplied(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]struct {
		err  error
		want string
	}{"applied": {nil, "completed - [agent files]"}, "not applied": {errors.New("no"), "failed replay [agent files]"}} {
		h := newHost(t, c("a", "touch agent"))
		spec := h.spec(0, 1)
		spec.Apply = func(_ context.Context, cut bool, _ *state.BudgetExceeded) (bool, error) {
			if cut {
				t.Errorf("%s: it was not cut off", name)
			}
			if _, err := os.Stat(filepath.Join(h.workspace, "agent")); err != nil {
				t.Errorf("%s: before the agent has ended: %v", name, err)
			}
			return true, errors.Join(os.WriteFile(filepath.Join(h.workspace, "files"), nil, 0o600), s.err)
		}
		h.must(spec, s.want)
	}
}

func TestAnAgentIsToldWhatItsCodonIs(t *testing.T) {
	t.Parallel()
	h := newHost(t, c("a", `env | grep ^HANK_ | grep -v ^HANK_SESSION | cut -d= -f1,2 | while IFS== read -r k v; do touch "$k=$(basename "$v")"; done`))
	spec := h.spec(0, 3)
	record := h.must(spec, fmt.Sprintf("completed - [HANK_ATTEMPT=%s HANK_ATTEMPT_NUMBER=3 HANK_BUDGET_LEFT=unlimited HANK_CODON=a HANK_LAST_FAILURE=none HANK_LAST_OUTCOME=none HANK_OUTPUT=workspace HANK_TIME_LEFT=unlimited HANK_WORKSPACE=workspace]", spec.ID))
	if record.Attempt != 3 || len(slices.Collect(maps.Keys(h.checkpoints))) != 2 {
		t.Errorf("%+v", record)
	}
}

func TestAnAgentIsToldTheTimeUntilItIsEnded(t *testing.T) {
	t.Parallel()
	for limits, want := range map[string]string{
		`"timeout": 900`: "900",
		`"timeout": 900, "budget": {"maxTimeSeconds": 1000}`: "900",
		`"timeout": 900, "budget": {"maxTimeSeconds": 800}`:  "800",
	} {
		h := newHost(t, c("a", "touch is-$HANK_TIME_LEFT-<%TIME_LEFT%>", limits))
		h.must(h.spec(0, 1), fmt.Sprintf("completed - [is-%s-%s]", want, want))
	}
}
