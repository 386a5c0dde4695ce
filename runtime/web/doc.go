// Package web serves the pages of hank web, and carries out what is asked for there.
//
//   - A Server listens on the loopback or on a Unix socket. Package guard decides which
//     requests reach it, package page makes what they get.
//   - An address is where a server is, with its token; it is in a file of the user's own, as
//     long as the server lives.
//   - An act is what a person wants done: an answer at a gate, a skip, a stop, a rollback. It
//     is carried out by the code of the commands, about what the person saw and nothing
//     newer, and a line of the audit says who asked for it, and what came of it.
//
// The server runs no codon and holds no execution: viewers read files. It starts nothing and
// opens no browser.
package web
