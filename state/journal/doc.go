// Package journal is the append-only log of an execution's events, the first of the three
// sources of its state (the others are state.json and the checkpoints). What Sync has
// acknowledged is found again by Open, whatever happened to the machine in between; what is
// damaged is reported and never read as an event.
//
//   - An Event has a number, which orders it, and data that the journal does not
//     interpret.
//   - A segment is one file of the journal. The current one is written to; the others are
//     closed.
//   - A base is a segment that a reader can begin with: its first event carries what must
//     be known of the past.
//   - A Place is where an event ends in the current segment.
//
// The package applies no event and takes no lock: its caller is the only writer. After a
// write or sync that failed it accepts nothing more. What is damaged it changes only after
// its caller's Quarantine has kept a copy.
//
// # Files
//
// A journal is a directory. events.jsonl is the segment being written; a closed
// one is called events.<number of its first event, 20 digits>.jsonl and does
// not change again, unless it is damaged: then it is cut before the damage or removed. events.jsonl.tmp is a segment that is being made, and never read.
//
// A segment is a text of lines, each one JSON object with these keys in this
// order and no space between tokens:
//
//	{"seq":7,"id":"...","timestamp":"2026-01-02T03:04:05.678Z","type":"...","data":{...},"sum":"1f2e3d4c"}
//
// sum is the CRC-32C (Castagnoli, RFC 3720) in lower-case hexadecimal of all
// bytes of the line before `,"sum":`. Numbers run without gaps. The journal
// gives no meaning to ids, types and data; an unknown type is never damage.
//
// The first line of each segment is its header and not an event: type
// "journal.segment", seq the number of the event before it, and as data the
// schema number and whether the segment is a base:
//
//	{"seq":6,"id":"segment",...,"type":"journal.segment","data":{"schema":4,"base":false},"sum":"..."}
//
// A base restarts the history: its first event carries all that a reader
// must know of the past, and its number may be any one higher than those
// before. A journal begins with a base, and gets another when it is damaged.
//
// All events of a segment have the schema of its header or an older one. What is
// appended to a journal of an older schema begins a segment, so that a hank that
// does not know the new schema refuses the journal before it reads such an event.
package journal
