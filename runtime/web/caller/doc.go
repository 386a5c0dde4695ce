// Package caller finds the process at the other end of a connection to this one, on the
// same machine.
//
// Over a Unix socket the kernel says it. Over TCP on the loopback, Linux lists the sockets
// of all processes and their owners; elsewhere it cannot be found. A socket that several
// processes hold has several callers, and each counts.
//
// The package decides nothing about them, and sends nothing.
package caller
