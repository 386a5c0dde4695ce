// Package githistory reads back from the commits of a store what the state has about them:
// each checkpoint's message has the record that it was made for.
//
//   - A record is the transition of a checkpoint and its number in the journal, as a
//     trailer of the commit's message. With the commit and the branch that it was found
//     on it is a commit record.
//   - A title is its first line, for people.
//   - A history is what the commits of all branches tell, where the state is lost.
//
// It only reads; what follows from it is applied by package recovery.
package githistory
