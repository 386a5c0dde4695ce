// Package liveview is the read model of those who watch executions: what is known of an
// execution as of an event of its journal. The terminal view and the web page draw it.
//
//   - A View is an execution as of event Seq: the saved state, with the journal since. An
//     event makes the next View of it, purely; views share what did not change.
//   - A Tree is the plan with what has run, loops folded, each node with its verdict, time
//     and cost. A Need says why a person has to look at an execution.
//   - A Follower keeps a View up to date from the files, and a List the executions of the user.
//
// A viewer works the same for executions that run, are detached, have crashed, are finished,
// or are copies, because it reads files alone. The package asks no runtime, waits for none,
// and writes nothing; what it knows is of the files when it last looked. Verdicts and the next
// command are those of package report.
package liveview
