// Package repair finds out what of a store is damaged or missing, and saves what can be
// read.
//
//   - A check reads everything, as git fsck does.
//   - A verifier tells of one commit whether all that it needs is there, and remembers
//     what it has seen.
//   - A salvage takes the readable objects out of a damaged pack and sets the pack aside.
//
// It deletes nothing: damaged files go to where the caller says. What is to be done about a
// lost checkpoint is decided by package recovery.
package repair
