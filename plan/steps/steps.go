package steps

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Condition is a question about the workspace. It holds if all of its parts do; one
// without parts is invalid in hank.json.
type Condition struct {
	Files   []string       `json:"files,omitzero"` // each pattern gives a file
	Command *Command       `json:"command,omitzero"`
	Unknown jsontext.Value `json:",embed"`
}

// Expectation is what must be there when a codon has done its work.
type Expectation struct {
	Files   []string       `json:"files,omitzero"`   // each pattern gives a file
	Marker  string         `json:"marker,omitzero"`  // the agent's last message has it
	Command *Command       `json:"command,omitzero"` // ends with code 0
	Unknown jsontext.Value `json:",embed"`
}

// Command is a line for the system shell, in the workspace.
type Command struct {
	Run            string         `json:"run"`
	TimeoutSeconds float64        `json:"timeoutSeconds,omitzero"`
	Unknown        jsontext.Value `json:",embed"`
}

// Kind is a kind of failure: the class of a failure's reason, or Any.
type Kind string

// Kinds are those that a rule can name: after any other, no attempt can end otherwise.
var Kinds = []Kind{
	"rate_limit", "usage_limit", "overloaded", "unreachable", "timeout", "silent", "max_output", "interrupted", "protocol", "exit",
	"rig", "skip_if", "expectation", "outputs", "gate", "unknown",
}

// OnExhausted says how a run ends whose codon has failed and has no retry left.
type OnExhausted string

// The ends. An empty one is Fail.
const (
	Fail  OnExhausted = "fail"
	Pause OnExhausted = "pause" // hank run continues, with all retries again
)

// OnLimit says what follows when a provider cannot answer for a while: its usage limit is
// reached, it is overloaded, or the network is lost.
type OnLimit string

// Wait is to wait, and then to continue the attempt; an empty one is Wait. The other answer
// is fail.
const Wait OnLimit = "wait"

// OnStuck says what follows when an agent shows no sign of life for as long as its idle
// timeout.
type OnStuck string

// The answers. The other one, stop, is that of an empty one: the attempt ends, and has failed.
const (
	ReportStuck OnStuck = "report" // it is said, and the agent goes on
	RetryStuck  OnStuck = "retry"  // the attempt ends, and is made again whatever onFailure says
)

// LongestWait is how long a limit is waited out where nothing else is said.
const LongestWait = 6 * time.Hour

// Names reports whether a rule names a kind.
func (r *Retries) Names(kind Kind) bool { return r != nil && ruleFor(kind, r.Rules) >= 0 }

// Retries tune how a codon is tried again: retryConfig. Absent values have defaults, see
// Policy.
type Retries struct {
	MaxAttempts int            `json:"maxAttempts,omitzero"`
	DelayMs     *int           `json:"delayMs,omitzero"`
	MaxDelayMs  *int           `json:"maxDelayMs,omitzero"`
	Jitter      *float64       `json:"jitter,omitzero"` // hank's addition, as those below
	OnExhausted OnExhausted    `json:"onExhausted,omitzero"`
	Rules       []Rule         `json:"rules,omitzero"`
	Unknown     jsontext.Value `json:",embed"`
}

// Rule tunes the retries after failures of some kinds. What it does not say is as
// retryConfig has it. Its retries are counted apart from all others.
type Rule struct {
	On          []Kind         `json:"on"`
	MaxAttempts *int           `json:"maxAttempts,omitzero"`
	DelayMs     *int           `json:"delayMs,omitzero"`
	MaxDelayMs  *int           `json:"maxDelayMs,omitzero"`
	OnExhausted OnExhausted    `json:"onExhausted,omitzero"`
	Unknown     jsontext.Value `json:",embed"`
}

// Policy is how a codon is tried again after failures of one kind.
type Policy struct {
	Rule    int // its index; -1: no rule names the kind
	Retries int
	Delay   time.Duration // before the first; it doubles with each
	Longest time.Duration
	Jitter  float64 // the largest part of the delay that is added by chance
	Pause   bool    // the run is paused when they are used up
}

// Policy is that for a kind: what the first rule that names it says, and else what r says.
// r may be nil.
func (r *Retries) Policy(kind Kind) Policy {
	p := Policy{Rule: -1, Retries: 3, Delay: time.Second, Longest: time.Minute, Jitter: 0.25}
	if r == nil {
		return p
	}
	if r.MaxAttempts > 0 {
		p.Retries = r.MaxAttempts
	}
	if r.Jitter != nil {
		p.Jitter = *r.Jitter
	}
	p.set(r.DelayMs, r.MaxDelayMs, r.OnExhausted)
	i := ruleFor(kind, r.Rules)
	if i < 0 {
		return p
	}
	rule := r.Rules[i]
	if p.Rule = i; rule.MaxAttempts != nil {
		p.Retries = *rule.MaxAttempts
	}
	p.set(rule.DelayMs, rule.MaxDelayMs, rule.OnExhausted)
	return p
}

// set sets what is given.
func (p *Policy) set(delay, longest *int, end OnExhausted) {
	if delay != nil {
		p.Delay = time.Duration(*delay) * time.Millisecond
	}
	if longest != nil {
		p.Longest = time.Duration(*longest) * time.Millisecond
	}
	if end != "" {
		p.Pause = end == Pause
	}
}

// ruleFor is the index of the first rule that names a kind; -1 if none does.
func ruleFor(kind Kind, rules []Rule) int {
	for i, r := range rules {
		for _, on := range r.On {
			if on == kind {
				return i
			}
		}
	}
	return -1
}

// Seconds converts a number of seconds. Above 0 it is at least the shortest duration, as 0 is
// no limit; what does not fit is the longest one.
func Seconds(s float64) time.Duration {
	const longest = 1<<63 - 1
	switch d := s * float64(time.Second); {
	case d >= longest:
		return longest
	case d > 0:
		return max(1, time.Duration(d))
	}
	return 0
}
