// Package diagnostic says what is wrong with a hank or its settings, and where.
//
// A Diagnostic is one problem at one place of a document; it breaks a Rule of the table,
// which gives its severity. A Reporter collects those of one look at a hank.
//
// The package knows the rules by their names alone: which text breaks one is decided by
// those who read it. It reads no file and prints nothing.
package diagnostic
