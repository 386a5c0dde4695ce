//go:build linux || darwin

package control

import (
	"errors"
	"net"
	"os"
)

// listen makes a socket that only this user may connect to. Until its mode is
// set, its folder (0700) and sameUser keep others out; a umask would not do: it
// is one for the whole process, and takes the exec bit from whatever another
// goroutine or a child writes meanwhile.
func listen(path string) (net.Listener, error) {
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
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
