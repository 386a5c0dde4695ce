// Package load reads the state of an execution from the best record that is intact:
// state.json, its copy and the journal after it, in this order. The head file is a short
// form of the result for readers that only want to know how a run stands.
//
// What it could not read, and why, is in the report. It repairs nothing and writes the head
// file alone, which nothing depends on.
package load
