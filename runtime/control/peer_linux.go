package control

import "golang.org/x/sys/unix"

// peer is the user id and the process id of the other end, or -1.
func peer(fd int) (uid, pid int) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return -1, -1
	}
	return int(cred.Uid), int(cred.Pid)
}
