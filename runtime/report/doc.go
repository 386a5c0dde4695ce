// Package report has what people and programs are told: how an execution, a run or
// a codon stands (verdicts), what it has cost, the commands that go on from there,
// the sentence and the exit code of an error.
//
// A verdict is the word for how something stands; a caveat is what it leaves
// unsaid. The cost index is a projection of the journal: costs are summed up from
// the records where it cannot be asked.
//
// It changes no execution. The cost index is the only file that it writes, in
// another process if the caller wants that.
package report
