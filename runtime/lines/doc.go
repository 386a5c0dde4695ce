// Package lines reads windows of large text files: the lines from a number on, wherever they
// are in a file of millions.
//
//   - An index has the offset of every stride-th line, 8 bytes each: a file of a million lines
//     has an index of some 60 kB. It grows with its file, which is only ever appended to.
//   - A File is a file with its index. It reads no more than the window and the lines between
//     the indexed one and the first wanted.
//
// An index is a projection: it can be saved, and is built again where it does not fit the file,
// or cannot be read. The package reads files and writes indexes alone; what is in a line is no
// matter to it.
package lines
