// Package budget computes what an attempt at a codon may use, and what was used.
//
// A budget is written in hank.json, of the whole hank, of a loop or of a codon. A
// limit is what the user gives an execution (--max-cost, --max-time). The accounts
// are what all attempts have used so far. A pool is money that is divided among
// children by an allocation; Limits are what is left to one attempt.
//
// All of it is computed from the state and the program: nothing here reads or
// writes a file, knows the time, or starts anything.
package budget
