package budget

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"hank/plan"
	"hank/plan/config"
	"hank/runtime/retry"
	"hank/state"
)

// budgetHank is a hank with the given overrides and items. Loops have two
// iterations at most.
func budgetHank(t testing.TB, overrides, items string) *plan.Program {
	t.Helper()
	p, ds := plan.Load(fstest.MapFS{"hank.json": {Data: []byte(`{"overrides": {` + overrides + `}, "hank": [` + items + `]}`)}}, "hank.json")
	if p == nil {
		t.Fatal(ds)
	}
	return p
}

func codonJSON(id, budget string) string {
	if budget != "" {
		budget = `, "budget": {` + budget + `}`
	}
	return fmt.Sprintf(`{"id": %q, "name": %q, "model": "shell", "continuationMode": "fresh", "promptText": "true"%s}`, id, id, budget)
}

func loopJSON(id, budget string, codons ...string) string {
	if budget != "" {
		budget = `, "budget": {` + budget + `}`
	}
	return fmt.Sprintf(`{"type": "loop", "id": %q, "name": %q, "terminateOn": {"type": "iterationLimit", "limit": 9}, "codons": [%s]%s}`, id, id, strings.Join(codons, ","), budget)
}

// entryFor is the entry of a codon, or review#1 of a loop's.
func entryFor(t testing.TB, p *plan.Program, id plan.CodonID) plan.Entry {
	t.Helper()
	for _, e := range p.Initial() {
		if e.LoopContext != nil && baseID(e.CodonID) == baseID(id) && strings.Contains(string(id), "#") {
			in := *e.LoopContext
			if _, err := fmt.Sscanf(string(id), string(baseID(id))+"#%d", &in.Iteration); err != nil {
				t.Fatal(err)
			}
			e.LoopContext, e.CodonID = &in, id
			return e
		}
		if e.CodonID == id {
			return e
		}
	}
	t.Fatalf("no entry %s", id)
	return plan.Entry{}
}

// spend is the final record of an attempt.
func spend(e plan.Entry, status state.CodonStatus, cost float64, took time.Duration) *state.Codon {
	start := state.At(time.Unix(1767225600, 0))
	end := state.At(start.Add(took))
	amount := state.Dollars(cost)
	c := &state.Codon{CodonID: e.CodonID, LoopContext: e.LoopContext, Status: status, StartTime: start, EndTime: &end}
	if status == state.Completed {
		c.FinalCost = &amount
	} else {
		c.PartialCost = &amount
	}
	return c
}

// books is a hank and what was spent so far: "a 1.5; b#0 2 skipped".
func books(t testing.TB, p *plan.Program, spent string) *Accounts {
	t.Helper()
	a := NewAccounts(&state.State{}, false)
	for _, s := range strings.Split(spent, ";") {
		f := strings.Fields(s)
		if len(f) == 0 {
			continue
		}
		var cost float64
		if _, err := fmt.Sscan(f[1], &cost); err != nil {
			t.Fatal(err)
		}
		status := state.Completed
		if len(f) > 2 {
			status = state.CodonStatus(f[2])
		}
		a.Add(spend(entryFor(t, p, plan.CodonID(f[0])), status, cost, 0))
	}
	return a
}

func TestDollarsAreAllottedAsTheReferenceSays(t *testing.T) {
	t.Parallel()
	abc := codonJSON("a", "") + "," + codonJSON("b", "") + "," + codonJSON("c", "")
	capped := codonJSON("a", `"maxDollars": 3`) + "," + codonJSON("b", "") + "," + codonJSON("c", "")
	const none = -1
	for name, c := range map[string]struct {
		overrides, items, spent, id string
		want                        float64 // 0: used up
	}{
		"no budget":                           {"", abc, "a 5", "b", none},
		"own cap alone":                       {"", capped, "", "a", 3},
		"shared, first":                       {`"budget": {"maxDollars": 10}`, abc, "", "a", 10},
		"shared, what is left":                {`"budget": {"maxDollars": 10}`, abc, "a 4", "b", 6},
		"shared, a skipped one":               {`"budget": {"maxDollars": 10}`, abc, "a 4 skipped", "b", 6},
		"shared, failed and retried":          {`"budget": {"maxDollars": 10}`, abc, "a 1 failed; a 2 failed; a 3", "b", 4},
		"shared, used up":                     {`"budget": {"maxDollars": 10}`, abc, "a 11", "b", 0},
		"shared, cap below":                   {`"budget": {"maxDollars": 10}`, capped, "", "a", 3},
		"shared, cap above what is left":      {`"budget": {"maxDollars": 10}`, capped, "b 8", "a", 2},
		"share":                               {`"budget": {"maxDollars": 10, "allocation": "proportional", "shares": {"a": 0.5}}`, abc, "", "a", 5},
		"share, what it spent before":         {`"budget": {"maxDollars": 10, "allocation": "proportional", "shares": {"a": 0.5}}`, abc, "a 2 failed", "a", 3},
		"share, less is left":                 {`"budget": {"maxDollars": 10, "allocation": "proportional", "shares": {"b": 0.5}}`, abc, "a 8", "b", 2},
		"share, cap below":                    {`"budget": {"maxDollars": 10, "allocation": "proportional", "shares": {"a": 0.5}}`, capped, "", "a", 3},
		"share, cap above":                    {`"budget": {"maxDollars": 4, "allocation": "proportional", "shares": {"a": 0.5}}`, capped, "", "a", 2},
		"no share, first of two":              {`"budget": {"maxDollars": 10, "allocation": "proportional", "shares": {"c": 0.5}}`, abc, "", "a", 2.5},
		"no share, last of two":               {`"budget": {"maxDollars": 10, "allocation": "proportional", "shares": {"c": 0.5}}`, abc, "a 1", "b", 4},
		"no share, the first took all":        {`"budget": {"maxDollars": 10, "allocation": "proportional", "shares": {"c": 0.5}}`, abc, "a 2.5", "b", 2.5},
		"no share, equal parts":               {`"budget": {"maxDollars": 9, "allocation": "proportional"}`, abc, "a 3; b 3", "c", 3},
		"no share, capped ones do not divide": {`"budget": {"maxDollars": 10, "allocation": "proportional"}`, capped, "", "b", 5},
		"no share, but a cap":                 {`"budget": {"maxDollars": 10, "allocation": "proportional", "shares": {"b": 0.5}}`, capped, "", "a", 3},
		"no share, a cap above what is left":  {`"budget": {"maxDollars": 2, "allocation": "proportional", "shares": {"b": 0.5}}`, capped, "", "a", 2},
		"no share and nothing left":           {`"budget": {"maxDollars": 10, "allocation": "proportional", "shares": {"a": 0.5, "b": 0.5}}`, abc, "", "c", 0},
		"generous: savings flow on":           {`"budget": {"maxDollars": 10, "allocation": "proportional"}`, abc, "a 1; b 1", "c", 8},
		"strict: savings evaporate":           {`"budget": {"maxDollars": 9, "allocation": "proportional-strict"}`, abc, "a 1; b 1", "c", 3},
		"strict: share":                       {`"budget": {"maxDollars": 10, "allocation": "proportional-strict", "shares": {"a": 0.5, "b": 0.3}}`, abc, "a 1", "b", 3},
		"strict: a cap gets no savings":       {`"budget": {"maxDollars": 4, "allocation": "proportional-strict", "shares": {"a": 0.5, "b": 0.25}}`, codonJSON("a", "") + "," + codonJSON("b", "") + "," + codonJSON("c", `"maxDollars": 3`), "a 1; b 1", "c", 1},
		"strict: others overspent":            {`"budget": {"maxDollars": 10, "allocation": "proportional-strict", "shares": {"a": 0.5, "b": 0.5}}`, abc, "a 8", "b", 2},
	} {
		t.Run(name, func(t *testing.T) {
			p := budgetHank(t, c.overrides, c.items)
			checkDollars(t, books(t, p, c.spent).Limits(p, entryFor(t, p, plan.CodonID(c.id)), Use{}), c.want)
		})
	}
}

// checkDollars checks a limit: 0 is one that is used up, less is none.
func checkDollars(t testing.TB, l Limits, want float64) {
	t.Helper()
	over := l.Exceeded(Use{})
	switch {
	case want < 0:
		if l.Dollars != 0 || over != nil {
			t.Errorf("%+v, want no limit", l)
		}
	case want == 0:
		if over == nil || over.Currency != "cost" || over.Used < over.Limit {
			t.Errorf("%+v, want one that is used up", l)
		}
	case math.Abs(dollars(l.Dollars)-want) > 1e-8 || over != nil:
		t.Errorf("$%s, %+v, want %v", l.Dollars, over, want)
	}
}

func TestLoopsAreScopesOfTheirOwn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		overrides, loop, a, spent, id string
		want                          float64
	}{
		"nothing":                            {"", "", "", "a#0 5", "b#0", -1},
		"the hank's ceiling holds inside":    {`"budget": {"maxDollars": 10}`, "", "", "first 1; a#0 2", "b#0", 7},
		"the loop's own":                     {"", `"maxDollars": 4`, "", "first 9; a#0 1", "b#0", 3},
		"shared by its iterations":           {"", `"maxDollars": 4`, "", "a#0 1; b#0 1; a#1 1", "b#1", 1},
		"used up":                            {"", `"maxDollars": 4`, "", "a#0 2; b#0 2", "a#1", 0},
		"the loop's own and the hank's":      {`"budget": {"maxDollars": 10}`, `"maxDollars": 4`, "", "first 8", "a#0", 2},
		"caps are per iteration":             {"", `"maxDollars": 10`, `"maxDollars": 2`, "a#0 2; b#0 1", "a#1", 2},
		"a cap and less in the loop":         {"", `"maxDollars": 4`, `"maxDollars": 2`, "a#0 2; b#0 1", "a#1", 1},
		"its share of the hank":              {`"budget": {"maxDollars": 10, "allocation": "proportional", "shares": {"l": 0.4}}`, "", "", "a#0 1", "b#0", 3},
		"the whole hank's is gone":           {`"budget": {"maxDollars": 4}`, "", "", "a#0 1; b#0 3", "a#1", 0},
		"its share, used up":                 {`"budget": {"maxDollars": 10, "allocation": "proportional", "shares": {"l": 0.4}}`, "", "", "a#0 1; b#0 3", "a#1", 0},
		"its share and its own":              {`"budget": {"maxDollars": 10, "allocation": "proportional", "shares": {"l": 0.4}}`, `"maxDollars": 2`, "", "", "a#0", 2},
		"shares inside":                      {"", `"maxDollars": 10, "allocation": "proportional", "shares": {"a": 0.3}`, "", "", "a#0", 3},
		"shares inside, all iterations":      {"", `"maxDollars": 10, "allocation": "proportional", "shares": {"a": 0.3}`, "", "a#0 1; b#0 1", "a#1", 2},
		"shares inside, the other":           {"", `"maxDollars": 10, "allocation": "proportional", "shares": {"a": 0.3}`, "", "a#0 1; b#0 2", "b#1", 5},
		"shares inside of what the hank has": {`"budget": {"maxDollars": 6}`, `"maxDollars": 10, "allocation": "proportional", "shares": {"a": 0.5}`, "", "first 2", "a#0", 2},
		"a loop without share divides":       {`"budget": {"maxDollars": 10, "allocation": "proportional"}`, "", "", "first 1", "a#0", 4.5},
	} {
		t.Run(name, func(t *testing.T) {
			p := budgetHank(t, c.overrides, codonJSON("first", "")+","+loopJSON("l", c.loop, codonJSON("a", c.a), codonJSON("b", ""))+","+codonJSON("last", ""))
			a := books(t, p, c.spent)
			checkDollars(t, a.Limits(p, entryFor(t, p, plan.CodonID(c.id)), Use{}), c.want)
			if over := a.LoopLimits(p, entryFor(t, p, "b#0")).Over; (over != nil) != strings.Contains(name, "used up") {
				t.Errorf("the loop is over: %+v", over)
			}
		})
	}
}

func TestTheCodonsOwnLimitsHoldForAllItsAttempts(t *testing.T) {
	t.Parallel()
	p := budgetHank(t, "", codonJSON("a", `"maxDollars": 5, "maxTimeSeconds": 60, "maxOutputTokens": 1000, "maxContextTokens": 5000`))
	e := entryFor(t, p, "a")
	a := NewAccounts(&state.State{}, false)
	l := a.Limits(p, e, Use{Cost: state.Dollars(2), Time: 20 * time.Second, Output: 300, Context: 4999})
	if want := (Limits{Dollars: state.Dollars(3), Time: 40 * time.Second, OutputTokens: 700, ContextTokens: 5000, OnExceeded: plan.Complete,
		money: money{limited: true, left: state.Dollars(3), limit: state.Dollars(5), used: state.Dollars(2), of: "its own $5.00 budget", scope: ScopeCodon},
		span:  span{limit: time.Minute, used: 20 * time.Second, of: "its own 1m0s of time", scope: ScopeCodon}}); l != want {
		t.Errorf("%+v, want %+v", l, want)
	}
	for currency, u := range map[string]Use{
		"cost": {Cost: state.Dollars(5)}, "duration": {Time: time.Minute}, "outputTokens": {Output: 1000},
	} {
		if over := a.Limits(p, e, u).Exceeded(Use{}); over == nil || over.Currency != currency {
			t.Errorf("%s used up before: %+v", currency, over)
		}
	}
}

func TestALimitThatIsExactlyReachedCounts(t *testing.T) {
	t.Parallel()
	l := Limits{Dollars: state.Dollars(1), Time: time.Second, OutputTokens: 10, ContextTokens: 20}
	for currency, c := range map[string]struct{ below, at Use }{
		"cost":          {Use{Cost: state.Dollars(1) - 1}, Use{Cost: state.Dollars(1)}},
		"duration":      {Use{Time: time.Second - 1}, Use{Time: time.Second}},
		"outputTokens":  {Use{Output: 9}, Use{Output: 10}},
		"contextTokens": {Use{Context: 19}, Use{Context: 20}},
	} {
		if over := l.Exceeded(c.below); over != nil {
			t.Errorf("below the limit: %+v", over)
		}
		over := l.Exceeded(c.at)
		if over == nil || over.Currency != currency || over.Used != over.Limit {
			t.Errorf("at the limit of %s: %+v", currency, over)
		}
		if (Limits{}).Exceeded(c.at) != nil {
			t.Error("no limit is exceeded")
		}
	}
	if l.TimeLeft(400*time.Millisecond) != 600*time.Millisecond || l.TimeLeft(time.Minute) != 1 || (Limits{}).TimeLeft(time.Hour) != 0 {
		t.Errorf("time left: %s, %s", l.TimeLeft(400*time.Millisecond), l.TimeLeft(time.Minute))
	}
	if over := l.TimeExceeded(); over.Currency != "duration" || over.Limit != 1 || over.Used != 1 {
		t.Errorf("%+v", over)
	}
}

func TestTimeIsThatOfAllRunsTogether(t *testing.T) {
	t.Parallel()
	p := budgetHank(t, `"budget": {"maxTimeSeconds": 100}`, codonJSON("first", "")+","+loopJSON("l", `"maxTimeSeconds": 50`, codonJSON("a", `"maxTimeSeconds": 30`), codonJSON("b", "")))
	a := NewAccounts(&state.State{}, false)
	check := func(id plan.CodonID, want time.Duration, source string) {
		t.Helper()
		if l := a.Limits(p, entryFor(t, p, id), Use{}); l.Time != want || l.span.scope != source || l.Over != nil {
			t.Errorf("%s: %+v, want %s", id, l, want)
		}
	}
	check("first", 100*time.Second, ScopeHank)
	check("a#0", 30*time.Second, ScopeCodon)
	check("b#0", 50*time.Second, ScopeLoop)
	a.Add(spend(entryFor(t, p, "first"), state.Failed, 0, 40*time.Second))
	a.Add(spend(entryFor(t, p, "a#0"), state.Completed, 0, 25*time.Second))
	check("b#0", 25*time.Second, ScopeLoop)
	check("a#1", 25*time.Second, ScopeLoop)
	check("first", 35*time.Second, ScopeHank)
	if a.LoopLimits(p, entryFor(t, p, "b#0")).Over != nil {
		t.Error("the loop is over too early")
	}
	a.Add(spend(entryFor(t, p, "b#0"), state.Completed, 0, 25*time.Second))
	over := a.Limits(p, entryFor(t, p, "a#1"), Use{}).Over
	if over == nil || over.Currency != "duration" || over.Limit != 50 || over.Used != 50 || a.LoopLimits(p, entryFor(t, p, "b#0")).Over == nil {
		t.Errorf("%+v", over)
	}
	a.Add(spend(entryFor(t, p, "first"), state.Failed, 0, time.Hour))
	if over := a.Limits(p, entryFor(t, p, "first"), Use{}).Over; over == nil || over.Limit != 100 {
		t.Errorf("the hank's time: %+v", over)
	}
}

func TestWhoSaysHowAnExceededCodonEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		hank, loop, own string
		want            plan.OnExceeded
	}{
		{"", "", "", plan.Complete}, {"fail", "", "", plan.Fail}, {"fail", "complete", "", plan.Complete},
		{"complete", "fail", "", plan.Fail}, {"fail", "fail", "complete", plan.Complete}, {"", "", "fail", plan.Fail},
	} {
		say := func(s string) string {
			if s == "" {
				return `"maxTimeSeconds": 9`
			}
			return `"maxTimeSeconds": 9, "onExceeded": "` + s + `"`
		}
		p := budgetHank(t, `"budget": {`+say(c.hank)+`}`, loopJSON("l", say(c.loop), codonJSON("a", say(c.own))))
		if got := NewAccounts(&state.State{}, false).Limits(p, entryFor(t, p, "a#0"), Use{}).OnExceeded; got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

func TestACeilingOfTheSettingsReplacesTheHanks(t *testing.T) {
	t.Parallel()
	p := budgetHank(t, `"budget": {"maxDollars": 10, "allocation": "proportional", "shares": {"a": 0.5}, "onExceeded": "fail"}`, codonJSON("a", "")+","+codonJSON("b", ""))
	p.Settings.Budget = &config.Ceiling{MaxDollars: 4}
	l := NewAccounts(&state.State{}, false).Limits(p, entryFor(t, p, "a"), Use{})
	checkDollars(t, l, 2)
	if l.OnExceeded != plan.Fail || !strings.Contains(l.Describe(l.Exceeded(Use{Cost: state.Dollars(2.5)})), "$2.50 of its $2.00 share of the $4.00 hank budget is spent") {
		t.Errorf("%+v: %s", l, l.Describe(l.Exceeded(Use{Cost: state.Dollars(2.5)})))
	}
}

func TestMoneySpentOnCodonsThatAreGoneIsSpent(t *testing.T) {
	t.Parallel()
	old := budgetHank(t, "", codonJSON("gone", "")+","+codonJSON("a", "")+","+loopJSON("l", "", codonJSON("x", ""), codonJSON("y", "")))
	p := budgetHank(t, `"budget": {"maxDollars": 10}`, codonJSON("a", "")+","+codonJSON("x", "")+","+loopJSON("l", `"maxDollars": 5`, codonJSON("y", "")))
	a := books(t, old, "gone 2; a 1; x#0 3; y#0 1")
	checkDollars(t, a.Limits(p, entryFor(t, p, "a"), Use{}), 3)
	checkDollars(t, a.Limits(p, entryFor(t, p, "x"), Use{}), 3)
	checkDollars(t, a.Limits(p, entryFor(t, p, "y#1"), Use{}), 1)
}

func TestAPriceThatIsTooSmallIsNotNone(t *testing.T) {
	t.Parallel()
	for in, want := range map[float64]state.USD{0: 0, -1: 0, 1e-12: 1, 1e-9: 1, 0.5: state.Dollar / 2, 1e300: math.MaxInt64, math.Inf(1): math.MaxInt64} {
		if got := price(in); got != want {
			t.Errorf("$%v is %d", in, got)
		}
	}
}

// run plays a hank through, iteration after iteration, with attempts that end
// in all ways and may be interrupted late: nobody is told to spend more than there
// is.
func TestAllottedMoneyNeverExceedsItsPool(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		a := NewAccounts(&state.State{}, false)
		for range rapid.IntRange(1, 12).Draw(t, "attempts") {
			i := rapid.IntRange(0, len(s.entries)-1).Draw(t, "entry") // also back: a rollback
			l := a.Limits(s.program, s.entries[i], Use{})
			if l.Dollars < 0 || l.Time < 0 {
				t.Fatalf("negative: %+v", l)
			}
			left := s.max - a.Total.Cost
			if l.Over == nil && (l.Dollars == 0 || l.Dollars > left) {
				t.Fatalf("%s may spend %s, %s is left of %s", s.entries[i].CodonID, l.Dollars, left, s.max)
			}
			if l.Over != nil {
				continue
			}
			loop := s.entries[i].LoopContext
			if loop != nil && loop.LoopBudget != nil && l.Dollars > price(loop.LoopBudget.MaxDollars)-a.Loops[loop.LoopID].Cost {
				t.Fatalf("%s may spend %s, more than is left of its loop", s.entries[i].CodonID, l.Dollars)
			}
			cost := state.USD(rapid.Int64Range(0, int64(l.Dollars)).Draw(t, "cost"))
			status := rapid.SampledFrom([]state.CodonStatus{state.Completed, state.Failed, state.Skipped}).Draw(t, "status")
			a.Add(spend(s.entries[i], status, dollars(cost), 0))
		}
		if a.Total.Cost > s.max {
			t.Fatalf("%s of %s was spent", a.Total.Cost, s.max)
		}
	})
}

// In one pass in order, a child with a share gets it whole if no child without
// one has a cap of its own; and under a strict allocation what others saved
// changes nothing.
func TestAShareIsWhatWasPromised(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "children")
		p := pool{max: state.USD(rapid.Int64Range(1, 1e12).Draw(t, "max")), allocation: rapid.SampledFrom([]plan.Allocation{plan.Proportional, plan.ProportionalStrict}).Draw(t, "allocation")}
		left := 1.0
		for range n {
			share := 0.0
			if rapid.Bool().Draw(t, "has a share") {
				share = rapid.Float64Range(0, left).Draw(t, "share")
				left -= share
			}
			p.children = append(p.children, poolChild{share: share})
		}
		for p.self = range n {
			c := &p.children[p.self]
			m := p.remaining()
			switch {
			case !m.limited:
				t.Fatal("no limit")
			case c.share > 0 && m.left != fraction(c.share, p.max):
				t.Fatalf("child %d of %+v gets %s, its share is %s", p.self, p, m.left, fraction(c.share, p.max))
			case p.allocation == plan.ProportionalStrict && m.left != p.part(*c):
				t.Fatalf("child %d of %+v gets %s, its part is %s", p.self, p, m.left, p.part(*c))
			}
			c.spent = state.USD(rapid.Int64Range(0, int64(max(0, m.left))).Draw(t, "spent"))
		}
		if p.spent() > p.max {
			t.Fatalf("%s of %s", p.spent(), p.max)
		}
	})
}

// scene is a hank with a budget and entries of its plan.
type scene struct {
	program *plan.Program
	entries []plan.Entry
	max     state.USD
}

func drawScene(t *rapid.T) scene {
	amount := rapid.Float64Range(1e-9, 100)
	budget := func(name string, ids []plan.CodonID, must bool) *plan.Budget {
		if !must && rapid.Bool().Draw(t, name+" has none") {
			return nil
		}
		b := &plan.Budget{MaxDollars: amount.Draw(t, name), Allocation: rapid.SampledFrom([]plan.Allocation{"", plan.Shared, plan.Proportional, plan.ProportionalStrict}).Draw(t, name+" allocation")}
		left := 1.0
		for _, id := range ids {
			if left > 0.01 && rapid.Bool().Draw(t, name+" share") {
				if b.Shares == nil {
					b.Shares = map[plan.CodonID]float64{}
				}
				b.Shares[id] = rapid.Float64Range(0.001, left).Draw(t, name+" part")
				left -= b.Shares[id]
			}
		}
		return b
	}
	codon := func(id plan.CodonID) plan.Codon {
		c := plan.Codon{ID: id}
		if rapid.Bool().Draw(t, string(id)+" has a cap") {
			c.Budget = &plan.CodonBudget{MaxDollars: amount.Draw(t, string(id))}
		}
		return c
	}
	a, b := codon("a"), codon("b")
	loop := &plan.Loop{ID: "l", Codons: []plan.Codon{codon("x"), codon("y")}, Budget: budget("loop", []plan.CodonID{"x", "y"}, false)}
	whole := budget("hank", []plan.CodonID{"a", "l", "b"}, true)
	h := &plan.Hank{Overrides: &plan.Overrides{Budget: whole}, Items: []plan.Item{{Codon: &a}, {Loop: loop}, {Codon: &b}}}
	s := scene{program: &plan.Program{Hank: h}, max: price(whole.MaxDollars)}
	s.entries = []plan.Entry{{Codon: &a, CodonID: "a"}, {Codon: &b, CodonID: "b"}}
	for n := range 3 {
		for i := range loop.Codons {
			c := &loop.Codons[i]
			s.entries = append(s.entries, plan.Entry{Codon: c, CodonID: plan.IterationID(c.ID, n), LoopContext: &plan.LoopContext{LoopID: "l", Iteration: n, CodonIndexInLoop: i, LoopBudget: loop.Budget}})
		}
	}
	return s
}

// twoRuns is a state with retries, a loop, a skipped codon and a crash.
const twoRuns = `{"currentRunId": null, "executionPlan": [], "runs": [
	{"runId": "2-bbbbb", "runFolder": "/x", "gitBranch": "run-2-bbbbb", "startingConditions": {"type": "continuation", "reason": "continue", "source": {"runId": "1-aaaaa", "afterCodon": "x#0", "checkpointSha": ""}}, "status": "failed", "startTime": "2026-01-01T01:00:00.000Z", "serverPid": 1, "codons": [
		{"codonId": "a", "status": "failed", "startTime": "2026-01-01T01:00:00.000Z", "endTime": "2026-01-01T01:00:10.000Z", "partialCost": 0.5, "partialTokens": {"outputTokens": 10}},
		{"codonId": "x#1", "loopContext": {"loopId": "l", "iteration": 1, "codonIndexInLoop": 0}, "status": "failed", "startTime": "2026-01-01T01:01:00.000Z", "endTime": "2026-01-01T01:01:20.000Z", "partialCost": 0.25, "partialTokens": {"outputTokens": 20}},
		{"codonId": "x#1", "loopContext": {"loopId": "l", "iteration": 1, "codonIndexInLoop": 0}, "status": "failed", "startTime": "2026-01-01T01:02:00.000Z", "endTime": "2026-01-01T01:02:05.000Z", "partialCost": 0.125, "partialTokens": {"outputTokens": 3}}]},
	{"runId": "1-aaaaa", "runFolder": "/x", "gitBranch": "run-1-aaaaa", "startingConditions": {"type": "fresh"}, "status": "crashed", "startTime": "2026-01-01T00:00:00.000Z", "serverPid": 1, "codons": [
		{"codonId": "a", "status": "completed", "startTime": "2026-01-01T00:00:00.000Z", "endTime": "2026-01-01T00:00:01.000Z", "finalCost": 1, "finalTokens": {"outputTokens": 5}},
		{"codonId": "x#0", "loopContext": {"loopId": "l", "iteration": 0, "codonIndexInLoop": 0}, "status": "skipped", "startTime": "2026-01-01T00:01:00.000Z", "endTime": "2026-01-01T00:01:02.000Z", "partialCost": 2, "partialTokens": {"outputTokens": 7}}]}]}`

func TestEveryAttemptOfEveryRunCounts(t *testing.T) {
	t.Parallel()
	s, err := state.Unmarshal([]byte(twoRuns))
	if err != nil {
		t.Fatal(err)
	}
	a := NewAccounts(s, false)
	for what, c := range map[string]struct {
		got  account
		cost float64
		took time.Duration
	}{
		"all":  {a.Total, 3.875, 38 * time.Second},
		"a":    {a.Codons[Place{Codon: "a"}], 1.5, 11 * time.Second},
		"x":    {a.Codons[Place{"l", "x"}], 2.375, 27 * time.Second},
		"loop": {a.Loops["l"], 2.375, 27 * time.Second},
	} {
		if c.got != (account{state.Dollars(c.cost), c.took}) {
			t.Errorf("%s: %+v", what, c.got)
		}
	}
}

func TestAChainIsTheLastAttemptsAtOneCodon(t *testing.T) {
	t.Parallel()
	s, err := state.Unmarshal([]byte(twoRuns))
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[plan.CodonID]Use{
		"x#1": {Cost: state.Dollars(0.375), Time: 25 * time.Second, Output: 23},
		"a":   {}, // another codon came between
		"b":   {},
	} {
		if got := NewAccounts(s, false).UsedBefore(s, s.Runs[0], id); got != want {
			t.Errorf("%s: %+v", id, got)
		}
	}
}

// An attempt that a crash interrupted, and that hank does again by itself, has
// used what it has used; the user's retry starts anew.
func TestWhatACrashCutOffCounts(t *testing.T) {
	t.Parallel()
	s, err := state.Unmarshal([]byte(twoRuns))
	if err != nil {
		t.Fatal(err)
	}
	a := NewAccounts(s, false)
	if a.Loops["l"].Cost != state.Dollars(2.375) {
		t.Errorf("gone on after a crash: %+v", a.Loops)
	}
	after := state.CodonID("x#0")
	s.Position = &state.Position{RunID: "1-aaaaa", AfterCodon: &after, Reason: state.ReasonRetry}
	if a = NewAccounts(s, false); a.Loops["l"].Cost != state.Dollars(2) || a.Total.Cost != state.Dollars(3.875) {
		t.Errorf("a retry of x#1: %+v", a)
	}
	s.Position.Reason = state.ReasonContinue
	if a = NewAccounts(s, false); a.Loops["l"].Cost != state.Dollars(2.375) {
		t.Errorf("about to go on after a crash: %+v", a)
	}
}

// An undo that leads back past a newer run brings the interrupted attempt back, and nothing of the
// newer run: about to begin again, begun again, and begun again after a run that came to no codon.
func TestWhatAnUndoBringsBackCounts(t *testing.T) {
	t.Parallel()
	const codon = `{"codonId": "e#0", "loopContext": {"loopId": "l", "iteration": 0, "codonIndexInLoop": 0}, "status": "failed", "interrupted": "crash", "startTime": "2026-01-01T00:00:00.000Z", "endTime": "2026-01-01T00:00:10.000Z", "partialCost": %s, "partialTokens": {"outputTokens": 10}}`
	run := func(id, start, codons string) string {
		return fmt.Sprintf(`{"runId": %q, "runFolder": "/x", "gitBranch": "run-%s", "startingConditions": %s, "status": "crashed", "startTime": "2026-01-01T00:00:00.000Z", "serverPid": 1, "codons": [%s]}`, id, id, start, codons)
	}
	const back = `{"runId": "1-aaaaa", "afterCodon": null, "checkpointSha": "", "reason": "continue", "before": {"runId": "1-aaaaa", "afterCodon": null, "checkpointSha": "%s", "endOfRun": "1-aaaaa"}}`
	continued := func(safety string) string {
		return `{"type": "continuation", "reason": "continue", "source": ` + fmt.Sprintf(back, safety) + `}`
	}
	first := run("1-aaaaa", `{"type": "fresh"}`, fmt.Sprintf(codon, "1"))
	newer := run("2-bbbbb", `{"type": "continuation", "reason": "rollback", "source": {"runId": "1-aaaaa", "afterCodon": null, "checkpointSha": "", "reason": "rollback", "before": {"runId": "1-aaaaa", "afterCodon": null, "checkpointSha": "a", "endOfRun": "1-aaaaa"}}}`, fmt.Sprintf(codon, "8"))
	for what, c := range map[string]struct {
		runs, position string
		cost           float64
	}{
		"after the undo": {newer + "," + first, `{"runId": "1-aaaaa", "afterCodon": null, "checkpointSha": "", "reason": "rollback", "endOfRun": "1-aaaaa", "before": {"runId": "2-bbbbb", "afterCodon": null, "checkpointSha": "b", "endOfRun": "2-bbbbb"}}`, 1},
		"about to begin": {newer + "," + first, fmt.Sprintf(back, "c"), 1},
		"begun":          {run("3-ccccc", continued("c"), fmt.Sprintf(codon, "2")) + "," + newer + "," + first, "", 3},
		"begun twice":    {run("4-ddddd", continued("c"), fmt.Sprintf(codon, "2")) + "," + run("3-ccccc", continued("c"), "") + "," + newer + "," + first, "", 3},
		"gone back, and begun twice": {run("3-ccccc", continued("a"), fmt.Sprintf(codon, "2")) + "," +
			strings.Replace(newer, fmt.Sprintf(codon, "8"), "", 1) + "," + first, "", 2},
	} {
		s, err := state.Unmarshal([]byte(`{"currentRunId": null, "executionPlan": [], "runs": [` + c.runs + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		if c.position != "" {
			s.Position = &state.Position{}
			if err := json.Unmarshal([]byte(c.position), s.Position); err != nil {
				t.Fatal(err)
			}
		}
		a := NewAccounts(s, false)
		if got := a.Loops["l"].Cost; got != state.Dollars(c.cost) {
			t.Errorf("%s: the loop has used %s, want $%g", what, got.Text(), c.cost)
		}
		if got := a.UsedBefore(s, retry.Last(s), "e#0").Cost; got != state.Dollars(c.cost) {
			t.Errorf("%s: the codon has used %s, want $%g", what, got.Text(), c.cost)
		}
	}
}

// What a replay cost was not paid: only a run that replays counts it, so that the hank's
// budgets end what they ended, and then the ceiling of the execution is none.
func TestReplayedCostIsNotMoneySpent(t *testing.T) {
	t.Parallel()
	s, err := state.Unmarshal([]byte(strings.ReplaceAll(twoRuns, `"codonId"`, `"harness": "replay", "codonId"`)))
	if err != nil {
		t.Fatal(err)
	}
	s.Limits.MaxDollars = state.Dollar
	p := budgetHank(t, `"budget": {"maxDollars": 5}`, codonJSON("a", ""))
	whole := s.Bill()
	if whole.Cost == 0 || whole.Paid() != 0 {
		t.Errorf("%+v", whole)
	}
	calls, replays := NewAccounts(s, false), NewAccounts(s, true)
	if calls.Total.Cost != 0 || calls.Total.Time == 0 || calls.UsedBefore(s, s.Runs[0], "x#1").Cost != 0 || calls.UsedBefore(s, s.Runs[0], "x#1").Output == 0 {
		t.Errorf("a run of agents counts %+v", calls.Total)
	}
	if replays.Total.Cost != whole.Cost || replays.UsedBefore(s, s.Runs[0], "x#1").Cost == 0 {
		t.Errorf("a replay counts %+v of %+v", replays.Total, whole)
	}
	if l := calls.Limits(p, entryFor(t, p, "a"), Use{}); l.Dollars != state.Dollar {
		t.Errorf("a run of agents may spend %s", l.Dollars.Text())
	}
	if l := replays.Limits(p, entryFor(t, p, "a"), Use{}); l.Dollars != 5*state.Dollar-whole.Cost {
		t.Errorf("a replay may cost %s", l.Dollars.Text())
	}
}
