// Package question tells which decision the next command will ask for, before it is run:
// for status, doctor and the list of executions.
//
// It looks at the same things in the same order as a run does, and changes nothing.
package question
