// Package advice writes the commands that messages advise.
//
// In a message a command of hank is between backquotes: "no checkpoint; see:
// `hank doctor`". Who wrote the message does not know how the execution is named
// where it is read; who prints it does, and renders the commands so that they work
// as printed.
package advice

import (
	"slices"
	"strings"
)

// ofExecution are the commands that are about one execution, which -e names.
var ofExecution = []string{"run", "resume", "retry", "rollback", "stop", "skip", "status", "show", "log", "events", "checkpoints", "diff", "restore", "land", "cost", "doctor", "gc", "reset", "plan", "approve", "reject", "hold", "release"}

// Command is a command with the option, " -e DIR", that names the execution; empty
// if there is no command, and as it is if it names one already. It may follow others,
// as in "mkdir x && hank run".
func Command(command, option string) string {
	if words, _ := split(command); command == "" || slices.Contains(words, "-e") {
		return command
	}
	return command + option
}

const next = "&& " // between commands of a line

// Commands is Command of each of a list.
func Commands(list []string, option string) []string {
	out := slices.Clone(list)
	for i := range out {
		out[i] = Command(out[i], option)
	}
	return out
}

// Quote marks a command of hank in a message, the last of a line such as "mkdir x &&
// hank run". One that has a backquote outside of quotes stays as it is.
func Quote(line string) string {
	if _, end := split(line); end < len(line) {
		return line
	}
	at := 0
	if i := strings.LastIndex(line, next+"hank "); i >= 0 {
		if _, end := split(line[:i]); end == i { // else it is in quotes
			at = i + len(next)
		}
	}
	return line[:at] + "`" + line[at:] + "`"
}

// Leading is the command, or line of commands, with which a text begins, as Quote has
// marked it; empty: with none, or with one in which a name is to be filled in.
func Leading(text string) string {
	before, rest, found := strings.Cut(text, "`hank ")
	if !found || before != "" && !strings.HasSuffix(before, next) {
		return ""
	}
	rest = "hank " + rest
	words, end := split(rest)
	if end < 0 || end == len(rest) || slices.ContainsFunc(words, isPlaceholder) {
		return ""
	}
	return before + rest[:end]
}

// isPlaceholder reports whether a word stands for one that is to be filled in, such as TARGET.
func isPlaceholder(word string) bool {
	return len(word) > 1 && strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// Render is a message as it is printed: its commands are without backquotes, and
// those that are about the execution have the option. Backquotes around anything
// else stay.
func Render(text, option string) string {
	const mark = "`"
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, mark+"hank ")
		rest = "hank " + rest
		words, end := split(rest)
		if end < 0 || end == len(rest) { // its quotes are no shell's
			end = strings.Index(rest, mark)
			words = strings.Fields(rest[:max(end, 0)])
		}
		if !found || end < 0 || strings.Contains(rest[:end], "\n") {
			out.WriteString(text)
			return out.String()
		}
		command := rest[:end]
		if needsExecution(words) {
			command += option
		}
		out.WriteString(before + command)
		text = rest[end+len(mark):]
	}
}

func needsExecution(words []string) bool {
	return len(words) > 1 && slices.Contains(ofExecution, words[1]) && !slices.Contains(words, "--help") && !slices.Contains(words, "-e")
}

// split returns the words of the command that a text begins with, as they are written,
// and where it ends: at a backquote outside of quotes, or with the text. -1: a quote has
// no end.
func split(text string) (words []string, end int) {
	var quote byte
	start := 0
	word := func(end int) {
		if end > start {
			words = append(words, text[start:end])
		}
		start = end + 1
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && quote != '\'':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == ' ':
			word(i)
		case c == '`':
			word(i)
			return words, i
		}
	}
	word(len(text))
	if quote != 0 {
		return words, -1
	}
	return words, len(text)
}
