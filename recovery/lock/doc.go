// Package lock lets one process at a time write an execution, and tells readers who that
// is.
//
// A lock is flock(2) on the execution's directory and on its workspace, and a file that names
// the process that holds them; where file systems do not keep such locks, the process is looked
// up by its start time. The directories above are locked shared, so that an outer execution,
// whose workspace holds this one, does not run meanwhile. MayAct refuses a
// command that an agent's own processes give about the execution that runs them, or about
// any that is not in the codon's workspace.
//
// It ends no process and removes no lock of a living one.
package lock
