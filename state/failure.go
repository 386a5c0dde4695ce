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
