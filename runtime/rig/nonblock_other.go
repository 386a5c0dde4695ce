//go:build !unix

package rig

// nonblock is for systems with FIFOs among the files.
const nonblock = 0
