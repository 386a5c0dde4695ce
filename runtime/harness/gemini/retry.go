package gemini

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"hank/internal/lazyregexp"
	"hank/runtime/harness"
	"hank/state"
)

// What the agent says on its standard error when a request has failed: the number of the
// try, perhaps the status, then the error, which can have several lines, and whether and
// when it tries again.
var (
	tryFailed  = lazyregexp.New(`^Attempt (\d{1,6}) failed(?: with (?:status )?(\d{3})[^.:]*)?[.:]?\s*(.*)$`)
	tryAfter   = lazyregexp.New(`\.? ?Retrying after (\d{1,9})ms\.*`)
	tryBackoff = lazyregexp.New(`Retrying with backoff\.*\s*`)
)

const tryLast = "Max attempts reached"

// patience is how long the agent may wait for its provider in the middle of a request. It
// tries ten times, and takes its time from the provider, which may say minutes.
const patience = 3 * time.Minute

// trying follows the tries of a request.
type trying struct {
	now     func() time.Time
	since   time.Time // when the first of them failed; zero: none did
	attempt int       // that has failed, and whose error is not told yet; 0: none
	status  int
	text    string // of its error
}

// over is told that the agent went on.
func (t *trying) over() { t.since, t.attempt = time.Time{}, 0 }

// line reads a line of the standard error.
func (t *trying) line(line, remedy string, begun bool) []harness.Observation {
	if m := tryFailed.FindStringSubmatch(line); m != nil {
		t.attempt, _ = strconv.Atoi(m[1])
		t.status, _ = strconv.Atoi(m[2])
		t.text, line = "", m[3]
		if t.since.IsZero() {
			t.since = t.now()
		}
	}
	if t.attempt == 0 {
		return nil
	}
	if len(t.text) < harness.MaxMessage {
		t.text += line + "\n"
	}
	after := tryAfter.FindStringSubmatch(line)
	switch {
	case after != nil:
		ms, _ := strconv.Atoi(after[1])
		return t.again(time.Duration(ms)*time.Millisecond, remedy, begun)
	case tryBackoff.MatchString(line):
		return t.again(0, remedy, begun)
	case strings.Contains(line, tryLast):
		t.attempt = 0
	}
	return nil
}

// again tells that the agent tries once more.
func (t *trying) again(after time.Duration, remedy string, begun bool) []harness.Observation {
	text := tryAfter.ReplaceAllString(tryBackoff.ReplaceAllString(t.text, ""), "")
	f := failure(strings.TrimSpace(text), report{status: t.status}, begun)
	retrying := harness.Retrying{Attempt: t.attempt, After: after, Why: f.Message, Class: f.Class}
	if t.status != 0 && strings.TrimSpace(text) == "" {
		retrying.Why = fmt.Sprintf("HTTP %d", t.status)
	}
	t.attempt = 0
	if harness.Refused(f) {
		f.Message = harness.Excerpt(f.Message+"; "+remedy, harness.MaxMessage)
		retrying.Refused = f
		return []harness.Observation{retrying}
	}
	if waited := t.now().Sub(t.since); waited+after >= patience {
		retrying.GivenUp = givenUp(f, waited, retrying)
	}
	return []harness.Observation{retrying}
}

// givenUp is the reason of the failure of an agent that waits too long. It would not wait
// for what waiting cannot change.
func givenUp(f *state.FailureReason, waited time.Duration, r harness.Retrying) *state.FailureReason {
	switch f.Class {
	case harness.ClassUnknown:
		f.Class, f.Type = harness.ClassUnreachable, state.FailAPI
	case harness.ClassBilling:
		f.Class, f.Type = harness.ClassRateLimit, state.FailRateLimit
	}
	f.Rule, f.Retriable = "stderr:"+f.Rule, true
	f.RetryAfterMs = max(f.RetryAfterMs, r.After.Milliseconds())
	f.Message = harness.Excerpt(fmt.Sprintf("the agent has waited %s for its provider and would wait %s more: %s",
		waited.Round(time.Second), r.After.Round(time.Second), r.Why), harness.MaxMessage)
	return f
}
