//go:build unix

package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hank/internal/programtest"
	"hank/internal/short"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/recovery/layout"
	"hank/runtime/agents"
	"hank/runtime/exitcode"
	"hank/runtime/gc"
	"hank/runtime/internal/testkit"
	"hank/runtime/metering"
	"hank/runtime/opening"
	"hank/runtime/report/cost"
	"hank/state"
	"hank/state/costindex"
)

// spending is a hank whose codons report costs in many small parts, under limits of which
// there are warnings: scripts, a program whose own figure is money, another one in whose
// session the next codon goes on and that counts tokens, and an agent that counts them in a file
// of its own while it works, and tells of them at its end.
const spending = `{"overrides": {"budget": {"maxDollars": 1000}}, "hank": [
  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "budget": {"maxDollars": 100, "maxOutputTokens": 6},
   "promptText": "for n in 1 2 3 4 5 6; do echo '::hank usage {\"costUSD\":0.000000001,\"inputTokens\":7}'; echo $n >>log; done; echo '::hank usage {\"costUSD\":8.5}'; sleep 0.4; echo '::hank usage {\"costUSD\":0.25,\"outputTokens\":3}'"},
  {"type": "loop", "id": "l", "name": "Loop", "terminateOn": {"type": "iterationLimit", "limit": 2}, "codons": [
    {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "echo '::hank usage {\"costUSD\":1.000000003,\"cacheReadTokens\":5}'; echo x >>log"}]},
  {"id": "pays", "name": "Pays", "model": "exec/payer", "exec": ["PROGRAM", ",\"costUSD\":0.000000007"], "continuationMode": "fresh", "promptText": "x"},
  {"id": "counts", "name": "Counts", "model": "exec/anthropic/claude-sonnet-4-5", "exec": ["PROGRAM"], "continuationMode": "fresh", "promptText": "x"},
  {"id": "more", "name": "More", "model": "exec/anthropic/claude-sonnet-4-5", "exec": ["PROGRAM"], "continuationMode": "continue-previous", "promptText": "x"},
  {"id": "keeps", "name": "Keeps", "model": "openai/gpt-5", "continuationMode": "fresh", "promptText": "x"}]}`

// spent are the costs of attempts at codons of spending that nothing cuts off, and no limit.
var spent = map[state.CodonID]state.USD{"b#0": 1_000_000_003, "b#1": 1_000_000_003,
	"pays":   5 * 7,
	"counts": 5 * (300*3_000 + 20*15_000 + 100*300), "more": 5 * (300*3_000 + 20*15_000 + 100*300),
	"keeps": 4 * (100*1_250 + 10*10_000),
}

// spender is a program that has five requests to a model, and says after each what that has
// used. Its argument are more members of the event.
const spender = `#!/bin/sh
say() { printf '%s\n' "$1"; }
say "{\"type\":\"session\",\"id\":\"$HANK_SESSION\"}"
for n in 1 2 3 4 5; do
  say '{"type":"usage","inputTokens":300,"outputTokens":20,"cacheReadTokens":100'"$1"'}'
  echo $n >>log
done
echo >>"$HANK_HOME/$HANK_SESSION"
say '{"type":"result","ok":true}'
`

// accountant is a Codex, as far as hank can see: four requests, each of which it writes down
// in its own file before it goes on.
const accountant = `#!/bin/sh
case $* in *--version*) echo 'codex-cli 0.169.0'; exit ;; esac
cat >/dev/null
id=0199-$$
dir=$CODEX_HOME/sessions/2026/11/26
mkdir -p $dir
echo '{"type":"thread.started","thread_id":"'$id'"}'
echo '{"type":"turn.started"}'
for n in 1 2 3 4; do
  printf '{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":%d,"output_tokens":%d},"last_token_usage":{"input_tokens":100,"output_tokens":10}}}}\n' $((100 * n)) $((10 * n)) >>$dir/rollout-2026-11-26T17-00-00-$id.jsonl
  echo '{"type":"item.completed","item":{"id":"i'$n'","type":"agent_message","text":"done"}}'
  echo $n >>log
done
echo '{"type":"turn.completed","usage":{"input_tokens":400,"output_tokens":40}}'
`

// spendingIn is an order of spending, with its programs, and what they need.
func spendingIn(t *testing.T, dir string) (o order, environ []string) {
	t.Helper()
	program, codex := filepath.Join(dir, "spender"), filepath.Join(dir, "accountant")
	programtest.Write(t, program, spender)
	programtest.Write(t, codex, accountant)
	sum := sha256.Sum256([]byte(program))
	put(t, dir, "registry/consents/exec-"+hex.EncodeToString(sum[:8])+".json", "{}")
	put(t, dir, "registry/consents/codex.json", "{}")
	put(t, dir, "hank.json", strings.ReplaceAll(spending, "PROGRAM", program))
	o = order{Execution: filepath.Join(dir, "x"), Hank: filepath.Join(dir, "hank.json"), Output: filepath.Join(dir, "out")}
	return o, []string{"CODEX_API_KEY=none", "CODEX_PATH_TO_CODEX_EXECUTABLE=" + codex}
}

// TestTotalsAgreeAfterAnyKill kills a run at a failpoint, any of those that it passes, and again
// in the run that continues it. Afterwards what was spent is the same by the state, by the
// journal alone, by the index, and by the transcripts of all attempts with the agents' own files, to the billionth of a
// dollar: no kill loses what an agent has reported, and nothing counts twice, whichever command
// closes the run that was killed. Some places are
// tried, chosen by HANK_SEED; HANK_LONG=1 tries many.
func TestTotalsAgreeAfterAnyKill(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	seed := uint64(1)
	if n, err := strconv.ParseUint(os.Getenv("HANK_SEED"), 10, 64); err == nil {
		seed = n
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	points := []string{"budget.recorded:1", "transcript.written:3", "transcript.written:9", "transcript.written:21", "transcript.written:30", "transcript.written:42"}
	more := 5
	if os.Getenv("HANK_LONG") != "" {
		more = 120
	}
	for range more {
		name := []string{"transition.acknowledged", "journal.appended", "journal.synced", "transcript.written", "snapshot.renamed", "checkpoint.referenced", "ref.renamed"}[rng.IntN(7)]
		points = append(points, fmt.Sprintf("%s:%d", name, 1+rng.IntN(40)))
	}
	for i, point := range points {
		closer := slices.Sorted(maps.Keys(closers))[rng.IntN(len(closers))]
		again := fmt.Sprintf("transcript.written:%d", 1+rng.IntN(12))
		t.Run(fmt.Sprint(i, "-", point, "-", closer), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			o, environ := spendingIn(t, dir)
			_, first := o.start(t, append(environ, "HANK_FAILPOINT="+point)...).wait()
			_, second := o.start(t, append(environ, "HANK_FAILPOINT="+again)...).wait()
			if layout.Exists(o.Execution) {
				testkit.Must(t, closers[closer](t.Context(), o.Execution))
				o.agreeOnMoney(t)
			}
			if _, killed := o.start(t, environ...).wait(); killed {
				t.Fatal("a run without a failpoint was killed")
			}
			o.start(t, environ...).end(t, exitcode.Done)
			o.agreeOnMoney(t)
			done, cut := map[state.CodonID]state.USD{}, []string{}
			for _, run := range o.fold(t).state.Runs {
				for _, c := range run.Codons() {
					if c.Status == state.Completed {
						done[c.CodonID] = c.Cost()
					} else {
						cut = append(cut, fmt.Sprintf("%s for %s", c.CodonID, c.Cost().Text()))
					}
				}
			}
			delete(done, "a") // its own limit can end it in the second attempt
			if !maps.Equal(done, spent) {
				t.Errorf("completed attempts have cost %v, want %v", done, spent)
			}
			t.Logf("killed: %t, %t; cut off: %s", first, second, cut)
		})
	}
}

// closers are commands that close a run that was killed, and do nothing more that counts.
var closers = map[string]func(ctx context.Context, root string) error{
	"doctor": func(ctx context.Context, root string) error {
		x, err := opening.Open(ctx, root, execution.Options{Command: "hank doctor --fix", ReplaceStore: true})
		if err != nil {
			return err
		}
		return x.Close()
	},
	"gc": func(ctx context.Context, root string) error {
		_, err := gc.Collect(ctx, root, gc.Policy{Now: time.Now(), OlderThan: time.Hour}, nil)
		return err
	},
	"release": func(ctx context.Context, root string) error {
		_, err := ReleaseHold(ctx, root)
		return err
	},
}

// agreeOnMoney compares where no run is open.
func (o order) agreeOnMoney(t *testing.T) {
	t.Helper()
	v, err := recovery.Read(o.Execution)
	testkit.Must(t, err)
	if run := v.State.Newest(); run != nil && run.Live() != nil {
		t.Fatalf("run %s is not closed", run.RunID)
	}
	want := v.State.TotalCost()
	f := o.fold(t)
	if got := f.state.TotalCost(); got != want {
		t.Errorf("by the journal %s were spent, by the state %s", got, want)
	}
	if r := cost.Of(v, costindex.ByCodon, askHere); r.NoIndex != "" || r.All.Cost != want {
		t.Errorf("by the index %s were spent, by the state %s (%s)", r.All.Cost, want, r.NoIndex)
	}
	sum := state.USD(0)
	for _, run := range v.State.Runs {
		for _, c := range run.Codons() {
			if c.ClaudeLogPath == "" {
				continue
			}
			log, err := os.Open(v.Layout.Resolve(c.ClaudeLogPath))
			testkit.Must(t, err)
			used, err := metering.OfKilled(log, agents.Harnesses[c.Harness], f.state.ExecutionPlan()[max(0, f.state.PlanIndex(c.CodonID))].Codon.Model, filepath.Join(v.Layout.Homes(), c.Harness), nil)
			testkit.Must(t, err)
			testkit.Must(t, log.Close())
			if used.Cost != c.Cost() || used.Tokens.Sum() != c.TokenCount().Sum() {
				t.Errorf("attempt %d of %s in run %s: by its transcript %s and %d tokens, by its record %s and %d (%s)", c.Attempt, c.CodonID, run.RunID, used.Cost, used.Tokens.Sum(), c.Cost(), c.TokenCount().Sum(),
					strings.TrimSpace(string(c.Status)+" "+c.Interrupted))
			}
			sum += used.Cost
		}
	}
	if sum != want {
		t.Errorf("by the transcripts %s were spent, by the state %s", sum, want)
	}
}
