// Package diff lists what differs between two trees, and words it as a patch.
//
// A change is a path that was added, deleted or modified, with both sides' mode and
// object. Directories of equal trees are not read: the cost grows with what differs, not
// with what is there.
//
// It reads objects alone, never a workspace, and detects no renames.
package diff
