package variables

import (
	"strings"

	"hank/plan/frontmatter"
)

// What a codon of a loop may ask for besides.
const (
	ProgressPlaceholder = "<%PROGRESS_FILE%>"
	progressVariable    = "HANK_PROGRESS_FILE"
	DecisionPlaceholder = "<%DECISION_FILE%>"
	decisionVariable    = "HANK_DECISION"
)

// Mentioned is what a text asks for, and how long it is without comments.
type Mentioned struct {
	Progress, Decision       bool // by a placeholder
	AnyProgress, AnyDecision bool // by a placeholder or a variable
	Measured
}

// MentionedIn looks at a text.
func MentionedIn(text string) Mentioned {
	m := Mentioned{Progress: strings.Contains(text, ProgressPlaceholder), Decision: strings.Contains(text, DecisionPlaceholder), Measured: Measure(frontmatter.WithoutComments(text))}
	m.AnyProgress = m.Progress || strings.Contains(text, progressVariable)
	m.AnyDecision = m.Decision || strings.Contains(text, decisionVariable)
	return m
}

// Mentions are those of texts that many codons are given, by a name of the text. Each is
// looked at once.
type Mentions map[string]Mentioned

// Of looks at a text, the first time.
func (m Mentions) Of(name string, text func() string) Mentioned {
	found, seen := m[name]
	if !seen {
		found = MentionedIn(text())
		m[name] = found
	}
	return found
}
