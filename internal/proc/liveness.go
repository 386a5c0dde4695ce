package proc

import "fmt"

// Liveness is a verdict on a recorded process.
type Liveness int

// The verdicts. Unknown is the zero value because it is the safe one: a
// process that may live must not be treated as dead.
const (
	Unknown Liveness = iota
	Alive
	Dead
)

// String returns the verdict as one lower-case word.
func (l Liveness) String() string {
	switch l {
	case Alive:
		return "alive"
	case Dead:
		return "dead"
	default:
		return "unknown"
	}
}

// Check reports whether the process lives, and why it thinks so in one clause.
func (id Identity) Check() (Liveness, string) { return judge(id, platform{}) }

// IsStopped reports whether the process is there and does not run: a signal
// has stopped it, or a tracer holds it.
func (id Identity) IsStopped() bool {
	if verdict, _ := id.Check(); verdict != Alive {
		return false
	}
	seen, err := platform{}.observe(id.PID)
	return err == nil && seen.state == stopped
}

// judge decides in three steps, each of which may end with a verdict:
//
//  1. Place: can the process be here at all? See place.
//  2. Presence: no such pid, or a zombie: dead.
//  3. Person: another start time means that the pid was given away: dead.
//     Without a recorded start time it may be anybody: unknown.
func judge(id Identity, src source) (Liveness, string) {
	if id.PID <= 0 {
		return Unknown, "no process id is recorded"
	}
	if verdict, why := place(id, src.machine()); why != "" {
		return verdict, why
	}
	seen, err := src.observe(id.PID)
	if err != nil {
		return Unknown, fmt.Sprintf("process %d cannot be examined: %v", id.PID, err)
	}
	switch {
	case seen.state == gone:
		return Dead, fmt.Sprintf("there is no process %d", id.PID)
	case seen.state == zombie:
		return Dead, fmt.Sprintf("process %d has ended", id.PID)
	case id.StartTicks == 0:
		return Unknown, fmt.Sprintf("a process %d exists, but its start time was not recorded", id.PID)
	case seen.ticks == 0:
		return Unknown, fmt.Sprintf("a process %d exists, but its start time cannot be read", id.PID)
	case seen.ticks != id.StartTicks:
		return Dead, fmt.Sprintf("process id %d now belongs to another process", id.PID)
	case seen.state == stopped:
		return Alive, fmt.Sprintf("process %d is stopped, not ended", id.PID)
	default:
		return Alive, fmt.Sprintf("process %d is running", id.PID)
	}
}

// place compares where the process was recorded with where this one runs. An
// empty reason means that the pid can be looked up here. The boot id comes
// first, so that a renamed host is still the same one; host names decide only
// where there is no boot id to compare.
func place(id Identity, here machine) (Liveness, string) {
	if id.BootID == "" || here.bootID == "" {
		if id.Host != "" && id.Host != here.host {
			return Unknown, fmt.Sprintf("it was started on host %q, this is %q", id.Host, here.host)
		}
		return Unknown, ""
	}
	if id.BootID != here.bootID {
		if sameMachine(id, here) {
			return Dead, "the machine was restarted since"
		}
		return Unknown, fmt.Sprintf("it was started on another machine (%q, this is %q)", id.Host, here.host)
	}
	if id.PIDNamespace != "" && here.pidNamespace != "" && id.PIDNamespace != here.pidNamespace {
		return Unknown, "it was started in another PID namespace (container) of this machine"
	}
	return Unknown, ""
}

// sameMachine reports whether a record of another boot was made on this machine.
// Where both machine ids are known they decide. Otherwise the host name has
// to, unless it is one that machines have before somebody names them.
func sameMachine(id Identity, here machine) bool {
	if id.Machine != "" && here.machineID != "" {
		return id.Machine == here.machineID
	}
	switch id.Host {
	case "", "localhost", "localhost.localdomain", "(none)":
		return false
	}
	return id.Host == here.host
}
