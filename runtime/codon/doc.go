// Package codon takes one codon through one attempt: its rig, its agent, how that
// has ended, its outputs, its checkpoint.
//
// An attempt is one try at a codon, and a turn one process of its agent. A Spec is
// what the attempt is to do, as plain data; the Host is the border to everything else:
// it records the transitions, makes the checkpoints and passes requests on. The
// checkpoint to start from comes in with the Spec, the one that was made goes out
// with the record. So a codon can run for another host than an execution on this
// disk; the tests have one in memory.
//
// Where the run continues, whether a codon is tried again and what the plan becomes
// is not decided here.
package codon
