package state

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"hank/state/journal"
)

// Limits are replaced as a whole, at any time, and survive the text of the state
// and a Rebased event. A negative one is refused and changes nothing.
func TestLimitsAreSetAndKept(t *testing.T) {
	t.Parallel()
	s := apply(t, &State{Lineage: "l"}, LimitsSet{Limits{MaxDollars: 2 * Dollar, MaxTimeSeconds: 90.5}})
	s = apply(t, s, InitialCheckpointSet{SHA: "1"}, PlanSet{Entries: entriesJSON(t, 2)},
		RunStarted{&Run{RunID: "r", GitBranch: "run-r", Status: StatusRunning, StartTime: epoch, StartingConditions: StartingConditions{Type: StartFresh}}})
	want := Limits{MaxDollars: 2 * Dollar, MaxTimeSeconds: 90.5}
	back, err := Unmarshal(text(t, s))
	if err != nil || !sameLimits(back.Limits, want) {
		t.Fatalf("written and read: %+v, %v", back, err)
	}
	r, err := s.Rebase("x")
	if err != nil {
		t.Fatal(err)
	}
	if s = apply(t, s, r); !sameLimits(s.Limits, want) {
		t.Fatalf("rebased: %+v", s.Limits)
	}
	for _, l := range []Limits{{MaxDollars: -1}, {MaxTimeSeconds: -0.1}} {
		_, err := Apply(s, s.Seq+1, LimitsSet{l})
		isRefused(t, fmt.Sprintf("%+v", l), err, "a limit cannot be negative")
	}
	if s = apply(t, s, LimitsSet{}); s.Limits.Any() || strings.Contains(string(text(t, s)), `"limits"`) {
		t.Errorf("limits that were taken away are still there: %+v", s.Limits)
	}
}

func sameLimits(a, b Limits) bool {
	return a.MaxDollars == b.MaxDollars && a.MaxTimeSeconds == b.MaxTimeSeconds
}

// A state from before there were limits has none; what it has under that name
// from who knows where is kept, as far as it fits.
func TestAStateOfSchema1HasNoLimits(t *testing.T) {
	t.Parallel()
	old, err := os.ReadFile("../recovery/testdata/schema-1/state.json")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Unmarshal(old)
	if err != nil || s.Limits.Any() || s.Seq != 25 {
		t.Fatalf("%+v, %v", s, err)
	}
	if now := string(text(t, s)); !strings.Contains(now, fmt.Sprintf(`"schema": %d,`, SchemaVersion)) || strings.Contains(now, `"limits"`) {
		t.Errorf("it is written as\n%s", now)
	}
	more := []byte(`{"runs":[],"currentRunId":null,"executionPlan":[],"hank":{"schema":1,"lineage":"l","serial":1,"seq":1,"limits":{"maxDollars":3,"maxTea":7}}}`)
	doc, err := parse(more)
	if err != nil {
		t.Fatal(err)
	}
	if s, err = doc.state(); err != nil || s.Limits.MaxDollars != 3*Dollar || !strings.Contains(string(text(t, s)), `"maxTea": 7`) {
		t.Errorf("unknown limits: %+v, %v", s, err)
	}
}

// The state that a journal begins with may be of a newer hank: that is no
// contradiction in the journal.
func TestANewerStateInARebasedEventIsANewerHank(t *testing.T) {
	t.Parallel()
	var newer *NewerError
	_, err := Apply(&State{}, 1, Rebased{State: []byte(`{"runs":[],"currentRunId":null,"executionPlan":[],"hank":{"schema":99,"lineage":"l","serial":1,"seq":1}}`)})
	if !errors.As(err, &newer) || newer.Schema != 99 {
		t.Errorf("got %v", err)
	}
}

// What an older hank does not know must be refused by both numbers.
func TestJournalAndStateHaveOneSchemaNumber(t *testing.T) {
	t.Parallel()
	if journal.Schema != SchemaVersion {
		t.Errorf("the journal has schema %d, the state %d", journal.Schema, SchemaVersion)
	}
}

// A rebuilt state has the limits of the newest checkpoint that says any.
func TestRebuildTakesTheLimitsFromTheCheckpoints(t *testing.T) {
	t.Parallel()
	base := &State{Lineage: "l", Limits: Limits{MaxDollars: Dollar}}
	at := func(seq uint64, l *Limits) Evidence {
		return Evidence{Seq: seq, Limits: l, Transition: CheckpointCreated{Kind: KindManual, SHA: "1", Branch: "b"}}
	}
	for name, c := range map[string]struct {
		evidence []Evidence
		want     USD
	}{
		"none says":      {[]Evidence{at(2, nil)}, Dollar},
		"one says":       {[]Evidence{at(2, &Limits{MaxDollars: 2 * Dollar}), at(3, nil)}, 2 * Dollar},
		"taken away":     {[]Evidence{at(3, &Limits{}), at(2, &Limits{MaxDollars: 2 * Dollar})}, 0},
		"known already":  {[]Evidence{{Seq: 0, Limits: &Limits{}, Transition: CheckpointCreated{}}}, Dollar},
		"nothing at all": {nil, Dollar},
	} {
		if got := Rebuild(base, c.evidence).Limits.MaxDollars; got != c.want {
			t.Errorf("%s: $%s, want $%s", name, got, c.want)
		}
	}
}
