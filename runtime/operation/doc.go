// Package operation decides what becomes of a command whose caller gave it an id
// (--op-id), so that a script can repeat a command of which it does not know whether it
// was carried out.
//
// An operation is a command with an id and a digest of its arguments. It is recorded
// with its act: in the intent of the move that it makes, in the run that it begins, and
// with its answer when it is over. Its standing is what a state knows of it:
//
//   - New: nothing. The command is carried out.
//   - Moving: its move is under way, or a crash has interrupted it. The next opening
//     finishes it.
//   - Moved: its move is complete, and what comes after it is missing: its run, or only
//     the record of its answer. Nothing is moved again.
//   - CutOff: its run has ended without an answer, because a crash came. Another run of
//     the same operation continues, as hank run does after a crash.
//   - Running: its run is in progress.
//   - Answered: it is over. The answer is given again, and nothing is done.
//
// A command that was refused, or ended with a question, before it changed anything has
// used no id. The package reads a state; it opens nothing, and it performs nothing.
package operation
