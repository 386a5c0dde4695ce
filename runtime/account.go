package runtime

import (
	"strings"
	"time"

	"hank/plan"
	"hank/state"
)

// accounts are what everything has used so far: every attempt in every run,
// however it ended, for money that was spent is gone. A rollback or a skip
// gives nothing back. The time is that in which codons were at work.
type accounts struct {
	codons map[place]account
	loops  map[plan.CodonID]account // of all codons that ran in a loop
	total  account
}

// place is where a codon stands in the hank, all iterations of a loop in one.
type place struct {
	loop  plan.CodonID // empty on the top level
	codon plan.CodonID
}

type account struct {
	cost state.USD
	time time.Duration
}

func (a account) plus(cost state.USD, t time.Duration) account {
	return account{a.cost + max(0, cost), a.time + max(0, t)}
}

// newAccounts reads all records of a state that are final.
func newAccounts(s *state.State) *accounts {
	a := &accounts{codons: map[place]account{}, loops: map[plan.CodonID]account{}}
	for _, run := range s.Runs {
		for i := range run.Len() {
			if c := run.Codon(i); c.Status.Terminal() {
				a.add(c)
			}
		}
	}
	return a
}

// add takes in a record that has become final.
func (a *accounts) add(c *state.Codon) {
	cost, took := c.Cost(), time.Duration(0)
	if c.EndTime != nil {
		took = c.EndTime.Sub(c.StartTime.Time)
	}
	at := place{codon: c.CodonID}
	if l := c.LoopContext; l != nil {
		at = place{l.LoopID, baseID(c.CodonID)}
		a.loops[l.LoopID] = a.loops[l.LoopID].plus(cost, took)
	}
	a.codons[at] = a.codons[at].plus(cost, took)
	a.total = a.total.plus(cost, took)
}

// baseID is the id in hank.json of an iteration: review of review#0.
func baseID(id plan.CodonID) plan.CodonID {
	if at := strings.LastIndexByte(string(id), '#'); at >= 0 {
		return id[:at]
	}
	return id
}

// chain is what the earlier attempts at a codon in the same run have used: its
// own limits hold for all of them together.
func chain(run *state.Run, id plan.CodonID) usage {
	var u usage
	for i := run.Len() - 1; i >= 0 && run.Codon(i).CodonID == id; i-- {
		c := run.Codon(i)
		if !c.Status.Terminal() {
			continue
		}
		u.Cost += max(0, c.Cost())
		u.Output += max(0, c.TokenCount().Output)
		if c.EndTime != nil {
			u.Time += max(0, c.EndTime.Sub(c.StartTime.Time))
		}
	}
	return u
}
