package machine

import "syscall"

// room is how many bytes the arguments and the environment of a process may have together, with
// a NUL and a pointer for each (execve(2)): a quarter of the limit for the stack, at least
// 128 KiB and at most 6 MiB.
func room() uint64 {
	var stack syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_STACK, &stack); err != nil {
		return 6 << 20
	}
	return max(128<<10, min(6<<20, uint64(stack.Cur)/4))
}
