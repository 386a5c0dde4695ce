// Package scan turns a workspace into a tree: it walks the directories in parallel, reads
// what has changed, and writes new objects into the pending pack.
//
//   - The cache remembers, for each file, what the system said of it (size, times, inode)
//     and its object. A file is read again unless all of it is the same and old enough to
//     be trusted.
//   - A snapshot is the result: the tree, the empty directories, and what was skipped or
//     escaped, by name.
//   - An estimate is a scan that reads no content.
//
// A file that changes while it is read is read again, Attempts times, and is an error then.
// The scanner never writes into the workspace and makes no commit. The time grows with the
// number of entries, and with the bytes of what has changed.
package scan
