package proc

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/shirou/gopsutil/v3/process"
	"golang.org/x/sys/unix"
)

// platform reads the facts from the kernel.
type platform struct{}

// initialPIDNamespace is the inode of the namespace that the kernel starts
// with (PROC_PID_INIT_INO in linux/proc_ns.h). Any other is a container's.
const initialPIDNamespace = "4026531836"

// fixedFacts holds what cannot change during a process's life. The host name
// can, and is asked for each time.
var fixedFacts = sync.OnceValue(func() machine {
	var m machine
	if b, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		m.bootID = strings.TrimSpace(string(b))
	}
	if link, err := os.Readlink("/proc/self/ns/pid"); err == nil {
		m.pidNamespace = strings.TrimSuffix(strings.TrimPrefix(link, "pid:["), "]")
	}
	if m.pidNamespace == initialPIDNamespace {
		m.machineID = machineID()
	}
	return m
})

func (platform) machine() machine {
	m := fixedFacts()
	m.host, _ = os.Hostname()
	return m
}

// machineID returns a digest of the machine id, because machine-id(5) asks
// not to hand out the id itself.
func machineID() string {
	for _, name := range []string{"/etc/machine-id", "/var/lib/dbus/machine-id"} {
		if b, err := os.ReadFile(name); err == nil && len(bytes.TrimSpace(b)) == 32 {
			sum := sha256.Sum256(append([]byte("hank machine "), bytes.TrimSpace(b)...))
			return hex.EncodeToString(sum[:8])
		}
	}
	return ""
}

// observe reads /proc, and asks gopsutil where that shows nothing: it may only
// hide the processes of others (mount option hidepid). gopsutil is asked second
// because each question leaves a descriptor open until the next garbage
// collection, and because its start time, in seconds, is too coarse and moves with
// the wall clock.
func (platform) observe(pid int) (observation, error) {
	st, err := readStat(pid)
	if err == nil {
		return observation{state: st.life(), ticks: st.ticks}, nil
	}
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ESRCH) {
		return observation{}, err
	}
	if exists, err := process.PidExists(int32(pid)); err == nil && exists {
		return observation{state: unseen}, nil
	}
	return observeBySignal(pid)
}

// observeBySignal proves that a process is gone: only the kernel's "no such
// process" does.
func observeBySignal(pid int) (observation, error) {
	switch err := unix.Kill(pid, 0); {
	case errors.Is(err, unix.ESRCH):
		return observation{state: gone}, nil
	case err == nil || errors.Is(err, unix.EPERM):
		return observation{state: unseen}, nil
	default:
		return observation{}, err
	}
}

// procFS fails unless /proc shows the PID namespace of this process.
var procFS = sync.OnceValue(func() error {
	link, err := os.Readlink("/proc/self")
	if err != nil {
		return fmt.Errorf("/proc is not usable: %w", err)
	}
	if link != strconv.Itoa(os.Getpid()) {
		return errors.New("/proc belongs to another PID namespace")
	}
	return nil
})

// stat is what is used of /proc/<pid>/stat.
type stat struct {
	pid, parent, group, session int
	state                       byte
	threads                     int
	ticks                       uint64
}

func (s stat) life() lifeState {
	switch s.state {
	case 'Z', 'X', 'x':
		// A leader that ended before its other threads looks like a zombie.
		if s.threads > 1 {
			return running
		}
		return zombie
	case 'T', 't': // by a signal, or by a tracer
		return stopped
	default:
		return running
	}
}

func readStat(pid int) (stat, error) {
	if err := procFS(); err != nil {
		return stat{}, err
	}
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, err
	}
	return parseStat(b)
}

// parseStat reads the fields that proc(5) numbers 1, 3, 4, 5, 6, 20 and 22.
// The second field is the command in parentheses and may hold anything, also
// spaces, newlines and parentheses; the last parenthesis ends it.
func parseStat(b []byte) (stat, error) {
	bad := fmt.Errorf("not a process status line: %.80q", b)
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || end < open {
		return stat{}, bad
	}
	fields := strings.Fields(string(b[end+1:]))
	if len(fields) < 20 || len(fields[0]) != 1 {
		return stat{}, bad
	}
	s := stat{state: fields[0][0]}
	var errs [6]error
	s.pid, errs[0] = strconv.Atoi(strings.TrimSpace(string(b[:open])))
	s.parent, errs[1] = strconv.Atoi(fields[1])
	s.group, errs[2] = strconv.Atoi(fields[2])
	s.session, errs[3] = strconv.Atoi(fields[3])
	s.threads, errs[4] = strconv.Atoi(fields[17])
	s.ticks, errs[5] = strconv.ParseUint(fields[19], 10, 64)
	if errors.Join(errs[:]...) != nil {
		return stat{}, bad
	}
	return s, nil
}

func list() ([]Info, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	if err := procFS(); err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	here := platform{}.machine()
	infos := make([]Info, 0, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		s, err := readStat(pid)
		if err != nil {
			continue // it ended since, or is hidden from us
		}
		infos = append(infos, Info{
			Identity: here.identity(pid, s.ticks),
			Parent:   s.parent,
			Group:    s.group,
			Session:  s.session,
			Zombie:   s.life() == zombie,
			Stopped:  s.life() == stopped,
		})
	}
	return infos, nil
}

// environ returns the environment that the process was started with, as
// NUL-terminated strings. A first thread that has ended has none any more;
// the other threads still do.
func environ(pid int) ([]byte, error) {
	dir := "/proc/" + strconv.Itoa(pid)
	env, err := os.ReadFile(dir + "/environ")
	if len(env) > 0 || err != nil && !errors.Is(err, unix.ESRCH) {
		return env, err
	}
	threads, err := os.ReadDir(dir + "/task")
	if err != nil || len(threads) < 2 {
		return nil, err
	}
	for _, thread := range threads {
		if env, err := os.ReadFile(dir + "/task/" + thread.Name() + "/environ"); err == nil && len(env) > 0 {
			return env, nil
		}
	}
	return nil, nil
}

// maxArguments bounds in bytes what is read of the arguments of a process: more than is shown of
// them and the longest secret together.
const maxArguments = 32 << 10

// cmdline returns the first arguments of a process, or its name in brackets
// if it has none.
func cmdline(pid int) []string {
	dir := "/proc/" + strconv.Itoa(pid)
	f, err := os.Open(dir + "/cmdline")
	if err != nil {
		return nil
	}
	defer f.Close()
	b, _ := io.ReadAll(io.LimitReader(f, maxArguments))
	if len(b) > 0 {
		return strings.Split(strings.TrimRight(string(b), "\x00"), "\x00")
	}
	if name, err := os.ReadFile(dir + "/comm"); err == nil {
		return []string{"[" + strings.TrimSpace(string(name)) + "]"}
	}
	return nil
}

// children reads what each thread of this process has started or adopted.
func children() []Identity {
	names, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil || procFS() != nil {
		return nil
	}
	here := platform{}.machine()
	var ids []Identity
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			continue // this thread has ended
		}
		for _, field := range strings.Fields(string(b)) {
			pid, err := strconv.Atoi(field)
			if err != nil {
				continue
			}
			// The child may have been waited for and its pid given away.
			if s, err := readStat(pid); err == nil && s.parent == os.Getpid() && s.life() != zombie {
				ids = append(ids, here.identity(pid, s.ticks))
			}
		}
	}
	return ids
}
