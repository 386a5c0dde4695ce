// Package codon takes one codon through one attempt: its rig, its agent, how that
// has ended, its outputs, its checkpoint.
//
// An attempt is one try at a codon. A turn is one process of its agent. A host is
// what the run gives to an attempt. A request asks the run, from outside, to stop
// or to skip the codon.
//
// Where the run goes on, whether a codon is tried again and what the plan becomes
// is not decided here.
package codon
