package shell

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"hank/runtime/harness"
	"hank/state"
)

// reader implements harness.Reader.
type reader struct {
	session    string
	begun      bool
	out, err   harness.Tail
	last       string // last line that is no report and not blank
	printed    string // the last on standard output
	usage      harness.Usage
	exceeded   bool
	retryAfter time.Duration
	limited    bool // a provider that the script asks refuses more requests for now
}

// Plain implements harness.Plain.
func (*reader) Plain() {}

// maxLine bounds how much of one line becomes a message, in bytes.
const maxLine = 64 << 10

// Line implements harness.Reader.
func (r *reader) Line(line []byte) []harness.Observation {
	if report, ok := bytes.CutPrefix(line, []byte("::hank ")); ok {
		if o, ok := r.report(string(report)); ok {
			return r.begin(o...)
		}
	}
	r.out.Add(line)
	said := r.message(line)
	if said != nil {
		r.printed = r.last
	}
	return r.begin(said...)
}

// Stderr implements harness.Reader. What a program prints there is as much a
// part of its story as the rest.
func (r *reader) Stderr(line []byte) []harness.Observation {
	r.err.Add(line)
	return r.begin(r.message(line)...)
}

func (r *reader) message(line []byte) []harness.Observation {
	text := harness.Excerpt(string(line), maxLine)
	if text == "" {
		return nil
	}
	r.last = text
	return []harness.Observation{harness.Message{Text: text}}
}

// begin puts the session before the first observation.
func (r *reader) begin(o ...harness.Observation) []harness.Observation {
	if r.begun {
		return o
	}
	r.begun = true
	return append([]harness.Observation{harness.SessionStarted{ID: r.session, Model: Name}}, o...)
}

// report reads what follows "::hank ".
func (r *reader) report(report string) ([]harness.Observation, bool) {
	verb, rest, _ := strings.Cut(strings.TrimSpace(report), " ")
	rest = strings.TrimSpace(rest)
	switch verb {
	case "usage":
		if !r.addUsage(rest) {
			return nil, false
		}
		return []harness.Observation{r.usage}, true
	case "context-exceeded":
		r.exceeded = true
		return []harness.Observation{harness.ContextExceeded{Message: harness.Excerpt(rest, harness.MaxMessage)}}, true
	case "retry-after":
		seconds, err := strconv.ParseFloat(rest, 64)
		if err != nil || !(seconds > 0 && seconds <= 3600) {
			return nil, false
		}
		r.retryAfter = time.Duration(seconds * float64(time.Second))
		return nil, true
	case "usage-limit": // with the seconds to its end, where they are known
		seconds, err := strconv.ParseFloat(rest, 64)
		if rest != "" && (err != nil || !(seconds > 0 && seconds <= 30*24*3600)) {
			return nil, false
		}
		r.limited = true
		if rest != "" {
			r.retryAfter = time.Duration(seconds * float64(time.Second))
		}
		return nil, true
	default:
		return nil, false
	}
}

// What one report may add: sums of nonsense must not overflow.
const (
	maxTokens = 1e12
	maxCost   = 1e6 * state.Dollar
)

func (r *reader) addUsage(text string) bool {
	var u struct {
		Model         string    `json:"model"`
		Input         int64     `json:"inputTokens"`
		Output        int64     `json:"outputTokens"`
		CacheCreation int64     `json:"cacheCreationTokens"`
		CacheRead     int64     `json:"cacheReadTokens"`
		CostUSD       state.USD `json:"costUSD"`
		Context       int64     `json:"context"`
	}
	if err := json.Unmarshal([]byte(text), &u); err != nil {
		return false
	}
	for _, n := range []int64{u.Input, u.Output, u.CacheCreation, u.CacheRead, u.Context} {
		if n < 0 || n > maxTokens {
			return false
		}
	}
	if u.CostUSD < 0 || u.CostUSD > maxCost {
		return false
	}
	if u.Model != "" {
		r.usage.Model = u.Model
	}
	r.usage.Tokens = r.usage.Tokens.Add(state.Tokens{
		Input: u.Input, Output: u.Output, CacheCreation: u.CacheCreation, CacheRead: u.CacheRead,
	})
	r.usage.Cost += u.CostUSD
	r.usage.Priced = true
	if u.Context > 0 {
		r.usage.Context = u.Context
	}
	return true
}

// End implements harness.Reader.
func (r *reader) End(exitCode int, signal string) harness.Verdict {
	v := harness.Verdict{
		Success: exitCode == 0,
		// A program's exit status is its own word on how it went.
		ResultSeen:      exitCode >= 0,
		ContextExceeded: r.exceeded,
		Session:         r.session,
		Text:            cmp.Or(r.printed, r.last), // which of two pipes is read first is chance
		Usage:           r.usage,
	}
	if !v.Success {
		v.Failure = r.failure(exitCode, signal)
	}
	return v
}

// exTempfail is EX_TEMPFAIL of BSD's sysexits.h: the code with which a program reports that
// it failed for a reason that will pass.
const exTempfail = 75

func (r *reader) failure(exitCode int, signal string) *state.FailureReason {
	f := &state.FailureReason{
		Type:         state.FailUnknown,
		Retriable:    true, // a script says what went wrong, not whether it will again
		RetryAfterMs: r.retryAfter.Milliseconds(),
		Class:        harness.ClassExit,
		Rule:         fmt.Sprintf("exit:%d", exitCode),
	}
	what := fmt.Sprintf("the script ended with exit status %d", exitCode)
	switch {
	case exitCode < 0:
		f.Class, f.Rule = harness.ClassInterrupted, "signal:"+signal
		what = "the script was ended by " + signal
	case exitCode == exTempfail:
		what += " (temporary failure)"
	case exitCode == 126:
		what += " (a command could not be executed)"
	case exitCode == 127:
		what += " (a command was not found)"
	}
	if r.limited && exitCode > 0 {
		f.Type, f.Class, f.Rule = state.FailRateLimit, harness.ClassUsageLimit, "report:usage-limit"
	}
	said := r.err.String()
	if said == "" {
		said = r.out.String()
	}
	if said != "" {
		what += ": " + lastLines(said, 10)
	}
	f.Message = harness.Excerpt(what, harness.MaxMessage)
	return f
}

// lastLines returns the last n lines of a text.
func lastLines(text string, n int) string {
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
