package breaker

import (
	"fmt"
	"time"
)

// View is an open breaker as readers see it.
type View struct {
	Provider string    `json:"provider"`
	BaseURL  string    `json:"baseUrl,omitempty"`
	Class    string    `json:"class"` // rate_limit, usage_limit, overloaded
	Since    time.Time `json:"since"`
	Until    time.Time `json:"until"` // from then on one attempt is let through
	SeenBy   Seen      `json:"seenBy"`
	Probe    *Seen     `json:"probe,omitempty"` // who asks at the moment whether it is over

	says string
}

// Seen is an attempt of an execution, which need not be the one that is looked at.
type Seen struct {
	Execution string    `json:"execution"`
	RunID     string    `json:"runId"`
	CodonID   string    `json:"codonId"`
	At        time.Time `json:"at"`
}

// short is a time as all output has times.
func short(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

func seen(h Holder, at time.Time) Seen { return Seen{h.Execution, h.Run, h.Codon, short(at)} }

// ViewOf is a breaker as readers see it.
func ViewOf(b Breaker) View {
	v := View{Provider: b.Provider, BaseURL: b.BaseURL, Class: b.Class, Since: short(b.Since), Until: short(b.Until), SeenBy: seen(b.By, b.Last), says: b.says()}
	if b.Probe != nil {
		by := seen(b.Probe.By, b.Probe.Since)
		v.Probe = &by
	}
	return v
}

// Text is the breaker in words.
func (v View) Text(now time.Time) string {
	switch {
	case v.Probe != nil:
		return fmt.Sprintf("%s; run %s (codon %s) of %s asks now whether it is over", v.says, v.Probe.RunID, v.Probe.CodonID, v.Probe.Execution)
	case now.Before(v.Until):
		return fmt.Sprintf("%s; runs wait until %s, and then one asks whether it is over", v.says, v.Until.Local().Format(time.DateTime))
	}
	return v.says + "; the next run asks whether it is over"
}
