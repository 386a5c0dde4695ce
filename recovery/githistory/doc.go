// Package githistory reads back from the commits of a store what the state has about them:
// each checkpoint's message has the record that it was made for.
//
//   - A record is the transition of a checkpoint, as a trailer of its message.
//   - A title is its first line, for people.
//   - A history is what the commits of all branches tell, where the state is lost.
//
// It only reads; what follows from it is applied by package recovery.
package githistory
