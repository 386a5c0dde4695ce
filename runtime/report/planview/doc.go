// Package planview is the plan of a hank or of an execution, expanded: what runs in which
// order, and what holds for each codon, as data, as sentences and as a drawing.
//
// A Plan has an entry for each codon that is laid out, the loops with their stop rules, and
// the sessions that several codons share. It reads a program or a state, and runs nothing.
package planview
