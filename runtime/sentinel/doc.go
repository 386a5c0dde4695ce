// Package sentinel runs the sentinels of a codon: models that observe the events of an
// attempt and write down what they think of them.
//
//   - A Set has the sentinels of one attempt. It follows the journal, and never the other way
//     round: whoever writes the journal waits for no sentinel.
//   - An inbox collects the events that a trigger lets through into batches, as the strategy
//     says. It is bounded: the oldest go, and it is counted.
//   - A worker is the goroutine of one sentinel: it takes one batch after the other, asks
//     the model and writes the answer.
//   - A Report is what a worker wants recorded. An answer is written to its files after the
//     caller has recorded what it has cost, and not before.
//
// The package records nothing itself, holds no lock of an execution, and cannot fail a
// codon. Its clock and its models are given to it.
package sentinel
