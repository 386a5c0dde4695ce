// Package remote copies the checkpoints of a store to another git repository, and back.
//
// A remote is an address and a prefix of branches; a transfer is what was sent or fetched,
// and what was refused. An address is shown without its secrets.
//
// It speaks git's protocols through go-git and changes no state of an execution. References
// move one by one after all that they lead to is durable: those that an interrupted transfer has
// not moved are as they were, and the next one moves them.
package remote
