package lock

import (
	"os"

	"golang.org/x/sys/unix"
)

// RemoteTypes are the magic numbers of file systems where flock is answered by this machine alone
// or not kept at all (statfs(2)).
var RemoteTypes = map[int64]bool{
	0x6969: true, 0x517b: true, 0xff534d42: true, 0xfe534d42: true, 0x65735546: true, // nfs, smb, cifs, smb2, fuse
	0x01021997: true, 0x00c36400: true, 0x5346414f: true, 0x0bd00bd0: true, // 9p, ceph, afs, lustre
}

// FlockTrusted reports whether an obtained flock proves that nobody else, on any
// machine, holds the directory.
func FlockTrusted(dir *os.File) bool {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(dir.Fd()), &st); err != nil {
		return false
	}
	return !RemoteTypes[int64(uint32(st.Type))]
}
