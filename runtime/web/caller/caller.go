package caller

import (
	"errors"
	"net"
)

// ErrUnknown says that the process cannot be found.
var ErrUnknown = errors.New("the process that asks cannot be found")

// Of returns the processes that hold the other end of a connection, and their user. A
// process of 0 is one outside of this PID namespace. The error is ErrUnknown where this
// system cannot tell, or nobody holds it any more.
func Of(c net.Conn) (uid int, pids []int, err error) {
	switch c := c.(type) {
	case *net.UnixConn:
		raw, err := c.SyscallConn()
		if err != nil {
			return -1, nil, err
		}
		pid := -1
		uid = -1
		if err := raw.Control(func(fd uintptr) { uid, pid = peer(int(fd)) }); err != nil || pid < 0 {
			return uid, nil, ErrUnknown
		}
		return uid, []int{pid}, nil
	case *net.TCPConn:
		local, ok := c.LocalAddr().(*net.TCPAddr)
		remote, also := c.RemoteAddr().(*net.TCPAddr)
		if !ok || !also {
			return -1, nil, ErrUnknown
		}
		return ofTCP(local.AddrPort(), remote.AddrPort())
	}
	return -1, nil, ErrUnknown
}
