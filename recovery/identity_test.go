//go:build unix

package recovery

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"hank/internal/proc"
	"hank/internal/race"
	"hank/internal/short"
	"hank/recovery/execution"
	"hank/recovery/layout"
	"hank/recovery/lock"
	"hank/state"
)

// sight is what another process sees of an execution: as a reader, and then as
// one who wants to work in it.
type sight struct {
	Live, Crashed bool
	Err           string // of reading
	Held          string // why it cannot be opened; empty: it can
	OpenErr       string // any other reason
	Runs          []state.RunStatus
	ReadTook      int64 // microseconds
	OpenTook      int64
}

// The observer: __observe ROOT [FLAGS…].
//
//	clock=SPAN  its clock goes wrong by so much
//	host=NAME   the host has this name for it
//	untrusted   the file system's locks prove nothing
func init() {
	roles["__observe"] = func(args []string) int {
		root, now, s := args[0], time.Now, sight{}
		for _, flag := range args[1:] {
			name, value, _ := strings.Cut(flag, "=")
			var err error
			switch name {
			case "clock":
				var off time.Duration
				off, err = time.ParseDuration(value)
				now = func() time.Time { return time.Now().Add(off) }
			default:
				err = pretend(name, value, root)
			}
			if err != nil {
				fmt.Fprintln(os.Stderr, flag, err)
				return 1
			}
		}
		began := time.Now()
		v, err := Read(root)
		s.ReadTook = time.Since(began).Microseconds()
		if err != nil {
			s.Err = err.Error()
		} else {
			s.Live = v.Live
			s.Crashed = slices.ContainsFunc(v.State.Runs, v.Crashed)
		}
		began = time.Now()
		x, err := Open(context.Background(), root, execution.Options{Command: "an observer", Now: now})
		s.OpenTook = time.Since(began).Microseconds()
		var held *lock.HeldError
		switch {
		case errors.As(err, &held):
			s.Held = err.Error()
		case err != nil:
			s.OpenErr = err.Error()
		default:
			for _, r := range x.State().Runs {
				s.Runs = append(s.Runs, r.Status)
			}
			if err := x.Close(); err != nil {
				s.OpenErr = err.Error()
			}
		}
		text, err := json.Marshal(s)
		fmt.Println(string(text))
		if err != nil {
			return 1
		}
		return 0
	}
}

// scene is one row of the matrix: an execution, and who holds it.
type scene struct {
	t      *testing.T
	root   string
	holder *other
}

func (s *scene) layout() layout.Layout {
	return layout.Layout{Root: s.root, Workspace: layout.DefaultWorkspace(s.root)}
}

// hold lets another process begin a run.
func (s *scene) hold() {
	s.t.Helper()
	s.holder = startOther(s.t, s.root, "-")
	if !s.holder.holds() {
		s.t.Fatal(s.holder.said)
	}
	s.t.Cleanup(s.holder.kill)
}

// observe lets a third process look.
func (s *scene) observe(flags ...string) sight {
	s.t.Helper()
	cmd := exec.Command(must(os.Executable())(s.t), append([]string{"__observe", s.root}, flags...)...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if slices.ContainsFunc(flags, func(f string) bool { return strings.HasPrefix(f, "host=") }) {
		if why := unshareHost(cmd); why != "" {
			s.t.Skip(why)
		}
	}
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("the observer: %v\n%s", err, &errs)
	}
	return seen(s.t, out)
}

func seen(t *testing.T, out []byte) (s sight) {
	t.Helper()
	if err := json.Unmarshal(bytes.TrimSpace(out), &s); err != nil {
		t.Fatalf("the observer says %q: %v", out, err)
	}
	return s
}

func (s *scene) signal(sig syscall.Signal) { ok(s.t, s.holder.cmd.Process.Signal(sig)) }

// swap puts a copy in the place of a directory that is held.
func (s *scene) swap(dir string) {
	s.t.Helper()
	ok(s.t, os.Rename(dir, dir+".aside"))
	ok(s.t, exec.Command("cp", "-a", dir+".aside", dir).Run())
}

func (s *scene) replaceLock(with func(path string) error) {
	s.t.Helper()
	remove(s.t, s.layout().Lock())
	ok(s.t, with(s.layout().Lock()))
}

// matrix is what may become of a run and of those who look at it. live: nobody
// may show it as crashed nor take it. dead: a reader shows it as crashed, and
// the next one who opens it closes it. Rows that need a namespace of their own
// are in [namespaces].
var matrix = []row{
	{"live", live, func(s *scene) sight { s.hold(); return s.observe() }},
	{"dead", dead, func(s *scene) sight { s.hold(); s.holder.kill(); return s.observe() }},
	{"zombie", dead, func(s *scene) sight {
		s.hold()
		s.signal(syscall.SIGKILL)
		id := must(proc.Of(s.holder.cmd.Process.Pid))(s.t)
		for verdict, _ := id.Check(); verdict != proc.Dead; verdict, _ = id.Check() {
			time.Sleep(time.Millisecond)
		}
		return s.observe()
	}},
	{"stopped", live, func(s *scene) sight { s.hold(); s.signal(syscall.SIGSTOP); return s.observe() }},
	{"stopped, then killed", dead, func(s *scene) sight { s.hold(); s.signal(syscall.SIGSTOP); s.holder.kill(); return s.observe() }},
	{"stopped, and continued", live, func(s *scene) sight {
		s.hold()
		s.signal(syscall.SIGSTOP)
		s.signal(syscall.SIGCONT)
		return s.observe()
	}},
	{"live, clock set back a year", live, func(s *scene) sight { s.hold(); return s.observe("clock=-8760h") }},
	{"live, clock set forward a year", live, func(s *scene) sight { s.hold(); return s.observe("clock=8760h") }},
	{"dead, clock set back a year", dead, func(s *scene) sight { s.hold(); s.holder.kill(); return s.observe("clock=-8760h") }},
	{"dead, clock set forward a year", dead, func(s *scene) sight { s.hold(); s.holder.kill(); return s.observe("clock=8760h") }},
	{"live, host renamed", live, func(s *scene) sight { s.hold(); return s.observe("host=renamed") }},
	{"dead, host renamed", dead, func(s *scene) sight { s.hold(); s.holder.kill(); return s.observe("host=renamed") }},
	{"live, folder moved", live, func(s *scene) sight { s.hold(); s.move(); return s.observe() }},
	{"dead, folder moved while it lived", dead, func(s *scene) sight { s.hold(); s.move(); s.holder.kill(); return s.observe() }},
	{"live, folder copied: the original", live, func(s *scene) sight { s.hold(); s.copy(); return s.observe() }},
	{"live, folder copied: the copy", dead, func(s *scene) sight { s.hold(); s.root = s.copy(); return s.observe() }}, // it lives in the original alone
	{"dead, folder copied while it lived: the copy", dead, func(s *scene) sight { s.hold(); s.root = s.copy(); s.holder.kill(); return s.observe() }},
	{"live, lock file removed", live, func(s *scene) sight {
		s.hold()
		remove(s.t, s.layout().Lock())
		return s.observe()
	}},
	{"live, lock file replaced by nonsense", live, func(s *scene) sight {
		s.hold()
		s.replaceLock(func(path string) error { return os.WriteFile(path, []byte("{"), 0o600) })
		return s.observe()
	}},
	{"live, lock file replaced by a dead one's", live, func(s *scene) sight {
		s.hold()
		s.replaceLock(func(path string) error {
			return os.WriteFile(path, must(json.Marshal(lock.LockInfo{Schema: 1, PID: 1 << 30, LockID: "x", Process: proc.Identity{PID: 1 << 30}}))(s.t), 0o600)
		})
		return s.observe()
	}},
	{"live, lock file replaced by a folder", live, func(s *scene) sight {
		s.hold()
		s.replaceLock(func(path string) error { return os.Mkdir(path, 0o700) })
		return s.observe()
	}},
	{"live, lock file replaced by a FIFO", live, func(s *scene) sight {
		s.hold()
		s.replaceLock(func(path string) error { return syscall.Mkfifo(path, 0o600) })
		return s.observe()
	}},
	{"dead, lock file replaced by a FIFO", dead, func(s *scene) sight {
		s.hold()
		s.replaceLock(func(path string) error { return syscall.Mkfifo(path, 0o600) })
		s.holder.kill()
		return s.observe()
	}},
	{"dead, lock file names somebody who lives", dead, func(s *scene) sight {
		s.hold()
		s.holder.kill()
		self := must(proc.Self())(s.t)
		s.replaceLock(func(path string) error {
			return os.WriteFile(path, must(json.Marshal(lock.LockInfo{Schema: 1, PID: self.PID, LockID: "x", Process: self}))(s.t), 0o600)
		})
		return s.observe()
	}},
	{"live, hank's folder replaced by a copy", live, func(s *scene) sight { s.hold(); s.swap(s.layout().Hankweave()); return s.observe() }},
	{"live, hank's folder and the workspace replaced by copies", live, func(s *scene) sight {
		s.hold()
		s.swap(s.layout().Hankweave())
		s.swap(s.layout().Workspace)
		return s.observe()
	}},
	{"dead, hank's folder and the workspace replaced by copies", dead, func(s *scene) sight {
		s.hold()
		s.swap(s.layout().Hankweave())
		s.swap(s.layout().Workspace)
		s.holder.kill()
		return s.observe()
	}},
	{"live, locks prove nothing", live, func(s *scene) sight { s.hold(); s.swap(s.layout().Hankweave()); return s.observe("untrusted") }},
	{"dead, locks prove nothing", dead, func(s *scene) sight { s.hold(); s.holder.kill(); return s.observe("untrusted") }},
	{"its pid belongs to another process, by injection", dead, func(s *scene) sight { s.injected(func(id *proc.Identity) { id.StartTicks-- }); return s.observe() }},
	{"its PID namespace is gone, by injection", dead, func(s *scene) sight {
		s.injected(func(id *proc.Identity) { id.PIDNamespace = "1" })
		return s.observe()
	}},
	{"the machine was restarted, by injection", dead, func(s *scene) sight { s.injected(func(id *proc.Identity) { id.BootID = "x" }); return s.observe() }},
	{"the host was renamed, by injection", live, func(s *scene) sight { s.injected(func(id *proc.Identity) { id.Host = "renamed" }); return s.observe() }},
	{"the host was renamed and locks prove nothing, by injection", live, func(s *scene) sight {
		s.injected(func(id *proc.Identity) { id.Host = "renamed" })
		return s.observe("untrusted")
	}},
	{"in another PID namespace and locks prove nothing, by injection", live, func(s *scene) sight {
		s.injected(func(id *proc.Identity) { id.PIDNamespace = "1" })
		return s.observe("untrusted")
	}},
	{"a command at work on another machine, by injection", live, func(s *scene) sight {
		begin(s.t, s.root, 12, CreateOptions{}).close()
		far := proc.Identity{Host: "far", BootID: "x", Machine: "y", PID: 7, StartTicks: 7}
		ok(s.t, os.WriteFile(s.layout().Lock(), must(json.Marshal(lock.LockInfo{Schema: 1, PID: 7, LockID: "token", Process: far}))(s.t), 0o600))
		got := s.observe("untrusted")
		if !strings.Contains(got.Held, "hank process 7 on far since ") || !strings.Contains(got.Held, "--break-lock token") {
			s.t.Errorf("it says %q", got.Held)
		}
		return got
	}},
}

type row struct {
	name string
	want outcome
	play func(s *scene) sight
}

type outcome string

const (
	live outcome = "live"
	dead outcome = "dead"
)

func (s *scene) move() {
	s.t.Helper()
	ok(s.t, os.Rename(s.root, s.root+".moved"))
	s.root += ".moved"
}

func (s *scene) copy() string {
	s.t.Helper()
	to := s.root + ".copy"
	var err error
	for range 20 { // of what is alive, files go while it is copied
		ok(s.t, os.RemoveAll(to))
		if err = exec.Command("cp", "-a", s.root, to).Run(); err == nil {
			return to
		}
	}
	s.t.Fatal(err)
	return ""
}

// injected leaves a run that a living process is said to drive, of whose
// identity something was changed. That process holds nothing.
func (s *scene) injected(edit func(*proc.Identity)) {
	s.t.Helper()
	sleeper := exec.Command("sleep", "1000")
	ok(s.t, sleeper.Start())
	s.t.Cleanup(func() { _ = sleeper.Process.Kill(); _ = sleeper.Wait() })
	id := must(proc.Of(sleeper.Process.Pid))(s.t)
	edit(&id)
	a := begin(s.t, s.root, 12, CreateOptions{})
	ok(s.t, a.start(func(r *state.Run) { r.ServerPid, r.Process = id.PID, must(json.Marshal(id))(s.t) }))
	a.close()
}

// TestIdentityMatrix: of no live run anybody says that it has crashed, nobody
// can take it, and no dead one is left running.
func TestIdentityMatrix(t *testing.T) {
	t.Parallel()
	race.Without(t)
	short.Skip(t)
	var mu sync.Mutex
	var read, refused []int64
	t.Run("row", func(t *testing.T) {
		for _, r := range slices.Concat(matrix, namespaces) {
			t.Run(r.name, func(t *testing.T) {
				t.Parallel()
				s := &scene{t: t, root: filepath.Join(t.TempDir(), "x")}
				got := r.play(s)
				r.judge(t, got)
				mu.Lock()
				defer mu.Unlock()
				read = append(read, got.ReadTook)
				if r.want == live {
					refused = append(refused, got.OpenTook)
				}
			})
		}
	})
	if t.Failed() || len(refused) == 0 { // or one row was asked for
		return
	}
	slices.Sort(read)
	slices.Sort(refused)
	t.Logf("%d rows, %d of them live; time to the verdict, at least, in the middle and at most: a reader's %.1f, %.1f and %.1f ms, of one who is refused %.1f, %.1f and %.1f ms",
		len(read), len(refused), ms(read[0]), ms(read[len(read)/2]), ms(read[len(read)-1]), ms(refused[0]), ms(refused[len(refused)/2]), ms(refused[len(refused)-1]))
}

func ms(micro int64) float64 { return float64(micro) / 1000 }

func (r row) judge(t *testing.T, got sight) {
	t.Helper()
	crashed := len(got.Runs) > 0 && got.Runs[0] == state.StatusCrashed
	switch {
	case got.Err != "" || got.OpenErr != "":
		t.Errorf("errors: %q, %q", got.Err, got.OpenErr)
	case r.want == live && (got.Crashed || got.Held == ""):
		t.Errorf("a live run: %+v", got)
	case r.want == dead && (got.Live || !got.Crashed || got.Held != "" || !crashed):
		t.Errorf("a dead run: %+v", got)
	}
}

// Of many who find a dead run exactly one closes it, and goes on.
func TestOfManyWhoFindADeadRunOneGoesOn(t *testing.T) {
	t.Parallel()
	s := &scene{t: t, root: filepath.Join(t.TempDir(), "x")}
	s.hold()
	s.holder.kill()
	const n = 6
	racers := make(chan *other, n)
	for range n {
		go func() { racers <- startOther(t, s.root, "-") }()
	}
	var winners []*other
	for range n {
		switch o := <-racers; {
		case o.holds():
			winners = append(winners, o)
		case !strings.HasPrefix(o.said, "held "):
			t.Error(o.said)
			o.kill()
		default:
			_ = o.cmd.Wait()
		}
	}
	if len(winners) != 1 {
		t.Fatalf("%d of %d go on", len(winners), n)
	}
	v := must(Read(s.root))(t)
	if len(v.State.Runs) != 2 || v.State.Runs[0].Status == v.State.Runs[1].Status || !v.Live {
		t.Errorf("live %v, runs %+v", v.Live, v.State.Runs)
	}
	ok(t, winners[0].end())
}
