// Package runtime drives a plan: it brings an execution into order, runs codon
// after codon, and makes every step a place to return to.
//
// A command is a Request (what is wanted), Answers (what is decided in advance) and a
// UI (how to talk), see package request. run.go has the order of everything; open.go
// opens or creates the execution, program.go chooses the program that the run follows,
// with what package hankfile has read and compared. Package startpoint computes where
// the run starts, and start.go brings the workspace there. steps.go goes through the
// plan; attempt.go gives each attempt what it needs of the execution (package codon
// runs it), and end.go closes the run.
//
// Everything that is kept goes through execution.Execution; everything that is started
// for a codon goes through the keeper. The package may not change the journal, the state
// or the store in another way, and prints nothing itself: the UI does, and the caller
// ends the process.
package runtime
