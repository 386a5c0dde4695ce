// Package exitcode holds the exit codes of the command line, which are published
// and never change, and the errors that stand for one of them alone: a wrong
// command line, a hank that cannot be run, an agent that is missing.
//
// It imports nothing of the runtime. Which code an error of another package has
// is decided by verdict.CodeOf.
package exitcode
