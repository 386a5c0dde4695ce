// Package checkpoint keeps the states of a workspace as commits of a git repository of
// its own. It is the facade of the packages below it: it opens a store, takes a
// snapshot, commits it, and reads what is there.
//
//   - A store is that repository: packs, references and the scanner's cache.
//   - A snapshot is what a look at a workspace has found, as a tree whose objects are
//     not yet durable; Commit makes it durable, or Abort forgets it.
//   - A checkpoint is a commit that a branch of the store reaches. Once Commit
//     and then the move of its branch have returned, it survives a crash and a power cut.
//
// It knows nothing of codons, runs or executions, and never writes into a workspace:
// that is what checkpoint/restore does.
package checkpoint
