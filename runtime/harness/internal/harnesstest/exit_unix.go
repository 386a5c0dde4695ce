//go:build unix

package harnesstest

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"hank/runtime/harness/transcript"
)

// grouped starts a command as a group of processes, and returns what signals to it: an
// agent can be the child of a launcher.
func grouped(cmd *exec.Cmd) func(syscall.Signal) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return func(s syscall.Signal) error { return syscall.Kill(-cmd.Process.Pid, s) }
}

func exitOf(state *os.ProcessState) transcript.Exit {
	exit := transcript.Exit{Code: state.ExitCode()}
	if ws := state.Sys().(syscall.WaitStatus); ws.Signaled() {
		exit.Signal = unix.SignalName(ws.Signal())
	}
	return exit
}
