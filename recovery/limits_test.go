package recovery

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hank/recovery/execution"
	"hank/recovery/layout"
	"hank/state"
)

// TestAnExecutionOfSchema1OpensAndIsUpgraded: a journal and a state.json of the
// version before limits, together and each alone. A reader upgrades nothing.
func TestAnExecutionOfSchema1OpensAndIsUpgraded(t *testing.T) {
	t.Parallel()
	for name, missing := range map[string]string{"both": "", "the journal alone": "state.json", "state.json alone": "events/events.jsonl"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			l := layout.Layout{Root: root, Workspace: layout.DefaultWorkspace(root)}
			ok(t, os.MkdirAll(l.Events(), 0o700))
			ok(t, os.MkdirAll(l.Workspace, 0o755))
			for from, to := range map[string]string{"state.json": "state.json", "events.jsonl": "events/events.jsonl"} {
				if to != missing {
					put(t, filepath.Join(l.Hankweave(), to), must(os.ReadFile("testdata/schema-1/"+from))(t))
				}
			}
			before := hash(t, l.Hankweave())
			v := must(Read(root))(t)
			if s := v.State; s.Seq != 25 || s.Next() != 1 || s.TotalCost() != state.Dollar/4 || s.Limits.Any() || s.Newest().EndReason != state.EndCodonFailed {
				t.Errorf("a reader sees event %d, %d done, $%s, limits %+v, %s", s.Seq, s.Next(), s.TotalCost(), s.Limits, s.Newest().EndReason)
			}
			if hash(t, l.Hankweave()) != before {
				t.Error("a reader has written")
			}
			x := must(Open(context.Background(), root, execution.Options{FS: fast, ReplaceStore: true}))(t)
			ok(t, x.Record(state.LimitsSet{Limits: state.Limits{MaxDollars: state.Dollar}}))
			ok(t, x.Close())
			if text := string(must(os.ReadFile(l.State()))(t)); !strings.Contains(text, fmt.Sprintf(`"schema": %d,`, state.SchemaVersion)) || !strings.Contains(text, `"maxDollars": 1`) {
				t.Errorf("state.json was not upgraded:\n%s", text)
			}
			if v = must(Read(root))(t); v.State.Limits.MaxDollars != state.Dollar || v.State.Next() != 1 {
				t.Errorf("afterwards a reader sees %+v", v.State.Limits)
			}
		})
	}
}

// TestLimitsOutliveEachMemory: whichever of state.json, journal and both is
// lost, and a rollback with its undo, a crash and a copy.
func TestLimitsOutliveEachMemory(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "x")
	a := begin(t, root, 12, CreateOptions{})
	limits := state.Limits{MaxDollars: 3 * state.Dollar, MaxTimeSeconds: 60}
	ok(t, a.x.Record(state.LimitsSet{Limits: limits}))
	ok(t, a.start())
	ok(t, a.play(attempt{end: state.Completed}))
	ok(t, a.play(attempt{end: state.Completed}))
	ok(t, a.x.Record(state.LimitsSet{Limits: state.Limits{MaxDollars: 2 * state.Dollar}}))
	ok(t, a.play(attempt{end: state.Completed}))
	ok(t, a.x.Close())
	b := pack(t, root, "")
	for name, gone := range map[string][]string{
		"nothing":    {},
		"state.json": {b.l.State(), b.l.State() + ".bak", b.l.Head()},
		"journal":    {b.l.Events(), b.l.Head()},
		"both":       {b.l.State(), b.l.State() + ".bak", b.l.Events(), b.l.Head()},
	} {
		b.reset()
		for _, path := range gone {
			remove(t, path)
		}
		v := must(Read(root))(t)
		x := must(Open(context.Background(), root, execution.Options{FS: fast}))(t)
		for who, s := range map[string]*state.State{"a reader": v.State, "the opening": x.State()} {
			if s.Limits.MaxDollars != 2*state.Dollar || s.Limits.MaxTimeSeconds != 0 {
				t.Errorf("without %s, %s has the limits %+v", name, who, s.Limits)
			}
		}
		ok(t, x.Close())
	}
}
