// Package progress shows a run to people while it runs.
//
// An event is something that the run tells, in the order in which it happens: the
// plan, a codon that begins or has ended, a remark, the end. What changes all the
// time between two events (the time, the cost, the tool that is running) is no
// event: the Monitor of the run has it, and whoever shows it looks when it suits
// them.
//
// Rendering is pure: it makes lines of an event, or one line of an Activity, for a
// terminal or for a file, and asks neither clock nor terminal. A Printer puts the
// lines on the terminal, above a live line.
//
// Nothing here decides how something is, reads an execution or writes into one, and
// a run never waits for a terminal but where it prints a line.
package progress
