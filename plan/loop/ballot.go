package loop

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
)

// The longest file and reason that are taken, in bytes. A reason that is longer is cut.
const (
	LongestDecision = 64 << 10
	longestReason   = 2000
)

// ParseDecision reads what a codon has written to the file that HANK_DECISION names:
// {"decision": "stop"|"continue", "reason": …}. Unknown members are left alone. What
// cannot be read is an invalid ballot that says why.
func ParseDecision(text []byte) Ballot {
	var d struct {
		Decision *string `json:"decision"`
		Reason   string  `json:"reason"`
	}
	switch {
	case len(text) > LongestDecision:
		return invalid("the decision file has more than %d bytes", LongestDecision)
	case strings.TrimSpace(string(text)) == "":
		return invalid("the decision file is empty")
	}
	if err := json.Unmarshal(text, &d); err != nil {
		return invalid(`the decision file is not {"decision": "stop" or "continue", "reason": "…"}`)
	}
	switch {
	case d.Decision == nil:
		return invalid(`the decision file has no "decision"`)
	case *d.Decision != string(Stop) && *d.Decision != string(Continue):
		return invalid(`the decision in the decision file is %q, not "stop" or "continue"`, Shorten(*d.Decision))
	}
	return Ballot{Decision: Decision(*d.Decision), Reason: Shorten(d.Reason)}
}

// NoDecision is the ballot of a codon that has written none.
func NoDecision() Ballot { return invalid("no decision file was written") }

func invalid(format string, args ...any) Ballot {
	return Ballot{Decision: Continue, Invalid: true, Reason: fmt.Sprintf(format, args...)}
}

// Shorten is a reason as it is recorded.
func Shorten(reason string) string {
	reason = strings.TrimSpace(strings.ToValidUTF8(reason, "\uFFFD"))
	if len(reason) <= longestReason {
		return reason
	}
	cut := longestReason
	for !utf8.RuneStart(reason[cut]) {
		cut--
	}
	return reason[:cut] + "…"
}

// Difference is how the tracked files of two iterations differ, without those that do not
// count.
type Difference struct {
	Files int // that differ
	Lines int // added and deleted
	// Uncounted are files among them whose lines cannot be counted, or none of whose lines
	// differ: binary ones, and changed modes.
	Uncounted int
}

// Ballot is what the trees say: stop where nothing differs, or only fewer lines than the
// rule's minChangedLines.
func (d Difference) Ballot(r Rule) Ballot {
	switch {
	case d.Files == 0 && len(r.Ignore) > 0:
		return Ballot{Decision: Stop, Reason: "no tracked file has changed, but for those that the rule ignores"}
	case d.Files == 0:
		return Ballot{Decision: Stop, Reason: "no tracked file has changed"}
	case d.Uncounted > 0:
		return Ballot{Decision: Continue, Reason: fmt.Sprintf("%s changed, not only in lines of text", count(d.Files, "file"))}
	case d.Lines < r.MinChangedLines:
		return Ballot{Decision: Stop, Reason: fmt.Sprintf("%s changed, fewer than %d", count(d.Lines, "line"), r.MinChangedLines)}
	}
	return Ballot{Decision: Continue, Reason: count(d.Lines, "line") + " changed in " + count(d.Files, "file")}
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
