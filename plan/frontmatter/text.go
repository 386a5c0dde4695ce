package frontmatter

import (
	"strings"

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
func WithoutComments(text string) string { return htmlComment.ReplaceAllString(text, "") }
