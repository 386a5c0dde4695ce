// Package request has what a command gives to a run.
//
// A Request is what is wanted, and Answers are what is decided in advance. A UI is how to
// talk with whoever started the command; a Question is a decision that is missing, with
// the Choices that a terminal offers. An Outbox hands what is told to the UI in order.
//
// The package decides nothing and touches no execution.
package request
