// Package load reads the state of an execution from its sources on the disk: the further
// of state.json and its backup, and the journal after it. The head file is a short form of
// the result for readers that only want to know how a run is.
//
//   - A Result is the state, which source knew most of it, and what an opening must know of
//     the sources: the journal as it was found, and whether it must begin again with a base.
//   - A snapshot is state.json or its backup, verified.
//   - A lineage is what all sources of one execution have in common. A snapshot of
//     another lineage does not count.
//   - The known end is the place in the journal's current segment up to which the writer
//     vouches for it. The head file has it, and viewers verify what comes after it.
//
// What it could not read, and why, is in the report. It takes no lock and does not look
// into git, repairs nothing, and writes the head file alone, which nothing depends on.
package load
