package proc

// machine is what can be known about the place where this process runs. Empty
// fields are unknown.
type machine struct {
	host         string
	machineID    string
	bootID       string
	pidNamespace string
}

func (m machine) identity(pid int, ticks uint64) Identity {
	return Identity{
		Host:         m.host,
		Machine:      m.machineID,
		BootID:       m.bootID,
		PIDNamespace: m.pidNamespace,
		PID:          pid,
		StartTicks:   ticks,
	}
}

// lifeState is what can be seen of a process id.
type lifeState int

const (
	unseen  lifeState = iota // it exists, but this process may not look at it
	gone                     // there is no such process
	zombie                   // it has ended and waits for its parent
	running                  // it runs or sleeps
	stopped                  // it was stopped by a signal and can be continued
)

// observation is what was seen when looking at a pid. ticks is 0 if unknown.
type observation struct {
	state lifeState
	ticks uint64
}

// source is where the facts come from, so that tests can bring their own.
type source interface {
	machine() machine
	observe(pid int) (observation, error)
}

// Info is one process as a listing saw it.
type Info struct {
	Identity
	Parent  int // pid of the parent
	Group   int // process group; 0 if unknown
	Session int // session; 0 if unknown
	Zombie  bool
	Stopped bool
}
