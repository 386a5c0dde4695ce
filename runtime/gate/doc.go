// Package gate decides at which gate an execution is, and what an answer to it
// does.
//
//   - A gate is a place in the plan, before or after a codon or loop, that a person has
//     to let the run pass.
//   - A request asks at a gate about one checkpoint; state.Gate has it with its answer.
//   - A request counts where the execution stands at its gate with the checkpoint that
//     it is about. So a move changes no request, and decides which ones count: behind
//     the gate the work is another one, and the next run asks again; at the gate it is
//     still pending, or its approval still holds.
//   - An answer of no counts once: the codon fails for it, and the request is closed.
//
// Everything here is computed from a state, the answer and a time. The package writes
// nothing, reads no clock, and knows nothing of who may answer.
package gate
