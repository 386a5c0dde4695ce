// Package rig does the scripted work around an agent: the rig that sets the
// workspace up before it starts, the checks and copies of its output files, and
// the archive of files that a codon has finished with.
//
// A rig is a list of operations, commands and copies. Outputs are what a codon's
// patterns give, copied out of the workspace. The archive keeps files that were
// moved out of it, listed in a manifest.
//
// It does not record anything in the state and makes no checkpoint: the caller
// does, before something is replaced (Save) and after it.
package rig
