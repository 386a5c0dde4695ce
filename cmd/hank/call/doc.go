// Package call is one call of hank on the command line: the flags that commands share,
// the execution that a call is about, the settings that hold for it, and how it prints,
// asks and ends.
//
// It knows no command. Nothing outside of cmd/hank uses it.
package call
