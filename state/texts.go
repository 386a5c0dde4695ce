package state

// MapTexts returns a transition whose free texts (why something failed, notes,
// what a person wrote) were changed; of a transition without any, itself. What
// others refer to (ids, paths, names of codons) stays.
func MapTexts(t Transition, change func(string) string) Transition {
	changed := false
	mapped := mapTexts(t, func(text string) string {
		next := change(text)
		changed = changed || next != text
		return next
	})
	if !changed {
		return t
	}
	return mapped
}

func mapTexts(t Transition, change func(string) string) Transition {
	switch t := t.(type) {
	case RunStarted:
		run := *t.Run
		run.Note, run.Labels = change(run.Note), mapValues(run.Labels, change)
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
		t.Record = t.Record.mapTexts(change)
		return t
	case CodonTransitioned:
		t.Record = t.Record.mapTexts(change)
		return t
	case CheckpointCreated:
		t.Note = change(t.Note)
		return t
	}
	return t
}

func (c *Codon) mapTexts(change func(string) string) *Codon {
	next := *c
	next.encoded = nil
	next.FailureReason = c.FailureReason.mapTexts(change)
	if c.Settling != nil {
		s := *c.Settling
		s.FailureReason = s.FailureReason.mapTexts(change)
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

func (f *FailureReason) mapTexts(change func(string) string) *FailureReason {
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
