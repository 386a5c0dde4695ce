//go:build !linux && !darwin

package control

import (
	"errors"
	"net"
)

func listen(string) (net.Listener, error) {
	return nil, errors.New("a live run cannot be controlled on this system")
}

func sameUser(net.Conn) bool { return false }
