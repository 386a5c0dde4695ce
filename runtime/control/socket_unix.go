//go:build linux || darwin

package control

import (
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// umask is one for the whole process.
var umask sync.Mutex

// listen makes a socket that nobody else may connect to, at no moment.
func listen(path string) (net.Listener, error) {
	umask.Lock()
	defer umask.Unlock()
	old := unix.Umask(0o177)
	defer unix.Umask(old)
	return net.Listen("unix", path)
}

// sameUser tells whether the client belongs to this user, or to root. The
// socket's mode says so already; this holds where modes of sockets do not.
func sameUser(conn net.Conn) bool {
	c, ok := conn.(*net.UnixConn)
	if !ok {
		return false
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	uid := -1
	if err := raw.Control(func(fd uintptr) { uid = peer(int(fd)) }); err != nil {
		return false
	}
	return uid == 0 || uid == os.Getuid()
}
