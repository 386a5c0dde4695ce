// Package argv lets flags be given before or after arguments. urfave/cli v2 stops
// reading flags at the first argument, and would take what follows for
// arguments, silently.
package argv

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"hank/internal/lazyregexp"
	"hank/internal/typo"
)

// UsageError is a flag that the command does not have, or one without its value.
type UsageError struct{ Why string }

func (e *UsageError) Error() string { return e.Why }

// Reorder returns args with the flags of the command moved before its arguments,
// and -- between them, so that an argument never looks like a flag. Everything
// after a -- of the caller's own is an argument. Who asks for help gets that of the
// command: the library would look for a command by the name of the first argument.
// args[0] is the program.
func Reorder(app *cli.App, args []string) ([]string, error) {
	if len(args) < 2 || strings.HasPrefix(args[1], "-") {
		return args, nil // help and version of the program itself
	}
	command := app.Command(args[1])
	if command == nil {
		return args, nil // the app says what it makes of it
	}
	known := table(command)
	var flags, rest []string
	for i := 2; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			rest = append(rest, args[i+1:]...)
			break
		}
		if len(arg) < 2 || arg[0] != '-' {
			rest = append(rest, arg)
			continue
		}
		name, _, inline := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		takesValue, ok := known[name]
		if !ok {
			return nil, unknown(command, arg, name, known)
		}
		if (name == "help" || name == "h") && !takesValue && !inline {
			return append(slices.Clone(args[:2]), "--help"), nil
		}
		flags = append(flags, arg)
		if takesValue && !inline {
			if i++; i == len(args) {
				return nil, &UsageError{fmt.Sprintf("%s of hank %s needs a value", arg, command.Name)}
			}
			flags = append(flags, args[i])
		}
	}
	out := append(slices.Clone(args[:2]), flags...)
	if len(rest) > 0 {
		out = append(append(out, "--"), rest...)
	}
	return out, nil
}

// Without is Reorder without a flag that takes no value, however it is written.
func Without(app *cli.App, args []string, flag string) ([]string, error) {
	ordered, err := Reorder(app, args)
	if err != nil || len(ordered) < 2 || app.Command(ordered[1]) == nil {
		return ordered, err
	}
	known, out := table(app.Command(ordered[1])), slices.Clone(ordered[:2])
	for i := 2; i < len(ordered); i++ {
		if ordered[i] == "--" {
			return append(out, ordered[i:]...), nil
		}
		name, _, inline := strings.Cut(strings.TrimLeft(ordered[i], "-"), "=")
		if name != flag {
			out = append(out, ordered[i])
		}
		if known[name] && !inline {
			i++
			out = append(out, ordered[i])
		}
	}
	return out, nil
}

// Value is the value that args give a flag of their verb, "true" where it has none; empty
// where they do not give it. Words that no flag of the verb takes for a value are looked at,
// too, where the command line is wrong. args[0] is the program.
func Value(app *cli.App, args []string, flag string) (value string) {
	known := map[string]bool{}
	if len(args) > 1 {
		if command := app.Command(args[1]); command != nil {
			known = table(command)
		}
	}
	for i := 1; i < len(args) && args[i] != "--"; i++ {
		name, given, inline := strings.Cut(strings.TrimLeft(args[i], "-"), "=")
		if len(args[i]) < 2 || args[i][0] != '-' {
			continue
		}
		taken := known[name] && !inline && i+1 < len(args)
		switch {
		case name == flag && inline:
			value = given
		case name == flag && taken:
			value = args[i+1]
		case name == flag:
			value = "true"
		}
		if taken {
			i++
		}
	}
	return value
}

// table tells for each name of a flag whether it takes a value.
func table(command *cli.Command) map[string]bool {
	known := map[string]bool{"help": false, "h": false}
	for _, f := range command.Flags {
		_, isBool := f.(*cli.BoolFlag)
		for _, name := range f.Names() {
			known[name] = !isBool
		}
	}
	return known
}

func unknown(command *cli.Command, arg, name string, known map[string]bool) error {
	why := fmt.Sprintf("hank %s has no flag %s", command.Name, arg)
	if best := typo.Nearest(name, slices.Sorted(maps.Keys(known))); best != "" {
		why += "; did you mean --" + best + "?"
	} else {
		why += "; see: hank " + command.Name + " --help (an argument that begins with - goes after --)"
	}
	return &UsageError{why}
}

// invalid is how package flag words a value that a flag does not take.
var invalid = lazyregexp.New(`^invalid (boolean )?value (".*") for (?:flag )?-([^ :]+): `)

// Sentence words an error in a command line that the library has found.
func Sentence(err error) string {
	m := invalid.FindStringSubmatch(err.Error())
	switch {
	case m == nil:
		return err.Error()
	case m[1] != "":
		return fmt.Sprintf("--%s takes true or false, not %s", m[3], m[2])
	}
	return fmt.Sprintf("--%s takes a whole number, not %s", m[3], m[2])
}
