// Package steps defines what a codon of hank.json says of its own step, beside what it
// is asked to do: when it is skipped, what must be there when it is done, and how it is
// tried again.
//
//   - A Condition (skipIf) is asked before the codon begins. It holds if all its parts do.
//   - An Expectation (expect) is checked when the agent has ended well, before the
//     checkpoint of its completion.
//   - A Kind is a kind of failure after which another attempt may end otherwise; a Rule
//     says for some kinds how often and when that is tried. The Policy for a kind is what
//     its rule and the rest of retryConfig come to.
//
// Of what is done before the agent it says which commands look dangerous (Destroyer) and where a
// copy cannot go (BadTarget, IsTemporary, TooLong,
// Copies), and which pattern gives no file (NoName).
//
// The package is data and what follows from it alone. It runs no command and reads no
// file; who does, and what a failure was, is known to the packages of the runtime.
package steps
