package codex

import (
	"cmp"
	"strconv"
	"strings"

	"hank/internal/lazyregexp"
	"hank/runtime/harness"
	"hank/state"
)

// sentences are what the agent says instead of what the provider has answered, each with
// the code word that it is for. It gives neither the word nor the status.
var sentences = []struct{ part, word string }{
	{"does not exist or you do not have access to it", "model_not_found"},
	{"ran out of room in the model's context window", "context_length_exceeded"},
	{"Quota exceeded. Check your plan and billing details", "insufficient_quota"},
	{"Selected model is at capacity", "overloaded"},
	{"currently experiencing high demand", "server_error"},
	{"The server had an error while processing your request", "server_error"},
	{"reason: max_output_tokens", "max_output_tokens"},
	{"reason: content_filter", "refusal"},
	{"Missing environment variable", "invalid_api_key"},
	{"access token could not be refreshed", "authentication_failed"},
}

// answered is where the agent gives the provider's status.
var answered = lazyregexp.New(`(?i)\b(?:unexpected|last) status:? (\d{3})\b`)

// failure classifies what the agent says of a turn that has failed.
func failure(why string, session bool) *state.FailureReason {
	if f := unknownThread(why); f != nil {
		return f
	}
	e := harness.Evidence{Text: cmp.Or(why, "the agent reported an error and did not say which"), Session: session}
	var answer struct { // of the provider, as it came
		Error struct {
			Code    string `json:"code"`
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if strings.HasPrefix(e.Text, "{") && parse([]byte(e.Text), &answer) && answer.Error.Message != "" {
		e.Text, e.Words = answer.Error.Message, []string{answer.Error.Code, answer.Error.Type}
	}
	for _, s := range sentences {
		if strings.Contains(e.Text, s.part) {
			e.Words = append(e.Words, s.word)
		}
	}
	if m := answered.FindStringSubmatch(e.Text); m != nil {
		e.Status, _ = strconv.Atoi(m[1])
	}
	return harness.Classify(e)
}

// unknownThread recognises the answer to resume with an id that is not there.
func unknownThread(text string) *state.FailureReason {
	if !strings.Contains(text, "no rollout found for thread id") {
		return nil
	}
	return harness.Fail(harness.ClassSessionNotFound, "text:session-not-found", false, "%s", text)
}
