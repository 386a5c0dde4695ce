// Package verdict decides in a word how an execution, a run or an attempt at a
// codon is, what that word leaves unsaid, which command continues from there, and
// with which exit code and sentence an error ends a command.
//
// It reads records and changes nothing. What commands print of it is put together
// in runtime/report.
package verdict
