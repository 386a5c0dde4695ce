//go:build unix

package keeper

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// guardMark is the argument that makes a keeper a guard.
const guardMark = "--guard"

// guardPatience is the time that keepers have for their own work when their
// runtime has ended, before the guard does it.
const guardPatience = time.Second

// guarded is an attempt as the guard is told of it, a line of JSON each.
type guarded struct {
	Attempt string `json:"attempt"`
	Session int    `json:"session,omitempty"` // the keeper's, once it has one
	Over    bool   `json:"over,omitempty"`    // nothing of it is alive any more
}

// guard is this process's guard: one process beside the keepers that does
// nothing as long as this one lives. When it has died, and keepers have died
// with it or hang, the guard ends what carries the marks of their attempts, so
// that no agent goes on until somebody opens the execution again.
type guard struct {
	mu    sync.Mutex
	pipe  *os.File // nil: none has been started
	tasks map[string]guarded
}

var guards = guard{tasks: map[string]guarded{}}

// tell says what there is to guard. A guard that cannot be had, or is lost, is
// no error: it is started anew with the next attempt, and Reap is left.
func (g *guard) tell(task guarded) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if task.Over {
		delete(g.tasks, task.Attempt)
	} else {
		g.tasks[task.Attempt] = task
	}
	if g.pipe != nil && json.NewEncoder(g.pipe).Encode(task) == nil {
		return
	}
	if len(g.tasks) == 0 || g.start() != nil {
		return
	}
	for _, task := range g.tasks {
		_ = json.NewEncoder(g.pipe).Encode(task)
	}
}

// start starts a guard in the place of a lost one. It belongs to the keepers:
// no hunt for orphans takes it for one.
func (g *guard) start() error {
	if g.pipe != nil {
		g.pipe.Close()
		g.pipe = nil
	}
	program, err := selfPath()
	if err != nil {
		return err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	cmd := &exec.Cmd{
		Path: program, Args: []string{"hank", Verb, guardMark}, Env: os.Environ(), Dir: "/",
		ExtraFiles: []*os.File{r}, SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := keepers.start(cmd); err != nil {
		w.Close()
		return fmt.Errorf("start the guard: %w", err)
	}
	go func() {
		_ = cmd.Wait()
		keepers.forget(cmd.Process.Pid)
	}()
	g.pipe = w
	return nil
}

// watchOver is the guard itself. It returns when its runtime is gone and
// nothing of its attempts is alive.
func watchOver() int {
	signal.Notify(make(chan os.Signal, 1)) // as a keeper does
	tasks := map[string]guarded{}
	lines := json.NewDecoder(os.NewFile(controlFD, "control"))
	for {
		var task guarded
		if lines.Decode(&task) != nil {
			break
		}
		if tasks[task.Attempt] = task; task.Over {
			delete(tasks, task.Attempt)
		}
	}
	if len(tasks) == 0 {
		return 0
	}
	time.Sleep(guardPatience)
	var hunts sync.WaitGroup
	for _, task := range tasks {
		hunts.Go(func() { // nobody is left to be told
			_, _ = hunt{attempt: task.Attempt, session: task.Session}.end(killPatience)
		})
	}
	hunts.Wait()
	return 0
}
