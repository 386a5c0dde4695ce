//go:build unix

package runtime

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"hank/plan/config"
	"hank/runtime/exitcode"
	"hank/runtime/hankfile"
	"hank/runtime/internal/testkit"
	"hank/runtime/request"
)

// Every right hank of fixtures/published goes through its plan without its agents.
func TestPublishedHanksRunWithoutTheirAgents(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(fixture(t, "published/manifest.json"))
	testkit.Must(t, err)
	var all []struct {
		Hank string `json:"hank"`
	}
	testkit.Must(t, json.Unmarshal(text, &all))
	ran := 0
	for _, h := range all {
		if !strings.HasPrefix(h.Hank, "right/") {
			continue
		}
		ran++
		t.Run(filepath.Base(h.Hank), func(t *testing.T) {
			t.Parallel()
			s := newStage(t, fixture(t, "published/"+h.Hank))
			s.must(ModeRun, exitcode.Done, func(c *command) { c.Replay = request.Noop })
			if last := s.view().State.CurrentPosition().CheckpointSHA; last == s.view().State.InitialCheckpoint {
				t.Error("no codon has ended")
			}
		})
	}
	if ran < 60 {
		t.Errorf("only %d hanks", ran)
	}
}

// What hank validate accepts begins to run and comes to its end: of a rich hank each value
// is replaced by others and each member removed, and of those that are valid a part is run.
// HANK_LONG=1 runs all.
func TestAChangedHankThatIsValidRuns(t *testing.T) {
	t.Parallel()
	heavy(t)
	from := fixture(t, "published/right/rich")
	text, err := os.ReadFile(filepath.Join(from, "hank.json"))
	testkit.Must(t, err)
	every, valid := 48, 0
	if os.Getenv("HANK_LONG") != "" {
		every = 1
	}
	write := func(dir string, hank []byte) {
		testkit.Must(t, os.WriteFile(filepath.Join(dir, "hank.json"), hank, 0o644))
	}
	judged := t.TempDir()
	testkit.Must(t, os.CopyFS(judged, os.DirFS(from)))
	eachChange(t, text, func(what string, changed []byte) {
		write(judged, changed)
		p, _, err := hankfile.Load(judged, config.Layers{})
		testkit.Must(t, err)
		if p == nil {
			return
		}
		if valid++; valid%every != 0 {
			return
		}
		dir := t.TempDir()
		testkit.Must(t, os.CopyFS(dir, os.DirFS(from)))
		write(dir, changed)
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			newStage(t, dir).must(ModeRun, exitcode.Done, func(c *command) { c.Replay = request.Noop })
		})
	})
	if valid < 100 {
		t.Errorf("only %d changed hanks are valid", valid)
	}
}

// eachChange calls f with every JSON text that differs in one value from the one given.
func eachChange(t *testing.T, text []byte, f func(what string, changed []byte)) {
	t.Helper()
	var root any
	testkit.Must(t, json.Unmarshal(text, &root))
	say := func(what string) {
		changed, err := json.Marshal(root, json.Deterministic(true))
		testkit.Must(t, err)
		f(what, changed)
	}
	var walk func(at string, v any, set func(any))
	walk = func(at string, v any, set func(any)) {
		for _, other := range []any{0.0, 1.0, "x", "a b/ü", []any{}, map[string]any{}} {
			set(other)
			say(at + "=" + fmt.Sprint(other))
		}
		set(v)
		switch v := v.(type) {
		case []any:
			for i, inner := range v {
				walk(fmt.Sprintf("%s/%d", at, i), inner, func(to any) { v[i] = to })
			}
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				kept := v[key]
				delete(v, key)
				say(at + " without " + key)
				walk(at+"/"+key, kept, func(to any) { v[key] = to })
				v[key] = kept
			}
		}
	}
	walk("", root, func(to any) { root = to })
}
