package scan

import "golang.org/x/sys/unix"

func fingerprintOf(st *unix.Stat_t) fingerprint {
	return fingerprint{size: st.Size, mtime: st.Mtim.Nano(), ctime: st.Ctim.Nano(), inode: st.Ino, mode: uint32(st.Mode)}
}
