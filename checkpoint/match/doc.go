// Package match decides which paths of a workspace a checkpoint takes.
//
//   - Ignore rules are those of gitignore(5), of the workspace and of the repositories
//     in it.
//   - A selection is a list of patterns of codons; a selector joins it with the rules.
//   - What is left out is a list of paths that no checkpoint ever takes, whatever the
//     rules say.
//   - The user's index tells which files their own repository tracks: these are taken
//     although they are ignored.
//
// It walks no directory and writes nothing but the list of what is left out.
package match
