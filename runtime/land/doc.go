// Package land brings the work of an execution as a branch into the repository of
// the user that the workspace is in: one commit for each codon that changed
// something, with trailers that lead back to the checkpoints.
//
// A landing is the branch with its report. A part is what one commit is made of.
// The stage is a place outside of the repository where the commits are made. An
// update adds parts to a branch that an earlier landing has left where it is; the
// reports of landings are the memory of that. A switch puts HEAD and the index on
// the branch.
//
// It reads the execution and takes no lock. In the repository it writes one pack
// and one branch; work tree, index, HEAD and other references stay as they are. Only
// a switch moves the index and HEAD; it writes no file of the work tree, and is
// refused where something staged would not stay as it is.
package land
