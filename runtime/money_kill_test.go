//go:build unix

package runtime

import (
	"context"
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
// there are warnings.
const spending = `{"overrides": {"budget": {"maxDollars": 1000}}, "hank": [
  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "budget": {"maxDollars": 100, "maxOutputTokens": 6},
   "promptText": "for n in 1 2 3 4 5 6; do echo '::hank usage {\"costUSD\":0.000000001,\"inputTokens\":7}'; echo $n >>log; done; echo '::hank usage {\"costUSD\":8.5}'; sleep 0.4; echo '::hank usage {\"costUSD\":0.25,\"outputTokens\":3}'"},
  {"type": "loop", "id": "l", "name": "Loop", "terminateOn": {"type": "iterationLimit", "limit": 2}, "codons": [
    {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "echo '::hank usage {\"costUSD\":1.000000003,\"cacheReadTokens\":5}'; echo x >>log"}]}]}`

// TestTotalsAgreeAfterAnyKill kills a run at a failpoint, any of those that it passes, and again
// in the run that continues it. Afterwards what was spent is the same by the state, by the
// journal alone, by the index, and by the transcripts of all attempts, to the billionth of a
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
	points := []string{"budget.recorded:1", "transcript.written:3", "transcript.written:9"}
	more := 5
	if os.Getenv("HANK_LONG") != "" {
		more = 120
	}
	for range more {
		name := []string{"transition.acknowledged", "journal.appended", "journal.synced", "transcript.written", "snapshot.renamed", "checkpoint.referenced", "ref.renamed"}[rng.IntN(7)]
		points = append(points, fmt.Sprintf("%s:%d", name, 1+rng.IntN(25)))
	}
	for i, point := range points {
		closer := slices.Sorted(maps.Keys(closers))[rng.IntN(len(closers))]
		again := fmt.Sprintf("transcript.written:%d", 1+rng.IntN(12))
		t.Run(fmt.Sprint(i, "-", point, "-", closer), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			put(t, dir, "hank.json", spending)
			o := order{Execution: filepath.Join(dir, "x"), Hank: filepath.Join(dir, "hank.json"), Output: filepath.Join(dir, "out")}
			_, first := o.start(t, "HANK_FAILPOINT="+point).wait()
			_, second := o.start(t, "HANK_FAILPOINT="+again).wait()
			if layout.Exists(o.Execution) {
				testkit.Must(t, closers[closer](t.Context(), o.Execution))
				o.agreeOnMoney(t)
			}
			if _, killed := o.start(t).wait(); killed {
				t.Fatal("a run without a failpoint was killed")
			}
			o.start(t).end(t, exitcode.Done)
			o.agreeOnMoney(t)
			t.Logf("killed: %t, %t", first, second)
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
			used, err := metering.OfKilled(log, agents.Harnesses[c.Harness], f.state.ExecutionPlan()[max(0, f.state.PlanIndex(c.CodonID))].Codon.Model, "", nil)
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
