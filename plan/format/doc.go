// Package format lays out the JSON that users write, so that a diff shows only what has
// changed.
//
// The layout is the white space between the tokens of a text. Everything else stays as it
// is, byte for byte: the order of members, how numbers and strings are written, members that
// hank does not know. A text that is no JSON, or has a name twice, is reported and not laid
// out. The package reads and writes no file.
package format
