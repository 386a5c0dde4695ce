// Package proctest runs parts of tests in a PID namespace of their own, where
// nobody else starts processes: pids can be given away at will there, and a
// whole machine's worth of processes can end at once.
package proctest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Command is the test binary with arguments, as the first process of a new PID
// namespace; it calls Enter first. Whoever is not root needs user namespaces.
func Command(args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWUTS}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	return cmd
}

// Refused is the reason why namespaces cannot be had here; empty: they can.
func Refused() string {
	cmd := Command("__namespace")
	cmd.Path, cmd.Args = "/bin/true", []string{"true"}
	if err := cmd.Run(); err != nil {
		return fmt.Sprintf("no PID namespace of its own: %v", err)
	}
	return ""
}

// Enter gives the new namespace its own /proc.
func Enter() error {
	if os.Getpid() != 1 {
		return errors.New("this is no PID namespace of its own")
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep the mounts of others: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	return nil
}

// As starts processes until one has the pid; of the others, which the threads
// of this one are to blame for, nothing is left.
func As(pid int, start func() (*exec.Cmd, error)) (*exec.Cmd, error) {
	for range 10000 {
		if err := os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(pid-1)), 0); err != nil {
			return nil, err
		}
		cmd, err := start()
		if err != nil || cmd.Process.Pid == pid {
			return cmd, err
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	return nil, fmt.Errorf("the pid %d is not to be had", pid)
}
