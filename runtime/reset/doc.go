// Package reset moves an execution out of its directory, so that the hank can start
// over there, and back again.
//
// A reset moves everything that hank has made in an execution's directory to a dated
// directory in it: what is moved is an execution as before, which can be looked at,
// and an undo moves it back. Nothing is deleted, and no file is written but the
// record of the reset, recovery/layout.Reset, which is in hank's own directory:
//
//  1. The record is written. From then on the execution is being reset.
//  2. Each thing is renamed, hank's own directory last: until then no new execution
//     can begin.
//
// The undo goes the other way: the record says so, hank's own directory is renamed
// first, the others follow, and the record is removed. Between its first and its last
// step no command but hank reset acts on the execution: see layout.Resetting. Both
// can be repeated from any place, in either direction.
//
// The package does not read or repair the state: a damaged execution can be reset.
package reset
