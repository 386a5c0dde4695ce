package frontmatter

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"hank/internal/lazyregexp"
)

// WithoutMark is the text of a file without a byte order mark at its start, which is no part
// of what its author wrote: sh takes it for a part of the first command.
func WithoutMark(text string) string { return strings.TrimPrefix(text, "\ufeff") }

// Join puts a blank line between texts; empty ones are left out. A newline at
// a text's end counts.
func Join(texts []string) string {
	var b strings.Builder
	for _, t := range texts {
		if t == "" {
			continue
		}
		switch s := b.String(); {
		case s == "":
		case strings.HasSuffix(s, "\n"):
			b.WriteString("\n")
		default:
			b.WriteString("\n\n")
		}
		b.WriteString(t)
	}
	return b.String()
}

var htmlComment = lazyregexp.New(`(?s)<!--.*?-->(\r?\n)?`)

// Comments are where the HTML comments of a text begin and end, each with a newline after it.
func Comments(text string) [][]int { return htmlComment.FindAllStringIndex(text, -1) }

// WithoutComments is a text without them.
func WithoutComments(text string) string {
	if !strings.Contains(text, "<!--") {
		return text
	}
	return htmlComment.ReplaceAllString(text, "")
}

// largePrompt is the size in bytes above which a prompt is worth a warning.
const largePrompt = 1 << 20

// IsNothing reports whether an agent is told nothing by a text.
// It looks no further than the first word that is not in a comment.
func IsNothing(text string) bool {
	for {
		text = strings.TrimSpace(text)
		comment, found := strings.CutPrefix(text, "<!--")
		if !found {
			return text == ""
		}
		if _, text, found = strings.Cut(comment, "-->"); !found {
			return false
		}
	}
}

// Judge judges the text of a prompt; nothing says that an agent is told nothing by it
// and what is before it.
func Judge(text string, nothing bool, report func(rule, message string)) {
	switch {
	case nothing:
		report("no-prompt", "nothing is left of the prompt without front matter and comments: the agent would not start")
	case strings.TrimSpace(text) == "":
		report("prompt-empty", "the prompt is blank")
	case len(text) > largePrompt:
		report("prompt-large", fmt.Sprintf("the prompt has %.1f MiB", float64(len(text))/(1<<20)))
	}
	if !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0 {
		report("prompt-encoding", "the prompt is not plain UTF-8 text")
	}
}
