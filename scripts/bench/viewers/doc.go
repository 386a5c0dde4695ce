// Command viewers measures those who watch runs, with the real program: how fast hank watch
// answers a key over a long transcript, how fast hank web makes a page over a long journal, how
// much memory both take, and what a run loses to its viewers. scripts/bench/watch starts it.
//
// It reports figures beside their targets, and never fails by the clock. It changes nothing
// but what it has made itself.
package main
