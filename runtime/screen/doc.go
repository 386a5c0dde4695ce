// Package screen is what hank watch shows: executions as rows of characters, and what keys do.
//
//   - A Screen is what is on the terminal: a list of executions, or one of them with a page. It
//     changes by Key, Resize, and by what it is given of the read model; Draw makes rows of it.
//   - A Command is what a key asks of the world outside: run a command of hank, show a
//     transcript in the pager, leave. The screen itself does nothing.
//   - A Log is the window of a transcript, of which no more is read than is shown.
//
// All but a Log is pure. No row is wider than the screen, and nothing that an agent has written
// steers the terminal: Draw alone adds escape sequences, of the 16 colours, and only where
// colours are wanted. The package knows no terminal library.
package screen
