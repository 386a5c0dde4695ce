package harness

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"hank/internal/lazyregexp"
	"hank/state"
)

// The fine classes of failures, as FailureReason.Class stores them.
const (
	ClassAuth             = "auth"
	ClassBilling          = "billing"
	ClassRateLimit        = "rate_limit"
	ClassUsageLimit       = "usage_limit" // the share of a subscription is used up until a time to come
	ClassOverloaded       = "overloaded"  // the provider's own errors, 5xx
	ClassUnreachable      = "unreachable"
	ClassTimeout          = "timeout"
	ClassInvalidRequest   = "invalid_request" // a model or parameter that the provider refuses
	ClassContextOverflow  = "context_overflow"
	ClassMaxOutput        = "max_output"
	ClassRefusal          = "refusal"
	ClassBudget           = "budget" // a limit of turns or money that the agent itself was given
	ClassPermissionDenied = "permission_denied"
	ClassInterrupted      = "interrupted"
	ClassProtocol         = "protocol" // the agent did not keep to its own protocol, or exited without a result
	ClassSessionNotFound  = "session_not_found"
	ClassExit             = "exit"
	ClassUnknown          = "unknown"
)

// Evidence is what is known about a failure.
type Evidence struct {
	// Class is the class if the agent names it itself; one that hank does not have counts
	// for nothing.
	Class string
	// Words are error codes of the agent or its provider, such as
	// rate_limit_error, the most telling first. Empty ones are skipped.
	Words      []string
	Status     int // HTTP status; 0 if unknown
	Text       string
	RetryAfter time.Duration // if the agent gave it in a field of its own
	ResetsAt   time.Time     // when a limit ends, if the agent gave it in a field of its own
	Session    bool          // a session had begun
}

// Classify decides what kind of failure it was and whether trying again can
// help. Rule of the result names the evidence that decided.
//
//  1. A class that the agent names decides, else the first code word with a definite
//     meaning.
//  2. Then the HTTP status; one that providers use for several things (400,
//     422, 429) is first refined by the text.
//  3. Then the text: phrases, and statuses where a status is expected.
//     A word such as "network" or "credit" alone decides nothing, because the
//     text may quote the program that the agent was working on.
//  4. Then a code word without a definite meaning.
//  5. With no evidence, trying again is worth it only if a session had begun:
//     otherwise something is wrong with the installation.
//
// Of a long text only the ends are read: an agent may hand over megabytes.
func Classify(e Evidence) *state.FailureReason {
	e.Text = Excerpt(e.Text, maxEvidence)
	class, rule := decide(e)
	kind := kinds[class]
	reason := &state.FailureReason{
		Type:      kind.failure,
		Retriable: kind.retriable,
		Message:   Excerpt(e.Text, MaxMessage),
		Class:     class,
		Rule:      rule,
	}
	if class == ClassUnknown {
		reason.Retriable = e.Session
	}
	if remedy := remedies[rule]; remedy != "" {
		reason.Message = strings.TrimSpace(reason.Message + " (" + remedy + ")")
	}
	if reason.Retriable {
		after := e.RetryAfter
		if after <= 0 || after > maxRetryAfter {
			after, _ = retryAfter(e.Text)
		}
		reason.RetryAfterMs = after.Milliseconds()
		if !e.ResetsAt.IsZero() {
			at := state.At(e.ResetsAt)
			reason.ResetsAt = &at
		}
	}
	return reason
}

// Fail is a failure that hank itself found.
func Fail(class, rule string, retriable bool, format string, args ...any) *state.FailureReason {
	return &state.FailureReason{
		Type:      state.FailUnknown,
		Retriable: retriable,
		Message:   Excerpt(fmt.Sprintf(format, args...), MaxMessage),
		Class:     class,
		Rule:      rule,
	}
}

// signalExits are the exit statuses of a program that ended itself because of a signal.
var signalExits = map[int]string{129: "SIGHUP", 130: "SIGINT", 137: "SIGKILL", 143: "SIGTERM"}

// Refused reports whether a failure is a provider's refusal that neither waiting
// nor another attempt can change: of the key, or of the model. Only a code word
// or a status says so; a text may quote what the agent was working on.
func Refused(f *state.FailureReason) bool {
	switch {
	case f == nil:
		return false
	case f.Class == ClassAuth:
		return strings.HasPrefix(f.Rule, "word:") || strings.HasPrefix(f.Rule, "status:")
	}
	return f.Rule == "word:model_not_found" || f.Rule == "status:404"
}

// maxEvidence is how much of a text is searched, in bytes.
const maxEvidence = 16 << 10

// kinds says what a class means in the documented vocabulary.
var kinds = map[string]struct {
	failure   state.FailureType
	retriable bool
}{
	ClassAuth:             {state.FailAPI, false},
	ClassBilling:          {state.FailAPI, false},
	ClassRateLimit:        {state.FailRateLimit, true},
	ClassUsageLimit:       {state.FailRateLimit, true},
	ClassOverloaded:       {state.FailAPI, true},
	ClassUnreachable:      {state.FailAPI, true},
	ClassTimeout:          {state.FailTimeout, true},
	ClassInvalidRequest:   {state.FailAPI, false},
	ClassContextOverflow:  {state.FailAPI, false},
	ClassMaxOutput:        {state.FailAPI, true},
	ClassRefusal:          {state.FailAPI, false},
	ClassBudget:           {state.FailUnknown, false},
	ClassPermissionDenied: {state.FailUnknown, false},
	ClassInterrupted:      {state.FailUnknown, true},
	ClassProtocol:         {state.FailAPI, true},
	ClassSessionNotFound:  {state.FailUnknown, false},
	ClassExit:             {state.FailUnknown, true},
	ClassUnknown:          {state.FailAPI, false},
}

// words are the code words with a definite meaning: error types of the
// Messages API and of OpenAI-like APIs, exception names of AWS Bedrock, and
// what the Claude Code CLI (2.1.329) puts into error, api_error,
// terminal_reason and subtype.
var words = map[string]string{
	"authentication_failed": ClassAuth, "authentication_error": ClassAuth, "permission_error": ClassAuth,
	"invalid_api_key": ClassAuth, "oauth_org_not_allowed": ClassAuth,
	"AccessDeniedException": ClassAuth, "UnrecognizedClientException": ClassAuth, "ExpiredTokenException": ClassAuth,
	"billing_error": ClassBilling, "insufficient_quota": ClassBilling,
	"rate_limit": ClassRateLimit, "rate_limit_error": ClassRateLimit, "rate_limit_exceeded": ClassRateLimit,
	"ThrottlingException": ClassRateLimit,
	"usage_limit_reached": ClassUsageLimit,
	"overloaded":          ClassOverloaded, "overloaded_error": ClassOverloaded, "server_error": ClassOverloaded,
	"internal_server_error": ClassOverloaded, "api_error": ClassOverloaded,
	"ModelNotReadyException": ClassOverloaded, "InternalServerException": ClassOverloaded, "ServiceUnavailableException": ClassOverloaded,
	"timeout_error": ClassTimeout, "ModelTimeoutException": ClassTimeout,
	"connection_failed": ClassUnreachable,
	"model_not_found":   ClassInvalidRequest, "not_found_error": ClassInvalidRequest, "request_too_large": ClassInvalidRequest,
	"ResourceNotFoundException": ClassInvalidRequest,
	"prompt_too_long":           ClassContextOverflow, "blocking_limit": ClassContextOverflow, "context_length_exceeded": ClassContextOverflow,
	"max_output_tokens": ClassMaxOutput,
	"refusal":           ClassRefusal,
	"error_max_turns":   ClassBudget, "error_max_budget_usd": ClassBudget, "max_turns": ClassBudget, "budget_exhausted": ClassBudget,
	"aborted_tools": ClassInterrupted, "aborted_streaming": ClassInterrupted,
}

// vagueWords decide only when nothing else does.
var vagueWords = map[string]string{
	"invalid_request": ClassInvalidRequest, "invalid_request_error": ClassInvalidRequest, "ValidationException": ClassInvalidRequest,
}

func decide(e Evidence) (class, rule string) {
	if _, has := kinds[e.Class]; has && e.Class != ClassUnknown {
		return e.Class, "word:" + e.Class
	}
	for _, w := range e.Words {
		if class := words[w]; class != "" {
			return class, "word:" + w
		}
	}
	if class := statusClass(e.Status); class != "" {
		switch e.Status {
		case 400, 422, 429:
			class, rule := byPhrase(e.Text, refining)
			if class == ClassBilling && e.Status == 429 { // a quota that says when it is there again is no lack of money
				if _, again := retryAfter(e.Text); again {
					return ClassRateLimit, "text:quota-again"
				}
			}
			if class != "" {
				return class, rule
			}
		}
		return class, "status:" + strconv.Itoa(e.Status)
	}
	if class, rule := byPhrase(e.Text, everything); class != "" {
		return class, rule
	}
	if status := statusInText(e.Text); status != 0 {
		return statusClass(status), "text:status-" + strconv.Itoa(status)
	}
	for _, w := range e.Words {
		if class := vagueWords[w]; class != "" {
			return class, "word:" + w
		}
	}
	if e.Session {
		return ClassUnknown, "default:session"
	}
	return ClassUnknown, "default:no-session"
}

// statusClass is the meaning of an HTTP status; empty if it is no error.
func statusClass(status int) string {
	switch {
	case status == 401 || status == 403:
		return ClassAuth
	case status == 402:
		return ClassBilling
	case status == 408:
		return ClassTimeout
	case status == 429:
		return ClassRateLimit
	case status >= 400 && status < 500:
		return ClassInvalidRequest
	case status >= 500 && status < 600:
		return ClassOverloaded
	default:
		return ""
	}
}

// Statuses come after a word that announces one ("API Error: 529",
// "status code 503", "HTTP/1.1 502"), or before their reason phrase.
var (
	announcedStatus = lazyregexp.New(`(?i)\b(?:http(?:/\d(?:\.\d)?)?|status|status ?code|code|api error|response|rejected)["']?\s*[:=( ]\s*["']?([45]\d\d)\b`)
	reasonedStatus  = lazyregexp.New(`(?i)\b(4(?:00 bad request|01 unauthorized|03 forbidden|08 request timeout|29 too many requests)|50(?:0 internal server error|2 bad gateway|3 service unavailable|4 gateway time-?out)|529 (?:site is )?overloaded)\b`)
)

func statusInText(text string) int {
	for _, re := range []*lazyregexp.Regexp{announcedStatus, reasonedStatus} {
		if m := re.FindStringSubmatch(text); m != nil {
			status, _ := strconv.Atoi(m[1][:3])
			return status
		}
	}
	return 0
}

// Classified says in words of which class a failure is, and by what that was recognized;
// empty where its record has no class.
func Classified(f *state.FailureReason) string {
	switch {
	case f.Class == "":
		return ""
	case f.Rule == "" || f.Rule == f.Class:
		return "failure class: " + f.Class
	}
	return "failure class: " + f.Class + " (" + evidence(f.Rule) + ")"
}

// evidence is the rule of a failure in words.
func evidence(rule string) string {
	kind, what, _ := strings.Cut(rule, ":")
	switch status, found := strings.CutPrefix(what, "status-"); {
	case kind == "exit":
		return "exit code " + what
	case kind == "signal":
		return "signal " + what
	case kind == "status":
		return "HTTP status " + what
	case kind == "word":
		return "error code " + what
	case kind == "text" && found:
		return "HTTP status " + status + " in the message"
	case kind == "text":
		return "wording of the message: " + what
	case kind == "default":
		return "no known error code or wording"
	}
	return strings.ReplaceAll(rule, ":", " ")
}
