package proc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// What marks the processes of a codon.
const (
	// KeeperSubcommand is the first argument of a keeper, the process below which
	// everything runs that a codon, a rig or a check starts. The name of the
	// attempt and its workspace follow.
	KeeperSubcommand = "__keeper"
	// AttemptVariable is in the environment of all that.
	AttemptVariable = "HANK_ATTEMPT"
	// workspaceVariable is in the environment of agents and scripts.
	workspaceVariable = "HANK_WORKSPACE"
	// NotifyPrefix begins the attempts of commands that are told of a run's end:
	// the user named them on the command line, and no agent has.
	NotifyPrefix = "notify/"
)

// Work is what a process works on, as its keeper or its environment says.
type Work struct {
	Attempt   string
	Workspace string // "" if that is not known
}

// DeniedError says that a codon's process wants what only the user may.
type DeniedError struct {
	PID    int
	Target string // the execution
	Work   Work   // in which the process runs
	Why    string // why it cannot be told where the process comes from; empty if it can
}

func (e *DeniedError) Error() string {
	if e.PID < 1 {
		return fmt.Sprintf("a process may not act on %s where %s", e.Target, e.Why)
	}
	if e.Why != "" {
		return fmt.Sprintf("process %d may not act on %s: it cannot be told whether a codon has started it: %s", e.PID, e.Target, e.Why)
	}
	where := "the execution is its own, or not in that codon's workspace " + e.Work.Workspace
	if e.Work.Workspace == "" {
		where = "that codon's workspace is not known"
	}
	return fmt.Sprintf("process %d may not act on %s: codon attempt %s has started the process, and %s; give the command in a terminal of your own",
		e.PID, e.Target, e.Work.Attempt, where)
}

// MayAct reports, as a *DeniedError, whether a process may not act on an
// execution because a codon has started it, or something that a codon has
// started; unless the execution is inside the workspace of each such codon, and is
// not the one that runs it. lineage names the execution, as the attempts of its
// codons do; it may be empty where there is none yet. It goes by ancestors (an orphan's is its keeper), and by the marks in their
// environment. What it does not see is in docs/security.md.
func MayAct(pid int, execution, lineage string) error {
	works, err := worksOf(pid)
	if err != nil {
		return &DeniedError{PID: pid, Target: execution, Why: err.Error()}
	}
	for _, w := range works {
		own := lineage != "" && strings.HasPrefix(w.Attempt, lineage+"/")
		if own || w.Workspace == "" || !liesIn(execution, w.Workspace) {
			return &DeniedError{PID: pid, Target: execution, Work: w}
		}
	}
	return nil
}

// Workspaces returns the workspaces of the codons that a process works for, as far
// as they are known, innermost first and without links.
func Workspaces(pid int) []string {
	works, _ := worksOf(pid)
	var list []string
	for _, w := range works {
		if real, err := filepath.EvalSymlinks(w.Workspace); err == nil && w.Workspace != "" {
			list = append(list, real)
		}
	}
	return list
}

// worksOf returns what a process and its ancestors work on, innermost first.
func worksOf(pid int) ([]Work, error) {
	if pid < 1 {
		return nil, errors.New("the system does not say which one it is")
	}
	chain, err := ancestry(pid)
	if err != nil {
		return nil, err
	}
	var works []Work
	kept := map[string]bool{}
	for _, p := range chain {
		args := cmdline(p)
		if len(args) < 3 || args[1] != KeeperSubcommand {
			continue
		}
		w := Work{Attempt: args[2]}
		if len(args) > 3 {
			w.Workspace = args[3]
		}
		kept[w.Attempt] = true
		if !strings.HasPrefix(w.Attempt, NotifyPrefix) {
			works = append(works, w)
		}
	}
	all := make([][]string, len(chain))
	for i, p := range chain {
		all[i] = cmdline(p)
	}
	if orphaned(all) {
		works = append(works, Work{Attempt: "(its keeper is gone)"})
	}
	for _, p := range chain { // whose keeper is gone, or not above it
		env, err := environ(p)
		attempt := variable(env, AttemptVariable)
		if err != nil || attempt == "" || kept[attempt] || strings.HasPrefix(attempt, NotifyPrefix) {
			continue
		}
		kept[attempt] = true
		works = append(works, Work{attempt, variable(env, workspaceVariable)})
	}
	return works, nil
}

// orphaned reports whether one of a process and its ancestors, whose command lines these are,
// is an orphan of a codon whose keeper was killed: a child of a run that is no keeper. A run
// starts nothing else that acts, the command of --notify neither. A command with --detach is
// no run: it starts one.
func orphaned(chain [][]string) bool {
	for i := 1; i < len(chain); i++ {
		args, child := chain[i], chain[i-1]
		if len(args) > 1 && filepath.Base(args[0]) == "hank" && slices.Contains(runs, args[1]) && !detaches(args) && (len(child) < 2 || child[1] != KeeperSubcommand) {
			return true
		}
	}
	return false
}

func detaches(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		name, value, inline := strings.Cut(strings.TrimLeft(a, "-"), "=")
		on, err := strconv.ParseBool(value)
		return name == "detach" && a[0] == '-' && (!inline || on || err != nil)
	})
}

// runs are the commands that run codons.
var runs = []string{"run", "resume", "retry"}

// variable returns the value of an entry in a block of NUL-terminated strings.
func variable(env []byte, key string) string {
	for entry := range strings.SplitSeq(string(env), "\x00") {
		if value, found := strings.CutPrefix(entry, key+"="); found {
			return value
		}
	}
	return ""
}

// ancestry returns a process and its ancestors. A listing is no atomic picture:
// it is made again while an ancestor is missing that others do not hide.
func ancestry(pid int) ([]int, error) {
	err := errors.New("its ancestors change too fast")
	for range 20 {
		list, lerr := List()
		if lerr != nil {
			return nil, lerr
		}
		parents := make(map[int]int, len(list))
		for _, p := range list {
			parents[p.PID] = p.Parent
		}
		var chain []int
		seen := map[int]bool{}
		for at := pid; ; at = parents[at] {
			if _, there := parents[at]; !there && at > 0 && errors.Is(signalNothing(at), os.ErrProcessDone) {
				if at == pid {
					return nil, errors.New("it has ended")
				}
				break // it has ended since, and its children have another parent
			}
			if at <= 0 || seen[at] {
				return chain, nil
			}
			seen[at], chain = true, append(chain, at)
		}
	}
	return nil, err
}

// signalNothing tells, without a listing, whether a process is there.
func signalNothing(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return os.ErrProcessDone
	}
	defer p.Release()
	return p.Signal(syscall.Signal(0))
}

// liesIn reports whether a path, which need not be there yet, is a directory or inside it.
func liesIn(path, dir string) bool {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return false
	}
	rest := ""
	for {
		at, err := filepath.EvalSymlinks(abs)
		if err == nil {
			abs = filepath.Join(at, rest)
			break
		}
		if !errors.Is(err, os.ErrNotExist) || abs == filepath.Dir(abs) {
			return false
		}
		if _, lerr := os.Lstat(abs); lerr == nil {
			return false // a link to nothing
		}
		abs, rest = filepath.Dir(abs), filepath.Join(filepath.Base(abs), rest)
	}
	rel, err := filepath.Rel(real, abs)
	return err == nil && filepath.IsLocal(rel)
}
