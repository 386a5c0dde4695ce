// Package lock lets one process at a time write an execution, and tells readers who that
// is.
//
// A lock is a file that is held by flock(2) and names the process; where file systems do
// not keep such locks, the process is looked up by its start time. Outer executions, whose
// workspace holds this one, are locked against a move for as long. MayAct refuses a
// command that an agent's own processes give about the execution that runs them.
//
// It ends no process and removes no lock of a living one.
package lock
