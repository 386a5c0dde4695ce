// Package logview makes of a transcript what people read.
//
//   - Lines reads the lines of a file that may still grow, one at a time.
//   - A Parser makes of each line its Entries: what the agent said, a tool that it used,
//     what that answered. It is the reader of the agent's own harness that knows what a
//     line means.
//   - A Printer writes entries as text, and an Encoder lines as JSON objects.
//
// Each step is a function of what it gets and of what came before in the same
// transcript, so that a live view can use the first two and draw by itself. Memory is
// bounded by the longest line that is shown, however long the transcript.
//
// The package knows no execution and opens no file: package report chooses which
// transcripts are shown, and follows a run. An Entry is exact; a Printer alone leaves out
// what would steer a terminal, masks secrets, and cuts.
package logview
