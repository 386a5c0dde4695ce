// Package recovery brings an execution into order when it is opened, and tells readers
// what it would do.
//
//   - Open reads the sources of the state (state.json, its backup, the journal, the
//     checkpoints), repairs what a crash or damage has left, and returns an
//     execution.Execution that may be written.
//   - A stage is one part of that. It only looks, and plans repairs.
//   - A Repair is one thing that an opening does: the sentence that readers print and the
//     function that Open calls.
//   - A View is what a reader sees: the state that counts, the repairs that the next
//     opening makes, and what the user must decide before it can.
//   - An abandoned branch is that of a run on an abandoned lineage path, which a rollback
//     has left, or a recovery branch.
//
// It runs no codon and starts no process. What is damaged is put into quarantine under a
// name that is reported, never deleted. What only the user can decide is a
// finding.DecisionError. What it looks at before the lock is taken it looks at again
// under the lock.
package recovery
