package gemini

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"hank/internal/lazyregexp"
	"hank/runtime/harness"
	"hank/state"
)

// statusOf is the HTTP status that an exit status stands for: the agent exits with it, and
// the system keeps the lowest eight bits. 0: it stands for none.
func statusOf(exitCode int) int {
	switch {
	case exitCode >= 400-256 && exitCode <= 255:
		return exitCode + 256
	case exitCode >= 520-512 && exitCode <= 530-512: // of proxies
		return exitCode + 512
	}
	return 0
}

// exits are the code words for exit statuses that the agent itself gives.
var exits = map[int]string{41: "authentication_failed", 53: "max_turns"}

// sentences are what the agent or its provider say, each with the code word that it is for.
// The first one that is there decides.
var sentences = []struct{ part, word string }{
	{"exhausted your daily quota", "usage_limit_reached"},
	{"INSUFFICIENT_G1_CREDITS_BALANCE", "billing_error"},
	{"prepayment credits are depleted", "billing_error"},
	{"exhausted your capacity", "overloaded"},
	{"MODEL_CAPACITY_EXHAUSTED", "overloaded"},
	{"Please retry in ", "rate_limit_exceeded"},
	{"Suggested retry after ", "rate_limit_exceeded"},
	{"input token count", "context_length_exceeded"},
	{"API key not valid", "invalid_api_key"},
	{"API key expired", "invalid_api_key"},
	{"API_KEY_INVALID", "invalid_api_key"},
	{"must specify the GEMINI_API_KEY", "invalid_api_key"},
	{"Please set an Auth method", "authentication_failed"},
	{"Manual authorization is required", "authentication_failed"},
	{"Invalid auth method selected", "authentication_failed"},
	{"Reached max session turns", "max_turns"},
	{"truncated because it exceeded the token limit", "max_output_tokens"},
	{"response was blocked due to", "refusal"},
	{"stream ended without a finish reason", "connection_failed"},
	{"other side closed", "connection_failed"},
}

// noQuota says that no quota is there at all: waiting does not help, whatever is said of it.
var noQuota = lazyregexp.New(`\blimit: 0(?:\D|$)`)

// providerWords are the error words of Google's APIs that have a meaning of their own.
var providerWords = map[string]string{
	"UNAUTHENTICATED": "authentication_error", "PERMISSION_DENIED": "permission_error", "NOT_FOUND": "model_not_found",
	"UNAVAILABLE": "overloaded", "INTERNAL": "server_error", "DEADLINE_EXCEEDED": "timeout_error",
}

// report is what the agent says on its standard error of a request that has failed.
type report struct {
	kind   string // ModelNotFoundError
	status int
}

var (
	reported       = lazyregexp.New(`Full report available at: .*?\.json _?([A-Za-z]{1,80}Error): `)
	reportedStatus = lazyregexp.New(`^(?:status|code): (\d{3})\b`)
)

// line reads a line of the standard error.
func (r *report) line(line string) {
	if m := reported.FindStringSubmatch(line); m != nil {
		*r = report{kind: m[1]}
	} else if m := reportedStatus.FindStringSubmatch(line); m != nil && r.kind != "" {
		r.status, _ = strconv.Atoi(m[1])
	}
}

// kinds are the code words for the names of the agent's own errors.
var kinds = map[string]string{"ModelNotFoundError": "model_not_found"}

// wrapped is how the agent says what a request has failed with.
var wrapped = lazyregexp.New(`^\[API Error: ((?s:.*))\](?:\n(?:Please wait and try again later|Possible quota limitations)[^\n]*)?$`)

// failure classifies what the agent says of a request that has failed.
func failure(why string, r report, begun bool) *state.FailureReason {
	if m := wrapped.FindStringSubmatch(why); m != nil {
		why = m[1]
	}
	e := harness.Evidence{Text: cmp.Or(why, "the agent reported an error and did not say which"), Session: begun}
	if why == "terminated" { // by the network
		e.Words = append(e.Words, "connection_failed")
	}
	answer := answered(e.Text)
	e.Text, e.RetryAfter = cmp.Or(answer.message, e.Text), answer.after
	e.Status = cmp.Or(answer.code, r.status)
	if noQuota.MatchString(e.Text) {
		e.Words = append(e.Words, "insufficient_quota")
	}
	for _, s := range sentences {
		if strings.Contains(why, s.part) || strings.Contains(e.Text, s.part) {
			e.Words = append(e.Words, s.word)
		}
	}
	e.Words = append(e.Words, kinds[r.kind], providerWords[answer.status])
	return harness.Classify(e)
}

// answer is what the provider has answered, as far as the agent hands it on.
type answer struct {
	code            int
	status, message string
	after           time.Duration
}

// answered finds the provider's answer in a text. It can be wrapped into another one,
// whose message it is.
func answered(text string) (a answer) {
	for range 3 {
		at := strings.IndexByte(text, '{')
		if at < 0 {
			break
		}
		var body struct {
			Error struct {
				Code    int             `json:"code"`
				Status  string          `json:"status"`
				Message string          `json:"message"`
				Details json.RawMessage `json:"details"`
			} `json:"error"`
		}
		d := json.NewDecoder(strings.NewReader(text[at:]))
		if d.Decode(&body) != nil || body.Error.Message == "" {
			break
		}
		a.code, a.status, a.message = cmp.Or(body.Error.Code, a.code), cmp.Or(body.Error.Status, a.status), body.Error.Message
		if m := retryDelay.FindStringSubmatch(string(body.Error.Details)); m != nil {
			a.after, _ = time.ParseDuration(m[1])
		}
		text = body.Error.Message
	}
	return a
}

var retryDelay = lazyregexp.New(`"retryDelay"\s*:\s*"(\d{1,6}(?:\.\d{1,9})?s)"`)

// unknownSession recognises the answer to --resume with an id that is not there.
func unknownSession(text string) *state.FailureReason {
	if !strings.Contains(text, "Error resuming session: ") {
		return nil
	}
	return harness.Fail(harness.ClassSessionNotFound, "text:session-not-found", false, "%s", text)
}
