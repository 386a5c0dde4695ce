package proc

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

var fixedFacts = sync.OnceValue(func() machine {
	var m machine
	m.bootID, _ = unix.Sysctl("kern.bootsessionuuid")
	if id, err := unix.Sysctl("kern.uuid"); err == nil && id != "" {
		sum := sha256.Sum256([]byte("hank machine " + id))
		m.machineID = hex.EncodeToString(sum[:8])
	}
	return m
})

// Values of P_stat in sys/proc.h.
const (
	statusStopped = 4
	statusZombie  = 5
)

// endedOrStopped returns zombie or stopped, and unseen for anything else.
// (gopsutil would start ps for it.)
func endedOrStopped(pid int) lifeState {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return unseen
	}
	switch p.Proc.P_stat {
	case statusZombie:
		return zombie
	case statusStopped:
		return stopped
	default:
		return unseen
	}
}

func list() ([]Info, error) {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	here := platform{}.machine()
	infos := make([]Info, 0, len(all))
	for i := range all {
		p := &all[i]
		// The same rounding as gopsutil's CreateTime, which observe uses.
		started := p.Proc.P_starttime
		ticks := uint64(started.Sec)*1000 + uint64(started.Usec)/1000
		infos = append(infos, Info{
			Identity: here.identity(int(p.Proc.P_pid), ticks),
			Parent:   int(p.Eproc.Ppid),
			Group:    int(p.Eproc.Pgid),
			Zombie:   p.Proc.P_stat == statusZombie,
			Stopped:  p.Proc.P_stat == statusStopped,
		})
	}
	return infos, nil
}

// environ returns the environment that a process of the same user was started
// with. KERN_PROCARGS2 gives: the number of arguments, the program's path,
// padding of NULs, the arguments, the environment, an empty string.
func environ(pid int) ([]byte, error) {
	b, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil || len(b) < 4 {
		return nil, errNoEnviron
	}
	args := int(binary.LittleEndian.Uint32(b))
	_, b, _ = bytes.Cut(b[4:], []byte{0})
	b = bytes.TrimLeft(b, "\x00")
	for range args {
		_, b, _ = bytes.Cut(b, []byte{0})
	}
	if end := bytes.Index(b, []byte{0, 0}); end >= 0 {
		b = b[:end+1]
	}
	return b, nil
}
