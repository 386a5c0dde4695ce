// Package worktree opens the directory that checkpoints are taken of, and the files below
// it, and knows which names a tree may have.
//
//   - A workspace is a directory that is held open by its descriptor; it notices when
//     another directory is at its path.
//   - An escaped name is how a tree stores a name that git refuses, such as .git.
//   - A temporary name is that of a file which a restore is writing.
//
// Every path is opened component by component below the workspace, so that no symbolic
// link leads out of it. It reads no content and changes nothing.
package worktree
