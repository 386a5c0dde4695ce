//go:build linux || darwin

package control

import (
	"errors"
	"net"
	"os"
)

// listen makes a socket that only this user may connect to. Until its mode is
// set, its directory (0700) and mayTalk keep others out; a umask would not do: it
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

// peerOf returns the user and the process at the other end; -1 is unknown.
func peerOf(conn net.Conn) (uid, pid int) {
	c, ok := conn.(*net.UnixConn)
	if !ok {
		return -1, -1
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, -1
	}
	uid, pid = -1, -1
	if err := raw.Control(func(fd uintptr) { uid, pid = peer(int(fd)) }); err != nil {
		return -1, -1
	}
	return uid, pid
}

// mayTalk reports whether the client belongs to this user, or to root. The
// socket's mode ensures that already; this holds where modes of sockets do not.
func mayTalk(uid int) bool { return uid == 0 || uid == os.Getuid() }
