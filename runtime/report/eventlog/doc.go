// Package eventlog tells what the journal of an execution has: it reads the events that
// a query selects, follows those that come, and has a name and a sentence for each.
//
// An Event is as the journal has it; Name and Sentence are for people. The package writes
// nothing and takes no lock.
package eventlog
