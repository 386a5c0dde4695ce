// Package breaker lets the runs of a user learn from each other that a provider does not
// answer for now, so that each of them does not have to meet the same limit itself.
//
//   - A Key is what limits of a provider are about: the provider, the address at which it is
//     asked, and a digest of the credential. The credential itself is nowhere.
//   - A Breaker is what is known about a key. It is closed as long as the provider answers.
//     Failures of the kinds rate_limit, usage_limit and overloaded open it until the limit
//     ends, as far as that is known, or is estimated.
//   - A probe is the one attempt that is let through when that time has come. If the model
//     answers it, the breaker is closed; if it meets the limit again, the breaker is open
//     again. A probe whose process is gone, or that takes too long, is none any more.
//   - An Account is a breaker as one attempt at a codon uses it.
//
// What follows from what is in core.go: a state machine without a clock, a disk or processes
// of its own. The Store keeps one small file for each breaker in the user's state directory.
// Breakers are best effort: a file that cannot be read, written or understood costs nothing
// but what the breaker would have spared, and all of them can be deleted at any time.
//
// The package fails no codon, waits for nothing, and makes no request.
package breaker
