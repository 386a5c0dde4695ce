package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

var (
	//go:embed demo/hank.json
	demo string
	//go:embed demo/others.json
	others []byte
	//go:embed demo/agent.sh
	agent string
)

// rig is a directory with the executions of the pictures.
type rig struct {
	program, dir string
	env          []string
	unshared     bool        // hank sees a machine without a name
	going        []*exec.Cmd // runs in progress
}

// newRig makes the directory. pace is how many seconds an agent takes for a step.
func newRig(program, dir, pace string) (*rig, error) {
	r := &rig{program: program, dir: dir, env: append(os.Environ(), "HANK_STATE_DIR="+filepath.Join(dir, "state"), "HOME="+dir, "TZ=UTC", "LANG=C.UTF-8", "TERM=xterm-256color", "COLORTERM=", "NO_COLOR=",
		"PACE="+pace, "SEEN="+filepath.Join(dir, "seen"))}
	return r, errors.Join(os.MkdirAll(filepath.Join(dir, "seen"), 0o777), os.WriteFile(filepath.Join(dir, "agent.sh"), []byte(agent), 0o777))
}

// put writes a hank.
func (r *rig) put(name, text string) error {
	dir := filepath.Join(r.dir, name)
	text = strings.ReplaceAll(text, "AGENT", filepath.Join(r.dir, "agent.sh"))
	return errors.Join(os.MkdirAll(dir, 0o777), os.WriteFile(filepath.Join(dir, "hank.json"), []byte(text), 0o666))
}

func (r *rig) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(r.program, args...)
	if r.unshared {
		c = exec.Command("unshare", append([]string{"--map-root-user", "--uts", "sh", "-c", `hostname recording && exec "$0" "$@"`, r.program}, args...)...)
	}
	c.Dir, c.Env = filepath.Join(r.dir, name), r.env
	return c
}

// hank runs hank to its end, and wants an exit code.
func (r *rig) hank(code int, name string, args ...string) error {
	c := r.command(name, args...)
	said, err := c.CombinedOutput()
	if c.ProcessState == nil || c.ProcessState.ExitCode() != code {
		return fmt.Errorf("hank %s ended with %w, want %d\n%s", strings.Join(args, " "), err, code, said)
	}
	return nil
}

// weather makes the execution of most pictures: a run with a gate that is answered, an attempt
// that fails and is made again, a loop, a failure that is ignored and a usage limit; then a
// rollback into the loop, and another run, which waits at a gate.
func (r *rig) weather() error {
	return errors.Join(
		r.put("weather", demo),
		r.hank(7, "weather", "run", "-e", "run", "--allow-bypass", "--max-cost", "6"),
		pause(),
		r.hank(0, "weather", "approve", "plan-ok", "-e", "run", "--reply", "Ten minutes is right. Test the empty answer, too."),
		r.hank(7, "weather", "run", "-e", "run", "--allow-bypass"),
		pause(),
		r.hank(0, "weather", "rollback", "check#0", "-e", "run", "--yes"),
		r.hank(7, "weather", "run", "-e", "run", "--allow-bypass"),
	)
}

// pause is a time in which nobody works, as it is between an end and an answer.
func pause() error {
	time.Sleep(3 * time.Second)
	return nil
}

// other is another execution, for the list.
type other struct {
	Dir  string          `json:"dir"`
	Code int             `json:"code"` // of the exit of its run; -1: it is in progress while the pictures are taken
	Seen string          `json:"seen"` // the file in SEEN that is there when it is as far as is to be shown
	Hank json.RawMessage `json:"hank"`
}

// others makes the other executions.
func (r *rig) others() error {
	var list []other
	if err := json.Unmarshal(others, &list); err != nil {
		return err
	}
	for _, o := range list {
		if err := r.put(o.Dir, string(o.Hank)); err != nil {
			return err
		}
		if o.Code >= 0 {
			if err := r.hank(o.Code, o.Dir, "run", "-e", "run", "--allow-bypass"); err != nil {
				return err
			}
			continue
		}
		c := r.command(o.Dir, "run", "-e", "run", "--allow-bypass")
		if err := c.Start(); err != nil {
			return err
		}
		r.going = append(r.going, c)
		for late := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
			if _, err := os.Stat(filepath.Join(r.dir, "seen", o.Seen)); err == nil {
				break
			} else if time.Now().After(late) {
				return err
			}
		}
	}
	return nil
}

// end ends the runs in progress.
func (r *rig) end() {
	for _, c := range r.going {
		_ = c.Process.Signal(os.Interrupt)
		_ = c.Wait() // that it was stopped is no news
	}
}
