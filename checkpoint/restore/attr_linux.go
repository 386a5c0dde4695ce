package restore

import (
	"golang.org/x/sys/unix"

	"hank/checkpoint/worktree"
)

// attributesAt returns what keeps name in dirfd, or dirfd itself for "", from
// being removed or written, as far as the file system says it.
func attributesAt(dirfd int, name string) attributes {
	var st unix.Statx_t
	_, err := worktree.RetryInterrupted(func() (struct{}, error) {
		return struct{}{}, unix.Statx(dirfd, name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH|unix.AT_NO_AUTOMOUNT, unix.STATX_TYPE, &st)
	})
	if err != nil {
		return attributes{}
	}
	return attributes{
		immutable:  st.Attributes&unix.STATX_ATTR_IMMUTABLE != 0,
		appendOnly: st.Attributes&unix.STATX_ATTR_APPEND != 0,
		mounted:    name != "" && st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0,
	}
}
