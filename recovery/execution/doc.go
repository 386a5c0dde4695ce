// Package execution is the write path of an execution: everything that is remembered
// goes through it.
//
//   - Record writes a transition to the journal, and then to state.json.
//   - Commit makes a checkpoint and the transition that acknowledges it.
//   - Move brings the workspace to a checkpoint: an intent is recorded before the first
//     file is touched and closed after the last.
//   - The monitor notices when an agent has changed hank's own files.
//
// The order of the steps is what makes a crash at any moment harmless; it is above
// each of these functions, with its failpoints. The package does not choose what is to
// be done next, and repairs no earlier damage: that is package recovery.
package execution
