// Package upkeep has the commands that show and look after what an execution has stored:
// checkpoints with their export and import, diff, land, gc.
//
// As in all of cmd/hank, a command reads flags and prints; what it says is computed in
// package runtime/report and those below.
package upkeep
