// Package land brings the work of an execution as a branch into the repository of
// the user that the workspace is in: one commit for each codon that changed
// something, with trailers that lead back to the checkpoints.
//
// A landing is the branch with its report. A part is what one commit is made of.
// The stage is a place outside of the repository where the commits are made.
//
// It reads the execution and takes no lock. In the repository it writes one pack
// and one branch; work tree, index, HEAD and other references stay as they are.
package land
