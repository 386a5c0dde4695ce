// Package gc lists and deletes what executions do not need any more: garbage in
// one execution, and executions that have expired as a whole.
//
// A policy says what may go. What a live run, the current lineage path or the undo of a
// rollback needs never does, whatever a policy says.
package gc
