package progress

import (
	"strings"
	"unicode"

	"hank/internal/term"
)

// LastSentence is the last sentence of what an agent has said, or the last line of
// what a script has printed.
func LastSentence(text string) string {
	last := ""
	for line := range strings.Lines(text) {
		line = strings.TrimLeft(strings.ReplaceAll(term.OneLine(line), "**", ""), "#>*-–• ")
		if strings.ContainsFunc(line, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) && !strings.HasPrefix(line, "```") {
			last = line
		}
	}
	for at := len(last) - 2; at > 0; at-- {
		if strings.IndexByte(".!?", last[at-1]) < 0 || last[at] != ' ' {
			continue
		}
		rest := strings.TrimLeft(last[at+1:], " *_`\"")
		if rest != "" && (unicode.IsUpper([]rune(rest)[0]) || unicode.Is(unicode.Han, []rune(rest)[0])) && !abbreviates(last[:at]) {
			return rest
		}
	}
	return last
}

// abbreviates reports whether a text ends with a dot that ends no sentence: e.g.
func abbreviates(text string) bool {
	word := text[strings.LastIndexByte(text, ' ')+1:]
	return strings.Count(word, ".") > 1 || len(strings.Trim(word, "(.")) < 2
}
