//go:build !linux && !darwin

package caller

import "net/netip"

// peer: nothing is known of the other end.
func peer(int) (uid, pid int) { return -1, -1 }

// ofTCP: nothing is known of the other end.
func ofTCP(_, _ netip.AddrPort) (int, []int, error) { return -1, nil, ErrUnknown }
