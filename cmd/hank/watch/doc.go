// Package watch has the command hank watch: package screen on a terminal, kept up to date from
// the files of executions.
//
// It changes nothing itself. What a person asks for there is done by the other commands of hank,
// which it starts as processes: they ask, check and record as they do when they are typed.
package watch
