package caller

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// peer is the user id and the process id of the other end of a Unix socket, or -1.
func peer(fd int) (uid, pid int) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return -1, -1
	}
	return int(cred.Uid), int(cred.Pid)
}

// ofTCP finds who holds the socket whose own address is remote, and whose other end is
// local. The kernel names its owner and its inode, and the open files of the
// processes show who has it. What this user may not look into belongs to others.
func ofTCP(local, remote netip.AddrPort) (uid int, pids []int, err error) {
	uid, inode, err := socketOf(local, remote)
	if err != nil {
		return -1, nil, err
	}
	wanted := "socket:[" + inode + "]"
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return -1, nil, err
	}
	for _, process := range processes {
		files, err := os.ReadDir(process + "/fd")
		if err != nil {
			continue
		}
		for _, f := range files {
			if to, err := os.Readlink(process + "/fd/" + f.Name()); err == nil && to == wanted {
				pid, err := strconv.Atoi(filepath.Base(process))
				if err != nil {
					return -1, nil, err
				}
				pids = append(pids, pid)
				break
			}
		}
	}
	if len(pids) == 0 {
		return uid, nil, ErrUnknown
	}
	return uid, pids, nil
}

// socketOf looks the socket up in the tables of the kernel.
func socketOf(local, remote netip.AddrPort) (uid int, inode string, err error) {
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		f, err := os.Open(table)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return -1, "", err
		}
		uid, inode, err := find(bufio.NewScanner(f), local, remote)
		_ = f.Close() // it was only read
		if inode != "" || err != nil {
			return uid, inode, err
		}
	}
	return -1, "", ErrUnknown
}

// find reads the lines of a table: number, own address, other address, state, queues,
// timer, retransmissions, user, timeout, inode.
func find(lines *bufio.Scanner, local, remote netip.AddrPort) (uid int, inode string, err error) {
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 10 {
			continue
		}
		own, err := address(f[1])
		other, also := address(f[2])
		if err != nil || also != nil || own != unmapped(remote) || other != unmapped(local) || f[9] == "0" {
			continue
		}
		uid, err := strconv.Atoi(f[7])
		return uid, f[9], err
	}
	return -1, "", lines.Err()
}

// address reads an address as the kernel writes it: words of 32 bits in the order of the
// machine, and the port.
func address(text string) (netip.AddrPort, error) {
	host, port, found := strings.Cut(text, ":")
	raw, err := hex.DecodeString(host)
	number, also := strconv.ParseUint(port, 16, 16)
	if !found || err != nil || also != nil || len(raw)%4 != 0 {
		return netip.AddrPort{}, fmt.Errorf("%q is no address", text)
	}
	for i := 0; i < len(raw); i += 4 {
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	ip, ok := netip.AddrFromSlice(raw)
	if !ok {
		return netip.AddrPort{}, fmt.Errorf("%q is no address", text)
	}
	return unmapped(netip.AddrPortFrom(ip, uint16(number))), nil
}

// unmapped is an address of IPv4 as such, also where a socket of IPv6 has it.
func unmapped(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}
