package system

import (
	"os"
	"syscall"
)

// PeakOf is the most memory that a process had; 0 if nobody says.
func PeakOf(p *os.ProcessState) int64 {
	if u, ok := p.SysUsage().(*syscall.Rusage); ok {
		return u.Maxrss << 10
	}
	return 0
}
