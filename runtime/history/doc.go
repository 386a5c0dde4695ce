// Package history finds, lists and compares places in the history of an execution, and
// goes back to them.
//
// A target is a place that the user has named: a codon, a run, a SHA. A list shows
// checkpoints, newest first. A difference is what differs between two targets, or
// between one and the workspace. A rollback moves workspace and position to a
// target; an undo reverts the last move. A preview words the plan of a move without
// applying it; it needs no lock.
//
// Only Rollback changes anything, by one move of the execution. It runs no codon.
package history
