package report

import (
	"hank/recovery/finding"
	"hank/runtime/verdict"
)

// personDecides reports whether a command, which the user may give, is withheld from
// a program: it raises a limit or a budget, names a model, or continues after a crash
// loop (nil if there is none). why is the reason for which it would be refused as it is; empty if it
// would not be. raise: a budget has to be raised before the command of Continue.
func personDecides(command string, raise bool, loop *finding.DecisionError) (why string, decides bool) {
	switch {
	case verdict.Personal(command, false):
		return "", true
	case verdict.Personal(command, raise):
		return "a budget is used up; nothing runs before it is raised", true
	case loop != nil:
		return loop.What + "; an unattended start is refused", true
	}
	return "", false
}
