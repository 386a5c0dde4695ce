package state

// Redact returns a transition with its free texts (why something failed, notes,
// labels) as change returns them; a transition that this leaves as it is, itself.
// What others refer to (ids, paths, names of codons) is not changed.
func Redact(t Transition, change func(string) string) Transition {
	changed := false
	redacted := redact(t, func(text string) string {
		next := change(text)
		changed = changed || next != text
		return next
	})
	if !changed {
		return t
	}
	return redacted
}

func redact(t Transition, change func(string) string) Transition {
	switch t := t.(type) {
	case RunStarted:
		run := *t.Run
		run.Note, run.Labels = change(run.Note), mapValues(run.Labels, change)
		run.Operation = run.Operation.redact(change)
		t.Run = &run
		return t
	case RunFailed:
		t.Detail = change(t.Detail)
		return t
	case RunPaused:
		t.Detail = change(t.Detail)
		return t
	case RunCrashed:
		t.Detail = change(t.Detail)
		return t
	case CodonStarted:
		t.Record = t.Record.redact(change)
		return t
	case CodonTransitioned:
		t.Record = t.Record.redact(change)
		return t
	case SentinelsUpdated:
		t.Sentinels = t.Sentinels.Redact(change)
		return t
	case OperationAnswered:
		t.Operation = *t.Operation.redact(change)
		return t
	case IterationJudged:
		t.Judgement = t.Judgement.redact(change)
		return t
	case CheckpointCreated:
		t.Note = change(t.Note)
		return t
	}
	return redactGate(t, change)
}

func (c *Codon) redact(change func(string) string) *Codon {
	next := *c
	next.encoded = nil
	next.FailureReason, next.SkipReason = c.FailureReason.redact(change), change(c.SkipReason)
	next.Decision, next.Sentinels = redactBallot(c.Decision, change), c.Sentinels.Redact(change)
	if c.Settling != nil {
		s := *c.Settling
		s.FailureReason = s.FailureReason.redact(change)
		next.Settling = &s
	}
	if c.Notes != nil {
		next.Notes = make([]string, len(c.Notes))
		for i, n := range c.Notes {
			next.Notes[i] = change(n)
		}
	}
	return &next
}

func (f *FailureReason) redact(change func(string) string) *FailureReason {
	if f == nil {
		return nil
	}
	next := *f
	next.Message = change(f.Message)
	return &next
}

func mapValues(m map[string]string, change func(string) string) map[string]string {
	if m == nil {
		return nil
	}
	next := make(map[string]string, len(m))
	for name, value := range m {
		next[name] = change(value)
	}
	return next
}
