// Package execution is the write path of an execution: everything that is remembered
// goes through it.
//
//   - Record writes a transition to the journal; state.json follows in the background.
//   - Commit makes a checkpoint and the transition that acknowledges it.
//   - PlanMove works out what going to a checkpoint does to the workspace. The plan's
//     Preview reports it, and PerformMove does it: an intent is recorded before the first file is
//     touched and closed after the last.
//   - Watch and Inspect notice with package integrity that an agent has changed hank's own
//     files, and rewrite the journal and state.json.
//
// An Execution is what an opening returns: the lock, the journal, the checkpoints and the
// present state. A transition is acknowledged once Record or Commit has returned without an
// error. After a failed write or sync of the journal nothing more is acknowledged, except where an
// agent had changed or deleted the journal, so that nothing was written: see lastLook.
//
// The order of the steps is what makes a crash at any moment harmless; it is above
// each of these functions. The package does not choose what is to
// be done next, and repairs no earlier damage: that is package recovery.
package execution
