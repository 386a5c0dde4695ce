// Package report is what commands tell of an execution, as data: where it is, what
// is wrong with it and which command to run next, its plan, runs, checkpoints,
// events and costs. The command line prints these values, or shows them as JSON.
//
// It changes no execution. Verdicts, and the command that continues, come from
// package verdict, which the runtime itself uses.
package report
