// Package report is what commands tell of an execution, as data: where it is, what
// is wrong with it and which command to run next, its plan, runs and checkpoints,
// and what its codons printed. The command line prints these values, or shows them as
// JSON. Costs are in package cost, events in package eventlog.
//
// It changes no execution. Verdicts, and the command that continues, come from
// package verdict, which the runtime itself uses.
package report
