package state

// Verdict is what package consistency finds in a state that it compares with nothing else.
type Verdict struct {
	Valid            bool
	First            string // the kind of the first error
	Errors, Warnings []string
}

// validated checks a state. That package imports this one, so that a test from outside
// connects them.
var validated func(*State) Verdict

func SetValidated(check func(*State) Verdict) { validated = check }
