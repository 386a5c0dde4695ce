// Package loop decides when a loop of a hank is over.
//
//   - A Rule is what a hank says in terminateOn. The compatible system has two kinds, which
//     need no verdict: iterationLimit and contextExceeded. Ours are judged after each
//     iteration: plateau, command, and any and all of these.
//   - A Ballot is what one voter says about one iteration: stop or continue, and why. The
//     voter of a plateau is the tree of the checkpoints, or a codon; that of a command is its
//     exit code.
//   - A Verdict is what follows from the ballots of an iteration and from the verdict on the
//     iteration before it: whether the loop is over, with each Vote and how it was counted.
//
// It is pure: Decide gets what was said and what was counted so far. It reads no file, runs
// no command and knows no clock; who asks the voters and records the verdict is above it.
package loop
