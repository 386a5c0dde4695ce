package codex

import (
	"bytes"
	"os"

	"hank/runtime/harness"
)

// A thread keeps the system prompt that it began with, whatever the agent is given later,
// and the agent does not say so. Another one is therefore said in front of the prompt,
// unless the thread has heard it last.
const (
	replaces = "The following instructions replace those that the developer has given before:\n<instructions>\n"
	replaced = "\n</instructions>\n\n"
)

// prompt is what the agent is told.
func prompt(req harness.Request) string {
	if req.Session == "" || req.SystemPrompt == "" || heard(req) {
		return req.Prompt
	}
	return replaces + req.SystemPrompt + replaced + req.Prompt
}

// heard reports whether the system prompt of a request is the last that its thread has
// heard.
func heard(req harness.Request) bool {
	r := &rollout{home: directory(req)}
	r.of(req.Session)
	if r.find(); r.path == "" {
		return false
	}
	text, err := os.ReadFile(r.path)
	if err != nil {
		return false
	}
	inside := func(text string) []byte { q := quoted(text); return []byte(q[1 : len(q)-1]) }
	first := bytes.LastIndex(text, []byte(`"text":`+quoted(req.SystemPrompt)))
	later := bytes.LastIndex(text, inside(replaces+req.SystemPrompt+replaced))
	last := max(first, later)
	return last >= 0 && last >= bytes.LastIndex(text, inside(replaces))
}
