package control

import "golang.org/x/sys/unix"

// peer is the user id of the other end, or -1.
func peer(fd int) int {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return -1
	}
	return int(cred.Uid)
}
