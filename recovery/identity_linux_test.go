package recovery

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hank/internal/proc"
	"hank/internal/proc/proctest"
	"hank/recovery/lock"
)

// pretend makes this process see what a flag of the observer says.
func pretend(flag, value, root string) error {
	switch flag {
	case "untrusted": // nobody else reads this process's table
		var st unix.Statfs_t
		if err := unix.Statfs(filepath.Dir(root), &st); err != nil {
			return err
		}
		lock.RemoteTypes[int64(uint32(st.Type))] = true
		return nil
	case "host":
		return unix.Sethostname([]byte(value))
	}
	return fmt.Errorf("what is %s?", flag)
}

// unshareHost lets a process have a host name of its own. It returns why it
// cannot.
func unshareHost(cmd *exec.Cmd) string {
	if os.Geteuid() != 0 {
		return "a host name of its own needs root"
	}
	if err := exec.Command("unshare", "--uts", "true").Run(); err != nil {
		return "no UTS namespace of its own: " + err.Error()
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUTS}
	return ""
}

// namespaces are the rows that play in a PID namespace of their own.
var namespaces = []row{
	{"its pid belongs to another process", dead, func(s *scene) sight { return s.inside("reused") }},
	{"its pid belongs to another hank", dead, func(s *scene) sight { return s.inside("reused by a hank") }},
	{"live in a container, seen from outside", live, func(s *scene) sight { s.contained(); return s.observe() }},
	{"live in a container, seen from another one", live, func(s *scene) sight { s.contained(); return s.inside("again") }},
	{"live in a container, locks prove nothing", live, func(s *scene) sight { s.contained(); s.swap(s.layout().Hankweave()); return s.observe("untrusted") }},
	{"dead in a container, seen from outside", dead, func(s *scene) sight { s.contained()(); return s.observe() }},
	{"its container was restarted, and its pid is somebody's there", dead, func(s *scene) sight { s.contained()(); return s.inside("again") }},
}

// samePID is the pid that processes get in their namespaces.
const samePID = 500

// inside plays a part in a namespace of its own and returns what is seen there.
func (s *scene) inside(part string) sight {
	s.t.Helper()
	if why := proctest.Refused(); why != "" {
		s.t.Skip(why)
	}
	cmd := proctest.Command("__inside", part, s.root)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("%s: %v: %s", part, err, out)
	}
	return seen(s.t, out)
}

// contained lets somebody hold the execution in a namespace of its own, and
// returns what ends that with all that is in it.
func (s *scene) contained() (end func()) {
	s.t.Helper()
	if why := proctest.Refused(); why != "" {
		s.t.Skip(why)
	}
	cmd := proctest.Command("__inside", "held", s.root)
	cmd.Stderr = os.Stderr
	in := must(cmd.StdinPipe())(s.t)
	out := must(cmd.StdoutPipe())(s.t)
	ok(s.t, cmd.Start())
	end = func() { _ = cmd.Process.Kill(); _ = cmd.Wait(); _ = in.Close() }
	s.t.Cleanup(end)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "holding") {
		s.t.Fatalf("%q %v", line, err)
	}
	return end
}

func init() {
	roles["__inside"] = func(args []string) int {
		if err := inside(args[0], args[1]); err != nil {
			fmt.Fprintln(os.Stderr, args[0], err)
			return 1
		}
		return 0
	}
}

// inside is the first process of the namespace.
func inside(part, root string) error {
	if err := proctest.Enter(); err != nil {
		return err
	}
	sleep := func() (*exec.Cmd, error) { cmd := exec.Command("sleep", "1000"); return cmd, cmd.Start() }
	holder := func(root string) (*other, error) {
		var o *other
		_, err := proctest.As(samePID, func() (*exec.Cmd, error) {
			var err error
			if o, err = launchOther(root, "-"); err != nil {
				return nil, err
			}
			return o.cmd, nil
		})
		if err == nil {
			err = o.listen()
		}
		if err == nil && !o.holds() {
			err = fmt.Errorf("%s", o.said)
		}
		return o, err
	}
	observe := func(root string) error {
		cmd := exec.Command("/proc/self/exe", "__observe", root)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		return cmd.Run()
	}
	switch part {
	case "held":
		o, err := holder(root)
		if err != nil {
			return err
		}
		fmt.Println(o.said)
		_, _ = io.Copy(io.Discard, os.Stdin)
		return nil
	case "again":
		if _, err := proctest.As(samePID, sleep); err != nil {
			return err
		}
		if err := observe(root); err != nil {
			return err
		}
		return stillThere()
	}
	o, err := holder(root)
	if err != nil {
		return err
	}
	o.kill()
	time.Sleep(20 * time.Millisecond) // start times differ by ticks, of 10 ms
	if part == "reused" {
		_, err = proctest.As(samePID, sleep)
	} else {
		_, err = holder(root + "-other")
	}
	if err != nil {
		return err
	}
	if err := observe(root); err != nil {
		return err
	}
	return stillThere()
}

// stillThere checks that the new owner of the pid was left alone.
func stillThere() error {
	id, err := proc.Of(samePID)
	if err != nil {
		return err
	}
	if verdict, why := id.Check(); verdict != proc.Alive {
		return fmt.Errorf("the new owner of the pid is %v: %s", verdict, why)
	}
	return nil
}
