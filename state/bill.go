package state

// HarnessReplay is the harness in the record of an attempt that was replayed.
const HarnessReplay = "replay"

// HarnessNoop is the harness in the record of an attempt that did nothing.
const HarnessNoop = "noop"

// Replayed reports whether no agent has worked in the attempt: it was played from a
// recording, or did nothing.
func (c *Codon) Replayed() bool { return c.Harness == HarnessReplay || c.Harness == HarnessNoop }

// DidNothing reports whether the attempt was one of --noop.
func (c *Codon) DidNothing() bool { return c.Harness == HarnessNoop }

// Bill is what the attempt cost, its sentinels included.
func (c *Codon) Bill() Bill {
	b := Bill{Cost: c.Cost()}
	if c.Sentinels != nil {
		b.Cost += c.Sentinels.TotalCost
	}
	if c.Replayed() {
		b.Replayed = b.Cost
	}
	return b
}

// Bill is the sum of a run's records.
func (r *Run) Bill() (sum Bill) {
	for i := range r.Len() {
		sum = sum.Plus(r.Codon(i).Bill())
	}
	return sum
}

// Bill is what all runs cost, abandoned lineage paths included: money spent stays spent.
func (s *State) Bill() (sum Bill) {
	for _, r := range s.Runs {
		sum = sum.Plus(r.Bill())
	}
	return sum
}
