package plan

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"hank/internal/pattern"
	"hank/plan/diagnostic"
	"hank/plan/steps"
)

// Gate is a place in the plan that a person has to let the run pass: hank's addition.
// It is never changed.
type Gate struct {
	ID      string   `json:"id"`
	When    GateWhen `json:"when"`
	Kind    GateKind `json:"kind"`
	Summary string   `json:"summary"` // what the person is asked
	// Artifact is the file or directory to look at, relative to the workspace.
	Artifact string `json:"artifact,omitzero"`
	// ExpiresAfter is how many seconds an answer is waited for; 0 is for ever.
	ExpiresAfter float64        `json:"expiresAfter,omitzero"`
	Unknown      jsontext.Value `json:",embed"`
}

// GateWhen says on which side of its codon or loop a gate is.
type GateWhen string

// The sides.
const (
	Before GateWhen = "before"
	After  GateWhen = "after"
)

// GateKind says what a gate asks for.
type GateKind string

// The kinds.
const (
	Approve GateKind = "approve" // yes or no
	Reply   GateKind = "reply"   // yes with words, or no
)

// Expiry is how long an answer is waited for; 0 is for ever.
func (g *Gate) Expiry() time.Duration {
	if g.ExpiresAfter <= 0 {
		return 0
	}
	return steps.Seconds(g.ExpiresAfter)
}

// Asks reports whether two gates ask a person for the same. How long they wait may differ: an open request is made again for that.
func (g *Gate) Asks(o *Gate) bool {
	return g.ID == o.ID && g.When == o.When && g.Kind == o.Kind && g.Summary == o.Summary && g.Artifact == o.Artifact
}

// longestSummary is how many bytes a summary may have: it is shown in one piece.
const longestSummary = 2000

// gate is the gate of the place; nil: it has none.
func (p place) gate() *Gate {
	if p.loop != nil {
		return p.loop.Gate
	}
	return p.codon.Gate
}

// gateRules reports what is wrong with the gates of the hank beyond their fields.
func (h *Hank) gateRules(out *diagnostic.Reporter) {
	ids := map[string]string{}
	for _, p := range h.places {
		g, at := p.gate(), p.pointer+"/gate"
		if g == nil {
			continue
		}
		if first, twice := ids[g.ID]; twice && g.ID != "" {
			h.report(out, at+"/id", "duplicate-gate", "give each gate its own id", "duplicate gate id %q (first used at %s)", g.ID, first)
		} else {
			ids[g.ID] = at
		}
		switch {
		case g.Summary != "" && strings.TrimSpace(g.Summary) == "":
			h.report(out, at+"/summary", "bad-value", "say in one sentence what is to be judged", "the summary is blank")
		case len(g.Summary) > longestSummary || !utf8.ValidString(g.Summary):
			h.report(out, at+"/summary", "bad-value", "put the details into a file and name it as artifact", "the summary has %d bytes; it may have %d", len(g.Summary), longestSummary)
		}
		if g.Artifact != "" {
			if why := pattern.BadPath(g.Artifact); why != "" {
				h.report(out, at+"/artifact", "bad-path", "name a file or directory relative to the workspace", "%q %s", g.Artifact, why)
			}
		}
	}
}
