// Package history finds, lists, compares and goes back to places in the history of
// an execution.
//
// A target is a place that the user has named: a codon, a run, a SHA. A list shows
// checkpoints, newest first. A difference is what differs between two targets, or
// between one and the workspace. A rollback moves workspace and position to a
// target; an undo takes the last move back.
//
// Only Rollback changes anything, by one move of the execution. It runs no codon.
package history
