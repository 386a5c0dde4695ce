//go:build !unix

package harnesstest

import (
	"os"
	"os/exec"
	"syscall"

	"hank/runtime/harness/transcript"
)

func grouped(cmd *exec.Cmd) func(syscall.Signal) error {
	return func(s syscall.Signal) error { return cmd.Process.Signal(s) }
}

func exitOf(state *os.ProcessState) transcript.Exit {
	return transcript.Exit{Code: state.ExitCode()}
}
