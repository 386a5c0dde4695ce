// Package completion answers a shell that asks which words can follow on a command line.
//
// A shell calls the program with the words before the cursor, with the word at the
// cursor if that begins with a dash, and with a flag at the end that says so. The answer
// has one word a line. What can be the value of a flag or an argument, its usage tells: an
// upper-case placeholder (`TARGET`) is a kind of names that the program lists, a
// lower-case word is itself one, and of both there may be several, divided by |.
//
// Nothing here reads an execution, and nothing may fail: where nothing is known to
// follow, the answer is empty, and the shell offers files.
package completion

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/urfave/cli/v2"
)

// Flag is the last word of a call that asks.
const Flag = "--generate-bash-completion"

// Names lists the names of a kind; words are all that precede them.
type Names func(kind string, words []string) []string

// Asked returns the words of a call that asks.
func Asked(args []string) (words []string, ok bool) {
	if n := len(args); n >= 2 && args[n-1] == Flag {
		return args[1 : n-1], true
	}
	return nil, false
}

// Following are the words that can follow.
func Following(app *cli.App, words []string, names Names) []string {
	if len(words) == 0 || len(words) == 1 && strings.HasPrefix(words[0], "-") {
		if len(words) == 1 {
			return []string{"--help", "--version"}
		}
		return commandsOf(app)
	}
	if words[0] == "help" {
		return commandsOf(app)
	}
	command := app.Command(words[0])
	if command == nil {
		return nil
	}
	at, arguments, flags := len(words)-1, 0, []string(nil)
	for i := 1; i < len(words); i++ {
		name, _, inline := strings.Cut(words[i], "=")
		flag := flagOf(command, name)
		switch {
		case i > 1 && slices.Contains(words[1:i], "--"), !strings.HasPrefix(words[i], "-") || words[i] == "-":
			arguments++
		case words[i] == "--":
		case inline && i == at:
			return prefixed(name+"=", namesOf(placeholder(flag), names, words))
		case takesValue(flag) && !inline && i == at:
			return namesOf(placeholder(flag), names, words)
		case takesValue(flag) && !inline:
			i++
		case i == at:
			flags = flagsOf(command)
			if flag == nil {
				return flags
			} // else it may be there as a whole, and what follows is asked for
		}
	}
	return append(flags, argumentNames(command, arguments, names, words)...)
}

func argumentNames(command *cli.Command, arguments int, names Names, words []string) []string {
	if kinds := strings.Fields(command.ArgsUsage); arguments < len(kinds) {
		return namesOf(strings.Trim(kinds[arguments], "[]"), names, words)
	}
	return nil
}

func commandsOf(app *cli.App) []string {
	var all []string
	for _, c := range app.VisibleCommands() {
		all = append(all, c.Name)
	}
	return all
}

func flagOf(command *cli.Command, word string) cli.Flag {
	for _, f := range command.Flags {
		if strings.HasPrefix(word, "-") && slices.Contains(f.Names(), strings.TrimLeft(word, "-")) {
			return f
		}
	}
	return nil
}

func takesValue(f cli.Flag) bool {
	d, ok := f.(cli.DocGenerationFlag)
	return ok && d.TakesValue()
}

// placeholder is what the usage of a flag calls its value.
func placeholder(f cli.Flag) string {
	d, ok := f.(cli.DocGenerationFlag)
	if !ok {
		return ""
	}
	_, rest, _ := strings.Cut(d.GetUsage(), "`")
	name, _, _ := strings.Cut(rest, "`")
	return name
}

func flagsOf(command *cli.Command) []string {
	all := []string{"--help"}
	for _, f := range command.VisibleFlags() {
		if name := f.Names()[0]; name != "help" {
			all = append(all, "--"+name)
		}
	}
	return all
}

// namesOf are the names that a placeholder stands for.
func namesOf(placeholder string, names Names, words []string) []string {
	var all []string
	for kind := range strings.SplitSeq(placeholder, "|") {
		if kind == strings.ToLower(kind) && kind != "" {
			all = append(all, kind)
			continue
		}
		all = append(all, names(kind, words)...)
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(name string) bool {
		again := seen[name] || name == "" || strings.ContainsFunc(name, unicode.IsControl)
		seen[name] = true
		return again
	})
}

func prefixed(prefix string, names []string) []string {
	for i := range names {
		names[i] = prefix + names[i]
	}
	return names
}

// Value is what a flag is set to by the words, as the shell would give it to the program:
// without the quotes around it, and with the home directory for a tilde.
func Value(words []string, flags ...string) string {
	value := ""
	for i, word := range words {
		name, inline, ok := strings.Cut(word, "=")
		switch {
		case !strings.HasPrefix(word, "-") || !slices.Contains(flags, strings.TrimLeft(name, "-")):
		case ok:
			value = inline
		case i+1 < len(words):
			value = words[i+1]
		}
	}
	if len(value) >= 2 && (value[0] == '\'' || value[0] == '"') && value[len(value)-1] == value[0] {
		return value[1 : len(value)-1]
	}
	value = strings.ReplaceAll(value, `\`, "")
	if rest, ok := strings.CutPrefix(value, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			value = filepath.Join(home, rest)
		}
	}
	return value
}

// Shells are those that there is a script for.
func Shells() []string { return []string{"bash", "zsh", "fish"} }

// Script is what a shell reads to ask this program; false: there is none for this shell.
func Script(shell string) (script string, ok bool) {
	script, ok = scripts[shell]
	return script, ok
}
