package pi

import (
	"cmp"
	"strconv"
	"strings"

	"hank/internal/lazyregexp"
	"hank/runtime/harness"
	"hank/state"
)

// sentences are what the agent says instead of what the provider has answered, each with
// the code word that it is for.
var sentences = []struct{ part, word string }{
	{"finish_reason: content_filter", "refusal"},
	{"finish_reason: network_error", "connection_failed"},
	{"stream ended before message_stop", "connection_failed"},
	{"Request was aborted", "aborted_streaming"},
	{"Credentials may have expired", "authentication_failed"},
	{"No models available", "authentication_failed"},
	{"No API key found for", "invalid_api_key"},
}

// answered is the provider's status in front of its answer.
var answered = lazyregexp.New(`^(?:Mistral API error \()?(\d{3})(?:\):)?(?:\s+|$)`)

// answer is what a provider says of an error, as its API has it.
type answer struct {
	Code    any    `json:"code"` // a word or the status
	Type    string `json:"type"`
	Status  string `json:"status"`
	Message string `json:"message"`
}

// failure classifies what the agent says of a request that has failed.
func failure(why string, session bool) *state.FailureReason {
	e := harness.Evidence{Text: cmp.Or(strings.TrimSpace(why), "the agent reported an error and did not say which"), Session: session}
	if m := answered.FindStringSubmatch(e.Text); m != nil {
		e.Status, _ = strconv.Atoi(m[1])
		e.Text = cmp.Or(e.Text[len(m[0]):], e.Text)
	}
	var body struct {
		Error answer `json:"error"`
		answer
	}
	if strings.HasPrefix(e.Text, "{") && parse([]byte(e.Text), &body) {
		said := body.Error
		if said.Message == "" {
			said = body.answer
		}
		switch code := said.Code.(type) {
		case string:
			e.Words = append(e.Words, code)
		case float64:
			e.Status = cmp.Or(e.Status, int(code))
		}
		e.Words = append(e.Words, said.Type, said.Status)
		e.Text = cmp.Or(said.Message, e.Text)
	}
	for _, s := range sentences {
		if strings.Contains(e.Text, s.part) {
			e.Words = append(e.Words, s.word)
		}
	}
	e.Text = strings.ReplaceAll(e.Text, "Try again in ~", "Try again in about ") // of a usage limit
	if e.Text == "terminated" {                                                  // all that is said of a connection that broke
		e.Words = append(e.Words, "connection_failed")
	}
	return harness.Classify(e)
}

// unknownSession recognises the answers to a session that is not there, or that belongs to
// another directory.
func unknownSession(text string) *state.FailureReason {
	for _, part := range []string{"No session found matching", "Session found in different project", "Stored session working directory does not exist"} {
		if strings.Contains(text, part) {
			return harness.Fail(harness.ClassSessionNotFound, "text:session-not-found", false, "%s", text)
		}
	}
	return nil
}
