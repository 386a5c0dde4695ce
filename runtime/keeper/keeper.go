// Package keeper starts a command so that nothing of it can be left over.
//
// Agents are not trusted to end, nor to end what they started. The runtime
// therefore starts none of a codon's commands itself. It starts its own program again with
// the argument Subcommand; that process, the keeper, adopts whatever the command
// leaves behind, kills it, and reports only when it has no child left.
//
//	runtime ── control pipe (fd 3) ──▶ keeper ── fork ──▶ command ──▶ …
//	        ◀── report pipe (fd 4) ──         ◀─ orphans ───────────┘
//	        ◀── stdout, stderr ──────────────────────────── command
//
// Who may die, and what happens then:
//
//   - The command: the keeper kills what is left and reports.
//   - The runtime: the control pipe ends; the keeper kills everything.
//   - The keeper: the kernel kills the command (PR_SET_PDEATHSIG); the runtime
//     misses the report and ends the rest, which it adopts (BecomeSubreaper)
//     and which carries the attempt in its environment.
//   - Runtime and keeper at once, or the runtime while the keeper hangs: the
//     watchdog, a process beside the keepers that the runtime starts with the first
//     of them, ends what carries the attempt in its environment.
//   - All of them at once: whoever opens the execution next calls Reap.
//
// Out of reach is what leaves the tree on purpose, by asking a service that was
// there before (cron, systemd-run, a container daemon), and what hides its
// environment and its session when runtime and keeper die together.
package keeper

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"hank/internal/proc"
)

// Subcommand is the first argument with which the program starts itself as a
// keeper. A program (or test binary) that calls Start must begin its main (or
// TestMain) with: if that is its first argument, os.Exit(keeper.Main()).
const Subcommand = proc.KeeperSubcommand

// attemptVariable is the environment variable that marks everything that an
// attempt has started.
const attemptVariable = proc.AttemptVariable

// DefaultStopGrace is used where a Spec names none.
const DefaultStopGrace = 5 * time.Second

// maxString is the longest argument or environment entry that Linux takes,
// its final NUL included (MAX_ARG_STRLEN, 32 pages; execve(2)).
const maxString = 128 << 10

// Spec is a command to run.
type Spec struct {
	// Args is the command line. Args[0] is a path (a relative one counts from
	// Dir) or a name to be looked up on the PATH of Env.
	Args []string
	// Env is the whole environment as KEY=value; the last entry of a key wins.
	Env []string
	// Dir is the absolute working directory.
	Dir string
	// Workspace is the directory of the executions that the command may act on, see
	// proc.MayAct; "" is Dir.
	Workspace string
	// Stdin is written to the command's standard input, which then ends.
	Stdin []byte
	// StopSignal asks the command to end; 0 is SIGTERM. After StopGrace (0 is
	// DefaultStopGrace) what is left is killed.
	StopSignal syscall.Signal
	StopGrace  time.Duration
	// Attempt becomes the value of attemptVariable in the environment. It must
	// be unique over all executions of a machine.
	Attempt string
	// Limit is the longest time that the command may run; 0 is none. Then it
	// is stopped, as by Stop.
	Limit time.Duration
	// Writable are the files and directories that the command, and all that it
	// starts, may change; nil leaves it anything. Where the kernel cannot
	// confine it, it is not started. See package sandbox.
	Writable []string
}

// Streams take the command's output as it comes; nil discards. A writer that
// blocks makes the command wait. One that fails is not used again, the rest
// of that stream is thrown away, and Wait returns the error.
type Streams struct {
	Stdout, Stderr io.Writer
}

// Exit says how a command ended.
type Exit struct {
	Code     int    // exit code; -1 for a death by signal, or if the keeper was lost
	Signal   string // name of the signal that ended it, such as SIGKILL; or empty
	Stopped  bool   // Stop or Kill was called before it ended
	TimedOut bool   // it was stopped because Spec.Limit was over
	// Killed names what the command left behind and had to be killed, at most
	// maxLeftovers of it; KilledTotal counts all.
	Killed      []Leftover
	KilledTotal int
	KeeperLost  bool          // the keeper was killed: how the command ended is not known
	Duration    time.Duration // from the command's start to its end
}

// maxLeftovers bounds Exit.Killed: a fork bomb must not fill a record.
const maxLeftovers = 50

// Leftover is a process that outlived the command that had started it.
type Leftover struct {
	PID     int    `json:"pid"`
	Command string `json:"command"` // shortened, without what looks like secrets
}

// AliveError tells that something an attempt started could not be killed: it
// belongs to another user, or hangs in the kernel (state D). It still runs.
type AliveError struct {
	Attempt string
	Alive   []Leftover
}

func (e *AliveError) Error() string {
	names := make([]string, 0, len(e.Alive))
	for _, p := range e.Alive {
		names = append(names, fmt.Sprintf("%d (%s)", p.PID, p.Command))
	}
	return fmt.Sprintf("what attempt %q started cannot be killed and still runs: process %s; kill it as its owner, or reboot",
		e.Attempt, strings.Join(names, ", "))
}

// killPatience is how long killing is repeated before an AliveError.
const killPatience = 30 * time.Second

// ErrUnsupported is returned by Start on systems that the keeper does not know.
var ErrUnsupported = errors.New("running commands is not supported on this system: hank needs Linux or macOS")

// check refuses what could never be started, with a reason that names it, and
// fills in defaults.
func (s Spec) check() (Spec, error) {
	if len(s.Args) == 0 || s.Args[0] == "" {
		return s, errors.New("the command is empty")
	}
	if s.Attempt == "" {
		return s, errors.New("the attempt has no name, so what it leaves behind could not be found")
	}
	if !filepath.IsAbs(s.Dir) {
		return s, fmt.Errorf("the working directory %q is not absolute", s.Dir)
	}
	if s.StopSignal == 0 {
		s.StopSignal = syscall.SIGTERM
	}
	if s.StopGrace == 0 {
		s.StopGrace = DefaultStopGrace
	}
	if s.Workspace == "" {
		s.Workspace = s.Dir
	}
	env, err := mergeEnv(s.Env, attemptVariable+"="+s.Attempt)
	if err != nil {
		return s, err
	}
	s.Env = env
	for i, arg := range s.Args {
		if err := checkString(fmt.Sprintf("argument %d", i), arg); err != nil {
			return s, err
		}
	}
	return s, nil
}

// mergeEnv keeps the last entry of each key, where the first one stood. The C
// library and others disagree about which of two counts.
func mergeEnv(env []string, last string) ([]string, error) {
	merged := make([]string, 0, len(env)+1)
	index := make(map[string]int, len(env)+1)
	for _, entry := range append(env[:len(env):len(env)], last) {
		key, _, ok := strings.Cut(entry, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("the environment entry %.40q is not KEY=value", entry)
		}
		if err := checkString("the environment variable "+key, entry); err != nil {
			return nil, err
		}
		if at, seen := index[key]; seen {
			merged[at] = entry
			continue
		}
		index[key] = len(merged)
		merged = append(merged, entry)
	}
	return merged, nil
}

func checkString(what, s string) error {
	if strings.Contains(s, "\x00") {
		return fmt.Errorf("%s contains a NUL byte", what)
	}
	if len(s)+1 > maxString {
		return fmt.Errorf("%s has %d bytes, and the system takes %d at most; pass long text through standard input or a file",
			what, len(s), maxString-1)
	}
	return nil
}
