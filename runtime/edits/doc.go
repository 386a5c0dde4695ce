// Package edits finds what the user has changed in a workspace since hank has last
// looked, and words the question about it.
//
// An edit is a difference between the checkpoint that the workspace was left at
// and what is on disk, less what hank itself, a move that could not finish, or an
// ignored file explains.
//
// It only reads: the answer is acted on by the runtime.
package edits
