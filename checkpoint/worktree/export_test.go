package worktree

// What only the tests outside of the package need.
const (
	AttributesLine = attributesLine
	SpecialLimit   = specialLimit
)
