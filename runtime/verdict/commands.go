package verdict

import (
	"regexp"
	"strings"
)

// A command of hank in a text for people, with the flags and the values that
// belong to it, and what makes it something else: another folder than the
// execution is named, or the words speak of the verb.
var (
	commandOfExecution = regexp.MustCompile(`\bhank (run|resume|retry|rollback|stop|skip|status|show|log|events|checkpoints|diff|restore|land|cost|doctor|gc|plan)\b` +
		`( (--[a-z-]+=[^\s;,)]+|'--[a-z-]+=[^']*'(\\''[^']*')*|(--[a-z-]+|[A-Z]+|[0-9.]+[a-zA-Z]*|[0-9a-f]{12}|last-success|import|export)\b))*`)
	notACommand = regexp.MustCompile(`^([^;,&]* -e | --help\b| (does not|needs|changes|takes no)\b|; its folder )`)
)

// CommandForExecution returns a command that ends with one of hank's, with the
// option.
func CommandForExecution(command, option string) string {
	if command == "" || strings.Contains(command, " -e ") {
		return command
	}
	return command + option
}

// ForExecution returns a text in which each command of hank that is about an
// execution has the option, " -e DIR", with which it can be given from where the
// text is read.
func ForExecution(text, option string) string {
	if option == "" {
		return text
	}
	var out strings.Builder
	from := 0
	for _, at := range commandOfExecution.FindAllStringIndex(text, -1) {
		command, before, behind := text[at[0]:at[1]], text[:at[0]], text[at[1]:]
		if strings.Contains(command, " HANK") || strings.Contains(command, "--help") || strings.HasSuffix(before, "by ") || strings.HasSuffix(before, "of ") || notACommand.MatchString(behind) {
			continue
		}
		out.WriteString(text[from:at[1]] + option)
		from = at[1]
	}
	return out.String() + text[from:]
}
