// Package recovery brings an execution into order when it is opened, and tells readers
// what it would do.
//
//   - Open validates the records of an execution (state.json, its copy, the journal, the
//     checkpoints), closes what a crash has left open, and returns an
//     execution.Execution that may be written.
//   - A view is what a reader sees: the same state, and the same findings, with nothing
//     written.
//   - An abandoned branch is a timeline that a rollback has left.
//
// It runs no codon and starts no process. What is damaged is set aside under a name that
// is told, never deleted. What only the user can decide is a finding.DecisionError.
package recovery
