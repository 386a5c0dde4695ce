// Package layout knows where the parts of an execution are, and what they are called.
//
//   - A layout is the directory of an execution and the paths in it.
//   - The meta file says what the execution is of: its workspace, its origin, its caps.
//   - A directory's identity (device and inode) tells the execution's own directories from others
//     of the same name, and a copy from its original.
//   - The quarantine is where damaged files go.
//
// It does not interpret state.json and takes no lock.
package layout
