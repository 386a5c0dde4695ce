// Package packdb is the object database of a checkpoint store: a bare git repository
// that is written by appending packs.
//
//   - A pack holds the new objects of one checkpoint, with its index. It is written under a
//     temporary name, synced, and renamed.
//   - A reference is written only after the packs that it needs are durable, and only if it
//     still is what the caller has seen.
//   - A merge replaces small packs by one; a collection removes what no reference reaches.
//
// Packs, indexes and references are in git's formats (gitformat-pack(5)), so that stock
// git reads the repository while hank writes it.
//
// It does not look at a workspace, knows no ignore rule, and repairs no object: damage is an
// error that says what is damaged. What a crash has left (a HEAD, an index or a file that only
// hank makes) it completes or removes.
package packdb
