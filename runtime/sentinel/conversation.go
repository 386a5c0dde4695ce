package sentinel

import (
	"slices"

	config "hank/plan/sentinel"
	"hank/runtime/sentinel/provider"
)

// bytesPerToken is how many bytes of text count as a token where a conversation is
// trimmed: tokens are only known of what was sent.
const bytesPerToken = 4

// mostTalk bounds the bytes of a conversation, whatever its rules are.
const mostTalk = 8 << 20

// conversation is what was said before, in turns of a question and an answer.
type conversation struct {
	rules *config.Conversation // nil: nothing is remembered
	turns [][2]string
}

// messages are those of a request with one more question. What is trimmed is forgotten.
func (c *conversation) messages(question string) []provider.Message {
	c.trim(len(question))
	var all []provider.Message
	for _, t := range c.turns {
		all = append(all, provider.Message{Role: "user", Text: t[0]}, provider.Message{Role: "assistant", Text: t[1]})
	}
	return append(all, provider.Message{Role: "user", Text: question})
}

// trim forgets the oldest turns, so that those that are left and the next question are
// within the limits.
func (c *conversation) trim(question int) {
	if c.rules == nil {
		return
	}
	if n := c.rules.Trimming.MaxTurns; c.rules.Trimming.Type == "maxTurns" && len(c.turns) >= n {
		c.turns = slices.Clone(c.turns[len(c.turns)-max(n-1, 0):])
	}
	most := mostTalk
	if c.rules.Trimming.Type == "maxTokens" {
		most = min(most, c.rules.Trimming.MaxTokens*bytesPerToken+bytesPerToken-1)
	}
	size := question
	for _, t := range c.turns {
		size += len(t[0]) + len(t[1])
	}
	for len(c.turns) > 0 && size > most {
		size -= len(c.turns[0][0]) + len(c.turns[0][1])
		c.turns = c.turns[1:]
	}
}

// answered remembers a turn.
func (c *conversation) answered(question, answer string) {
	if c.rules != nil {
		c.turns = append(c.turns, [2]string{question, answer})
	}
}

// failed forgets what was said, unless the conversation survives an error.
func (c *conversation) failed() {
	if c.rules != nil && !c.rules.ContinueOnError {
		c.turns = nil
	}
}
