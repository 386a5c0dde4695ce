//go:build !unix

package runtime

// nonblock is for systems with FIFOs among the files.
const nonblock = 0
