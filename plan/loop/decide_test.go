package loop

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// play decides about iterations whose ballots are given in letters: s is stop, c is
// continue, x is a ballot that cannot be counted. It returns the iteration after which
// the rule ends the loop, or -1.
func play(r Rule, iterations ...string) (ended int, last Verdict) {
	var before *Verdict
	for n, letters := range iterations {
		var ballots []Ballot
		for _, l := range letters {
			switch l {
			case 's':
				ballots = append(ballots, Ballot{Decision: Stop})
			case 'c':
				ballots = append(ballots, Ballot{Decision: Continue})
			default:
				ballots = append(ballots, Ballot{Decision: Stop, Invalid: true, Reason: "malformed"})
			}
		}
		v := r.Decide(n, before, ballots)
		if v.Decision == Stop {
			return n, v
		}
		before, last = &v, v
	}
	return -1, last
}

func TestARuleEndsItsLoop(t *testing.T) {
	t.Parallel()
	tree := Rule{Type: Plateau, Vote: ByTree}
	judge := Rule{Type: Plateau, Vote: ByJudge, Judge: "j", Consensus: 1, MinIterations: 1}
	until := Rule{Type: Command, Until: "true"}
	for name, c := range map[string]struct {
		rule       Rule
		iterations string
		ended      int
	}{
		"two in a row":                              {tree, "s s s", 1},
		"a no between them":                         {tree, "s c s s", 3},
		"only one":                                  {tree, "c c s c", -1},
		"the vote of today counts once":             {Rule{Type: Plateau, Consensus: 3}, "s s s", 2},
		"not before so many iterations":             {Rule{Type: Plateau, MinIterations: 4}, "s s s s s", 3},
		"one is enough where one is asked for":      {Rule{Type: Plateau, Consensus: 1, MinIterations: 1}, "s", 0},
		"one is enough, but not in the first":       {Rule{Type: Plateau, Consensus: 1}, "s s", 1},
		"a ballot that cannot be counted":           {Rule{Type: Plateau, Vote: ByAgent}, "s x s s", 3},
		"only ballots that cannot be counted":       {Rule{Type: Plateau, Vote: ByAgent}, "x x x x x", -1},
		"a judge":                                   {judge, "c c s", 2},
		"a judge that fails sometimes":              {judge, "x x c x x s", 5},
		"a judge that is not believed any more":     {judge, "x x x s s s", -1},
		"a judge of whom less is tolerated":         {Rule{Type: Plateau, Vote: ByJudge, Consensus: 1, MaxJudgeFailures: 1}, "x s s", -1},
		"a command in the first":                    {until, "s", 0},
		"a command in a later one":                  {until, "c x s", 2},
		"any, by its first":                         {Rule{Type: Any, Of: []Rule{tree, until}}, "sc sc", 1},
		"any, by its second":                        {Rule{Type: Any, Of: []Rule{tree, until}}, "cc cs", 1},
		"any, by none":                              {Rule{Type: Any, Of: []Rule{tree, until}}, "sc cc sc", -1},
		"all, when both are met":                    {Rule{Type: All, Of: []Rule{tree, until}}, "ss ss", 1},
		"all, when one is met":                      {Rule{Type: All, Of: []Rule{tree, until}}, "cs cs cs", -1},
		"all, as a streak outlasts a failed check":  {Rule{Type: All, Of: []Rule{tree, until}}, "sc sc sc ss", 3},
		"any with a context that gets full besides": {Rule{Type: Any, Of: []Rule{{Type: ContextExceeded}, until}}, "c s", 1},
	} {
		if ended, v := play(c.rule, strings.Fields(c.iterations)...); ended != c.ended {
			t.Errorf("%s: the loop ends after iteration %d, and not %d: %+v", name, ended, c.ended, v)
		}
	}
}

// Counting begins anew where the verdict before was about another rule, as the hank
// has changed, and in another instance of a loop, which has no verdict before.
func TestVotesOfAnotherRuleDoNotCount(t *testing.T) {
	t.Parallel()
	_, v := play(Rule{Type: Plateau, Vote: ByAgent, Consensus: 3}, "s", "s")
	if v.Votes[0].InARow != 2 {
		t.Fatal(v)
	}
	stop := []Ballot{{Decision: Stop}}
	if got := (Rule{Type: Plateau, Vote: ByTree}).Decide(2, &v, stop); got.Decision != Continue || got.Votes[0].InARow != 1 {
		t.Error("votes of another voter count:", got)
	}
	if got := (Rule{Type: Plateau, Vote: ByAgent}).Decide(0, nil, stop); got.Decision != Continue {
		t.Error("a loop begins with votes of another one:", got)
	}
	if got := (Rule{Type: Plateau, Vote: ByAgent}).Decide(2, &v, stop); got.Decision != Stop {
		t.Error("a lower consensus does not count what was said before:", got)
	}
}

// A verdict depends on the votes since the last one that was no stop, and on nothing else.
func TestAPlateauIsSoManyVotesInARow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := Rule{Type: Plateau, Vote: ByAgent, Consensus: rapid.IntRange(1, 4).Draw(t, "consensus"), MinIterations: rapid.IntRange(1, 6).Draw(t, "min")}
		votes := rapid.SliceOfN(rapid.SampledFrom([]string{"s", "c", "x"}), 1, 12).Draw(t, "votes")
		want, row := -1, 0
		for i, v := range votes {
			if row++; v != "s" {
				row = 0
			}
			if row >= r.Consensus && i+1 >= r.MinIterations {
				want = i
				break
			}
		}
		if got, _ := play(r, votes...); got != want {
			t.Fatalf("%v with %+v ends after %d, not %d", votes, r, got, want)
		}
	})
}

func TestAVerdictSaysWhyAndWho(t *testing.T) {
	t.Parallel()
	r := Rule{Type: Any, Of: []Rule{{Type: Plateau, Vote: ByJudge, Judge: "j"}, {Type: Command}}}
	v := r.Decide(0, nil, []Ballot{{Decision: Continue, Codon: "j", Reason: "two findings"}, {Decision: Stop, Reason: `"make" ended with code 0`}})
	if want := `command: stop: "make" ended with code 0`; v.Reason != want {
		t.Errorf("%q, want %q", v.Reason, want)
	}
	v = r.Decide(0, nil, []Ballot{{Decision: Continue, Codon: "j", Reason: "two findings"}, {Decision: Continue, Reason: "no"}})
	if want := "j: continue: two findings; command: continue: no"; v.Reason != want {
		t.Errorf("%q, want %q", v.Reason, want)
	}
	_, v = play(Rule{Type: Plateau, Vote: ByJudge}, "x", "x", "x")
	if !strings.Contains(v.Reason, "3rd time in a row") {
		t.Error(v.Reason)
	}
	if _, v = play(Rule{Type: Plateau, Vote: ByJudge, MaxJudgeFailures: 1}, "x", "x"); !strings.Contains(v.Reason, "no decision 1 time in a row") {
		t.Error(v.Reason)
	}
	for n, want := range map[int]string{1: "1st", 2: "2nd", 3: "3rd", 4: "4th", 11: "11th", 12: "12th", 21: "21st", 112: "112th"} {
		if got := ordinal(n); got != want {
			t.Error(got, want)
		}
	}
}

func TestAVerdictWithoutAVoterSaysWhy(t *testing.T) {
	t.Parallel()
	r := Rule{Type: Any, Of: []Rule{{Type: ContextExceeded}}}
	if v := r.Decide(0, nil, nil); v.Decision != Continue || v.Reason != "no context is full" {
		t.Errorf("%+v", v)
	}
}

func TestADecisionFileIsReadOrNamed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Ballot{
		`{"decision": "stop", "reason": "done"}`:         {Decision: Stop, Reason: "done"},
		`{"decision": "continue"}`:                       {Decision: Continue},
		` {"confidence": 1, "decision": "stop"} ` + "\n": {Decision: Stop},
		"":                          {Invalid: true, Reason: "empty"},
		"stop":                      {Invalid: true, Reason: "is not {"},
		`["stop"]`:                  {Invalid: true, Reason: "is not {"},
		`{"decision": true}`:        {Invalid: true, Reason: "is not {"},
		`{"reason": "because"}`:     {Invalid: true, Reason: `no "decision"`},
		`{"decision": "STOP"}`:      {Invalid: true, Reason: `"STOP"`},
		`{"decision": "stop"} more`: {Invalid: true, Reason: "is not {"},
		`{"decision": "stop", "decision": "continue"}`: {Invalid: true, Reason: "is not {"},
		strings.Repeat(" ", LongestDecision+1):         {Invalid: true, Reason: "more than"},
	} {
		got := ParseDecision([]byte(text))
		if got.Invalid != want.Invalid || !got.Invalid && (got.Decision != want.Decision || got.Reason != want.Reason) || !strings.Contains(got.Reason, want.Reason) {
			t.Errorf("%.60q: %+v, want %+v", text, got, want)
		}
		if got.Invalid && got.Decision != Continue {
			t.Errorf("%.60q counts as %q", text, got.Decision)
		}
	}
	long := ParseDecision(fmt.Appendf(nil, `{"decision":"stop","reason":%q}`, strings.Repeat("ä", longestReason)))
	if long.Invalid || len(long.Reason) > longestReason+5 || !strings.HasSuffix(long.Reason, "…") || strings.Contains(long.Reason, "\uFFFD") {
		t.Errorf("%d bytes: …%q", len(long.Reason), long.Reason[len(long.Reason)-20:])
	}
}

func TestTreesVoteByWhatChanged(t *testing.T) {
	t.Parallel()
	strict, loose := Rule{Type: Plateau}, Rule{Type: Plateau, MinChangedLines: 5}
	for _, c := range []struct {
		d             Difference
		strict, loose Decision
	}{
		{Difference{}, Stop, Stop},
		{Difference{Files: 1, Lines: 4}, Continue, Stop},
		{Difference{Files: 1, Lines: 5}, Continue, Continue},
		{Difference{Files: 2, Lines: 1, Uncounted: 1}, Continue, Continue}, // a binary file: nobody knows how much
	} {
		if a, b := c.d.Ballot(strict).Decision, c.d.Ballot(loose).Decision; a != c.strict || b != c.loose {
			t.Errorf("%+v: %s and %s, want %s and %s", c.d, a, b, c.strict, c.loose)
		}
	}
}

// A vote does not deny a change that was ignored.
func TestAVoteTellsThatChangesWereIgnored(t *testing.T) {
	t.Parallel()
	if got := (Difference{}).Ballot(Rule{Type: Plateau, Ignore: []string{"*.log"}}); got.Decision != Stop || !strings.HasSuffix(got.Reason, "but for those that the rule ignores") {
		t.Errorf("%+v", got)
	}
	if got := (Difference{}).Ballot(Rule{Type: Plateau}); got.Reason != "no tracked file has changed" {
		t.Errorf("%+v", got)
	}
}

func TestWhoIsAsked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule Rule
		want string
	}{
		{Rule{Type: Plateau, Vote: ByAgent}, "b"},
		{Rule{Type: Plateau, Vote: ByJudge, Judge: "a"}, "a"},
		{Rule{Type: Plateau, Vote: ByTree}, ""},
		{Rule{Type: Command}, ""},
		{Rule{Type: IterationLimit}, ""},
	} {
		if got := c.rule.Asked("b"); got != c.want {
			t.Errorf("%+v asks %q, want %q", c.rule, got, c.want)
		}
	}
}
