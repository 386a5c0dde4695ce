package opencode

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"hank/internal/lazyregexp"
	"hank/runtime/harness"
	"hank/state"
)

// nouns are the names of the agent's errors, each with the code word that it is for. That of
// an answer of the provider (APIError) says nothing by itself.
var nouns = map[string]string{
	"ProviderAuthError":          "authentication_failed",
	"ContextOverflowError":       "context_length_exceeded",
	"MessageOutputLengthError":   "max_output_tokens",
	"ContentFilterError":         "refusal",
	"MessageAbortedError":        "aborted_streaming",
	"ProviderModelNotFoundError": "model_not_found",
}

// failure classifies an error event. Of one that says nothing the log has the cause.
func failure(f fault, cause string, session bool, now time.Time) *state.FailureReason {
	if f.Name == "UnknownError" && cause != "" {
		return said(cause, session)
	}
	e := harness.Evidence{
		Words: []string{nouns[f.Name]}, Text: cmp.Or(f.Data.Message, f.Name, "the agent reported an error and did not say which"),
		RetryAfter: retryAfter(f.Data.Headers), Session: session,
	}
	e.ResetsAt = resets(now, e.RetryAfter)
	if f.Data.Status >= 400 && f.Data.Status < 600 {
		e.Status = int(f.Data.Status)
	}
	var answer struct { // of the provider, as it came
		Error struct {
			Code string `json:"code"`
			Type string `json:"type"`
		} `json:"error"`
	}
	if strings.HasPrefix(f.Data.Body, "{") && parse([]byte(f.Data.Body), &answer) {
		e.Words = append(e.Words, answer.Error.Code, answer.Error.Type)
	}
	return harness.Classify(e)
}

// said classifies what the agent's program says outside of its events.
func said(text string, session bool) *state.FailureReason {
	if strings.Contains(text, "Session not found") {
		return harness.Fail(harness.ClassSessionNotFound, "text:session-not-found", false, "%s", text)
	}
	e := harness.Evidence{Text: text, Session: session}
	if name, rest, found := strings.Cut(text, ": "); found && nouns[name] != "" {
		e.Words, e.Text = []string{nouns[name]}, rest
	}
	if m := notFound.FindStringSubmatch(text); m != nil {
		if slices.Contains(strings.Split(m[3], ", "), m[2]) {
			e.Words = []string{"authentication_failed"}
			e.Text = fmt.Sprintf("the agent has no credentials for %s: set the provider's key (%s_API_KEY for most), or run opencode auth login", m[1], variable(m[1]))
		} else {
			e.Text += " (if the provider has it: opencode has no credentials for the provider, or is older than the model)"
		}
	}
	return harness.Classify(e)
}

// notFound is what the agent says of a model that it does not have. One that it proposes in
// its own place is of a provider that it has no credentials for.
var notFound = lazyregexp.New(`Model not found: ([^/\s]+)/(\S+?)\.(?: Did you mean: ([^?]*)\?)?$`)

// retryAfter is what the provider's headers say.
func retryAfter(headers map[string]string) time.Duration {
	for name, unit := range map[string]time.Duration{"retry-after-ms": time.Millisecond, "retry-after": time.Second} {
		if n, err := strconv.ParseFloat(headers[name], 64); err == nil && n > 0 && n < 1e7 {
			return time.Duration(n * float64(unit))
		}
	}
	return 0
}

// resets is when a wait ends that is too long for a pause between two tries.
func resets(now time.Time, wait time.Duration) time.Time {
	if wait < time.Hour {
		return time.Time{}
	}
	return now.Add(wait)
}
