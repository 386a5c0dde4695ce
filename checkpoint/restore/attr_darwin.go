package restore

import (
	"golang.org/x/sys/unix"

	"hank/checkpoint/worktree"
)

// attributesAt returns what keeps name in dirfd, or dirfd itself for "", from
// being removed or written, as far as the file system says it.
func attributesAt(dirfd int, name string) attributes {
	var dir, st unix.Stat_t
	if unix.Fstat(dirfd, &dir) != nil {
		return attributes{}
	}
	st = dir
	if name != "" && worktree.LstatAt(dirfd, name, &st) != nil {
		return attributes{}
	}
	return attributes{
		immutable:  st.Flags&(unix.UF_IMMUTABLE|unix.SF_IMMUTABLE) != 0,
		appendOnly: st.Flags&(unix.UF_APPEND|unix.SF_APPEND) != 0,
		mounted:    st.Dev != dir.Dev,
	}
}
