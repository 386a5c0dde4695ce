// Package packindex is the format of the index of a pack: where in the pack each object
// begins, by its id (gitformat-pack(5), version 2).
//
// It knows bytes alone: reading and writing files, and what to do about a damaged index, is
// package packdb's.
package packindex
