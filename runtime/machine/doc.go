// Package machine looks whether this machine can run a hank: whether what the hank
// requires, its agents and its sandbox are here, and whether sh can parse the scripts
// that it is going to be given.
//
// A fact about the machine is a diagnostic of a rule that says so (diagnostic.Rule).
// Nothing is written, no script is run, and nothing but agents is started and sh -n.
package machine
