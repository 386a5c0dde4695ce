package flock

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Owner is the process that took the exclusive lock of what f is open on, as
// proc_locks(5) has it. It is 0 where nobody has, or the kernel does not tell:
// of a process in another PID namespace, and on another machine. One that has
// ended may be named while a process that it was starting has the lock. It takes
// 10 to 20 ms at times: the kernel waits for all its cores before it tells.
func Owner(f *os.File) (pid int) {
	var st unix.Stat_t
	if unix.Fstat(int(f.Fd()), &st) != nil {
		return 0
	}
	list, err := os.ReadFile("/proc/locks")
	if err != nil {
		return 0
	}
	file := fmt.Sprintf("%02x:%02x:%d", unix.Major(st.Dev), unix.Minor(st.Dev), st.Ino)
	for line := range strings.Lines(string(list)) {
		// 1: FLOCK  ADVISORY  WRITE 4711 fe:00:1234 0 EOF; who waits has -> behind the number
		field := strings.Fields(line)
		if len(field) < 6 || field[1] != "FLOCK" || field[3] != "WRITE" || field[5] != file {
			continue
		}
		if pid, err := strconv.Atoi(field[4]); err == nil && pid > 0 {
			return pid
		}
	}
	return 0
}
