package system

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/shirou/gopsutil/v3/cpu"
	"github.com/shirou/gopsutil/v3/disk"
	"github.com/shirou/gopsutil/v3/host"
	"github.com/shirou/gopsutil/v3/load"
	"github.com/shirou/gopsutil/v3/mem"
)

// Machine is what the figures depend on. It names neither the host nor a path.
type Machine struct {
	CPU        string     `json:"cpu"`
	Cores      int        `json:"cores"`
	Memory     uint64     `json:"memoryBytes"`
	System     string     `json:"system"`
	Kernel     string     `json:"kernel"`
	FileSystem string     `json:"fileSystem"`
	Git        string     `json:"git"`
	Go         string     `json:"go"`
	Commit     string     `json:"commit,omitempty"`
	Load       [3]float64 `json:"loadBefore"`
}

// LookAtMachine leaves empty what the system does not tell.
func LookAtMachine(dir string) Machine {
	m := Machine{Cores: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version()}
	if list, err := cpu.Info(); err == nil && len(list) > 0 {
		m.CPU = list[0].ModelName
	}
	if v, err := mem.VirtualMemory(); err == nil {
		m.Memory = v.Total
	}
	m.Kernel, _ = host.KernelVersion()
	m.FileSystem = fileSystem(dir)
	if l, err := load.Avg(); err == nil {
		m.Load = [3]float64{l.Load1, l.Load5, l.Load15}
	}
	m.Git = strings.TrimPrefix(said("git", "version"), "git version ")
	m.Commit = said("git", "-c", "safe.directory=*", "describe", "--always", "--dirty=+changes", "--abbrev=12", "--exclude=*")
	return m
}

// fileSystem is the type of what is mounted nearest above a directory.
func fileSystem(dir string) string {
	mounts, err := disk.Partitions(true)
	if err != nil {
		return ""
	}
	best := disk.PartitionStat{}
	for _, p := range mounts {
		rel, err := filepath.Rel(p.Mountpoint, dir)
		if err == nil && filepath.IsLocal(rel) && len(p.Mountpoint) >= len(best.Mountpoint) {
			best = p
		}
	}
	return best.Fstype
}

func said(name string, args ...string) string {
	out, _ := exec.Command(name, args...).Output()
	return strings.TrimSpace(string(out))
}
