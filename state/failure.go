package state

import "github.com/go-json-experiment/json/jsontext"

// FailureType is the coarse class of a failure, as the documented shape of
// state.json names them.
type FailureType string

// The failure types.
const (
	FailTimeout      FailureType = "timeout"
	FailRateLimit    FailureType = "rate-limit"
	FailAPI          FailureType = "api-error"
	FailSentinelLoad FailureType = "sentinel-load-failure"
	FailUnknown      FailureType = "unknown"
)

// InterruptedByBudget: a limit with "onExceeded": "pause" has ended the attempt. It is
// continued once the limit is raised.
const InterruptedByBudget = "budget"

// FailureReason says why a codon failed and whether trying again can help.
type FailureReason struct {
	Type         FailureType `json:"type"`
	Retriable    bool        `json:"retriable"`
	Message      string      `json:"message,omitempty"`
	SentinelRefs []string    `json:"sentinelRefs,omitempty"`
	RetryAfterMs int64       `json:"retryAfterMs,omitzero"`
	// ResetsAt, additive, is when the provider's limit ends, or where that is not known
	// when the next attempt is made.
	ResetsAt *Time `json:"resetsAt,omitempty"`
	// Class is the fine class (auth, billing, rate_limit, overloaded,
	// context_overflow, max_output, refusal, budget, permission_denied,
	// unreachable, interrupted, protocol, session_not_found, exit, rig, skip_if,
	// expectation, silent, timeout, outputs, …), and Rule names the evidence that decided. Both are hank's
	// additions.
	Class string `json:"class,omitempty"`
	Rule  string `json:"rule,omitempty"`

	Unknown jsontext.Value `json:",embed"`
}

// What interrupted a codon that is failed though its agent did not fail.
const (
	InterruptedByCrash  = "crash"
	InterruptedBySignal = "signal"
	InterruptedByStop   = "stop"
	InterruptedByPause  = "pause" // hank itself could not continue
	// InterruptedByRefusal: its provider refused the key or the model, which no
	// waiting changes.
	InterruptedByRefusal = "refusal"
	// InterruptedByLimit: its provider does not answer for now. The run waits until the
	// failure's ResetsAt, and then continues the attempt.
	InterruptedByLimit = "usage_limit"
	// InterruptedByFallback: its provider did not let it work, and the next attempt works
	// with the next model of the codon's fallback.
	InterruptedByFallback = "fallback"
)
