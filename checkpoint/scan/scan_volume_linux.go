package scan

import "golang.org/x/sys/unix"

// isOpenForWriting reports whether any process has the file open for writing, or
// mapped so. The kernel changes a file's times at the first store to a mapped
// page only; later ones, until the page is written back, leave no trace. So a
// file that somebody may hold so mapped while it is read is read again next
// time, and a mapping that is made afterwards shows by its own first store.
//
// A read lease is granted only if nobody has the file open for writing, and is
// given back at once. It wants a file of one's own: of others' files, and on
// file systems without leases, nothing is known and the answer is no.
func isOpenForWriting(fd int) bool {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK)
	if err != nil {
		return err == unix.EAGAIN
	}
	// It cannot fail, and closing the file would give the lease back too.
	_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_UNLCK)
	return false
}

// habits tells how the file system of an open directory dates changes.
//
// unseen: it keeps files in memory alone. It has no writing back, and so never
// asks when a mapped page is written to: a page that was read before it was
// written shows no change at all.
//
// dated: it is one of the local ones that set the times of a directory with each
// name. One that is shared between machines, or is made of others, may show them
// late or not at all.
func habits(fd int) (unseen, dated bool) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		return false, false
	}
	switch uint32(st.Type) {
	case unix.TMPFS_MAGIC, unix.RAMFS_MAGIC:
		return true, true
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC: // ext2 and ext3 have ext4's, and whole seconds
		return false, true
	}
	return false, false
}
