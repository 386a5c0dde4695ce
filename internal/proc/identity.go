// Package proc tells processes apart, finds out whether one still lives, finds
// those that belong together and ends exactly those that are meant.
//
// A process id alone names nothing for long: the kernel gives it away again,
// every PID namespace counts from one, and after a boot the count starts over.
// An Identity therefore carries the boot, the namespace and the start time as
// well. Verdicts are cautious: what cannot be proven is Unknown, and this package
// never takes Unknown for dead. A caller with evidence of its own may: recovery does
// where the process would hold a lock and file locks can be trusted.
package proc

// Identity names one life of one process. The zero values of the optional
// fields mean "not recorded"; records of other programs may hold a pid only.
type Identity struct {
	// Host is the host name at the time of recording. It explains, and decides
	// only where no boot id does: hosts get renamed.
	Host string `json:"host"`
	// Machine is a digest of the operating system's machine id. It survives a
	// change of the host name. It is left out in containers, whose machine id
	// comes with the image and is shared by all that run it.
	Machine string `json:"machine,omitempty"`
	// BootID changes with every boot of the machine. Containers share it with
	// the machine that they run on.
	BootID string `json:"bootId"`
	// PIDNamespace is the inode of the namespace in which PID counts.
	PIDNamespace string `json:"pidNamespace,omitempty"`
	PID          int    `json:"pid"`
	// StartTicks is the start time as the platform keeps it: clock ticks since
	// boot on Linux (field 22 of /proc/<pid>/stat, proc(5)), which no change
	// of the wall clock moves; milliseconds since 1970 elsewhere.
	StartTicks uint64 `json:"startTicks,omitempty"`
}
