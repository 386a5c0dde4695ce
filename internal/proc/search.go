package proc

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/shirou/gopsutil/v3/process"

	"hank/internal/secret"
)

// Self identifies the calling process.
func Self() (Identity, error) { return Of(os.Getpid()) }

// Of identifies the process that has the pid now, be it a zombie. If there is
// none, the error matches os.ErrProcessDone.
func Of(pid int) (Identity, error) {
	seen, err := platform{}.observe(pid)
	if err != nil {
		return Identity{}, fmt.Errorf("identify process %d: %w", pid, err)
	}
	if seen.state == gone {
		return Identity{}, fmt.Errorf("identify process %d: %w", pid, os.ErrProcessDone)
	}
	return platform{}.machine().identity(pid, seen.ticks), nil
}

// StartedAt is when the process that has the pid now was started, by the
// present setting of the clock; a second or two may be missing. It tells a
// process from the one that had its pid before, where nothing better was
// recorded.
func StartedAt(pid int) (time.Time, error) {
	ms, err := (&process.Process{Pid: int32(pid)}).CreateTime()
	if err != nil {
		return time.Time{}, fmt.Errorf("find out when process %d was started: %w", pid, err)
	}
	return time.UnixMilli(ms), nil
}

// List returns all processes that can be seen. It is no atomic picture: what
// starts or ends meanwhile may be in it or not.
func List() ([]Info, error) { return list() }

// Below returns the descendants of root in a listing, parents before their
// children, zombies included.
func Below(list []Info, root int) []Info {
	children := make(map[int][]Info, len(list))
	for _, p := range list {
		if p.PID != p.Parent && p.PID != root {
			children[p.Parent] = append(children[p.Parent], p)
		}
	}
	found := append([]Info(nil), children[root]...)
	for i := 0; i < len(found); i++ {
		// Taking each list once ends the walk even if a listing that is not
		// atomic shows a circle.
		next := children[found[i].PID]
		delete(children, found[i].PID)
		found = append(found, next...)
	}
	return found
}

// Descendants identifies the living descendants of a process, parents first.
func Descendants(pid int) ([]Identity, error) {
	all, err := List()
	if err != nil {
		return nil, err
	}
	var ids []Identity
	for _, p := range Below(all, pid) {
		if !p.Zombie {
			ids = append(ids, p.Identity)
		}
	}
	return ids, nil
}

// HasEnv reports whether the process was started with key=value in its
// environment. It is false for a zombie, for a process whose environment
// cannot be read (of another user, or overwritten), and for a moment while a
// process executes another program.
func (p Info) HasEnv(key, value string) bool {
	if p.Zombie {
		return false
	}
	env, err := environ(p.PID)
	if err != nil || !hasEntry(env, []byte(key+"="+value)) {
		return false
	}
	// The pid may have changed hands between the listing and the reading.
	now, err := platform{}.observe(p.PID)
	return err == nil && now.ticks == p.StartTicks
}

// WithEnv identifies the living processes that were started with key=value in
// their environment, the calling one included. See HasEnv for what is missed.
func WithEnv(key, value string) ([]Identity, error) {
	if key == "" || strings.ContainsAny(key, "=\x00") || strings.Contains(value, "\x00") {
		return nil, fmt.Errorf("search processes by environment: %q is no variable", key+"="+value)
	}
	all, err := List()
	if err != nil {
		return nil, err
	}
	var ids []Identity
	for _, p := range all {
		if p.HasEnv(key, value) {
			ids = append(ids, p.Identity)
		}
	}
	return ids, nil
}

// hasEntry looks for an entry in a block of NUL-terminated strings.
func hasEntry(block, entry []byte) bool {
	for len(block) > 0 {
		one, rest, _ := bytes.Cut(block, []byte{0})
		if bytes.Equal(one, entry) {
			return true
		}
		block = rest
	}
	return false
}

// maxCmdLine bounds what CmdLine shows of the arguments, in characters.
const maxCmdLine = 80

// CmdLine returns the program and the beginning of its arguments for people
// to read, or "" if the process is gone. Values that look like secrets, and those of
// secrets in its environment or in that of this process, are masked before anything is
// cut. Unprintable characters are replaced.
func (id Identity) CmdLine() string {
	args := cmdline(id.PID)
	env, _ := environ(id.PID) // of one that hides it nothing more is known
	if verdict, _ := id.Check(); verdict != Alive {
		return ""
	}
	var known secret.Values
	known.Add(strings.Split(string(env), "\x00"))
	known.Add(os.Environ())
	for i, arg := range args {
		args[i] = string(known.Known([]byte(arg)))
	}
	return showArgs(args)
}

func showArgs(args []string) string {
	if len(args) == 0 {
		return ""
	}
	shown := make([]string, 0, len(args))
	mask := false
	for _, arg := range args[1:] {
		name, _, isAssignment := strings.Cut(arg, "=")
		switch {
		case mask:
			shown, mask = append(shown, secret.Mask), false
		case secret.Names(name) && isAssignment:
			shown = append(shown, name+"="+secret.Mask)
		case looksSecret(arg):
			shown = append(shown, secret.Mask)
		default:
			shown = append(shown, arg)
			mask = strings.HasPrefix(arg, "-") && !strings.ContainsAny(arg, " \n") && secret.Names(arg)
		}
	}
	rest := clip(strings.Join(shown, " "), maxCmdLine)
	return strings.TrimSpace(clip(args[0], 2*maxCmdLine) + " " + rest)
}

// looksSecret knows the common forms of keys that stand alone, at the start
// of a word, also where they were cut.
func looksSecret(arg string) bool {
	for _, word := range strings.Fields(arg) {
		for _, prefix := range []string{"sk-", "ghp_", "gho_", "github_pat_", "xox", "AIza", "Bearer"} {
			if strings.HasPrefix(word, prefix) {
				return true
			}
		}
	}
	return secret.Text(arg) != arg
}

// clip replaces what a terminal might act on and cuts after max characters.
func clip(s string, max int) string {
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n == max {
			b.WriteString("…")
			break
		}
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			r = ' '
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}

// Children identifies the living children of the calling process, without
// the listing of everybody that a search of all descendants needs. It is empty
// where the kernel does not tell (it is an option of Linux: CONFIG_PROC_CHILDREN).
func Children() []Identity { return children() }
