// Package restore brings a workspace to a tree, and leaves alone what is not its own.
//
//   - A plan lists what a restore is to write and to delete, what blocks it, and what the
//     system is going to refuse.
//   - New content is staged under a temporary name beside its target, synced, and
//     exchanged with what is there. What was there is looked at before it goes.
//   - What a restore replaces or deletes is displaced first, under a temporary name. If somebody
//     has changed it meanwhile, it is restored, or kept under a name that the report tells. What
//     the system does not rename is looked at and then replaced, see overwrite.
//
// No existing file is opened for writing, and no symbolic link is followed. It makes no
// checkpoint: the caller has preserved what a restore replaces. After a crash ClearUp ends
// what was left in the middle.
package restore
