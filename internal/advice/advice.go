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
	if command == "" || strings.Contains(command, " -e ") {
		return command
	}
	return command + option
}

// Quote marks a command of hank in a message, the last of a line such as "mkdir x &&
// hank run". One that has a backquote itself stays as it is.
func Quote(line string) string {
	if strings.Contains(line, "`") {
		return line
	}
	const next = "&& "
	at := 0
	if i := strings.LastIndex(line, next+"hank "); i >= 0 {
		at = i + len(next)
	}
	return line[:at] + "`" + line[at:] + "`"
}

// Render is a message as it is printed: its commands are without backquotes, and
// those that are about the execution have the option. Backquotes around anything
// else stay.
func Render(text, option string) string {
	const mark = "`hank "
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, mark)
		command, after, closed := strings.Cut(rest, "`")
		if !found || !closed || strings.Contains(command, "\n") {
			out.WriteString(text)
			return out.String()
		}
		out.WriteString(before)
		if command = "hank " + command; needsExecution(command) {
			command = Command(command, option)
		}
		out.WriteString(command)
		text = after
	}
}

func needsExecution(command string) bool {
	words := strings.Fields(command)
	return len(words) > 1 && slices.Contains(ofExecution, words[1]) && !slices.Contains(words, "--help") && !slices.Contains(words, "-e")
}
