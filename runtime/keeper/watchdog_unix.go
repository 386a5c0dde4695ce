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

// watchdogArgument is the argument that makes a keeper a watchdog.
const watchdogArgument = "--watchdog"

// watchdogPatience is the time that keepers have for their own work when their
// runtime has ended, before the watchdog does it.
const watchdogPatience = time.Second

// watched is an attempt as the watchdog is told of it, a line of JSON each.
type watched struct {
	Attempt string `json:"attempt"`
	Session int    `json:"session,omitempty"` // the keeper's, once it has one
	Over    bool   `json:"over,omitempty"`    // nothing of it is alive any more
}

// watchdog is a process beside the keepers that does nothing as long as this one
// lives. When this one has died, and keepers have died with it or hang, the watchdog
// ends what has the marks of their attempts, so that no agent continues until the
// execution is opened again.
type watchdog struct {
	mu    sync.Mutex
	pipe  *os.File // nil: none has been started
	tasks map[string]watched
}

var theWatchdog = watchdog{tasks: map[string]watched{}}

// tell reports an attempt to the watchdog. One that cannot be started, or is lost, is
// no error: it is started again with the next attempt, and Reap remains.
func (w *watchdog) tell(task watched) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if task.Over {
		delete(w.tasks, task.Attempt)
	} else {
		w.tasks[task.Attempt] = task
	}
	if w.pipe != nil && json.NewEncoder(w.pipe).Encode(task) == nil {
		return
	}
	if len(w.tasks) == 0 || w.start() != nil {
		return
	}
	for _, task := range w.tasks {
		_ = json.NewEncoder(w.pipe).Encode(task)
	}
}

// start starts a watchdog in the place of a lost one. It is registered with the
// keepers, so that no reaper takes it for an orphan.
func (w *watchdog) start() error {
	if w.pipe != nil {
		w.pipe.Close()
		w.pipe = nil
	}
	program, err := selfPath()
	if err != nil {
		return err
	}
	r, pipe, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	cmd := &exec.Cmd{
		Path: program, Args: []string{"hank", Subcommand, watchdogArgument}, Env: os.Environ(), Dir: "/",
		ExtraFiles: []*os.File{r}, SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := keepers.start(cmd); err != nil {
		pipe.Close()
		return fmt.Errorf("start the watchdog: %w", err)
	}
	go func() {
		_ = cmd.Wait()
		keepers.forget(cmd.Process.Pid)
	}()
	w.pipe = pipe
	return nil
}

// watchOver is the watchdog itself. It returns when its runtime is gone and
// nothing of its attempts is alive.
func watchOver() int {
	signal.Notify(make(chan os.Signal, 1)) // as a keeper does
	tasks := map[string]watched{}
	lines := json.NewDecoder(os.NewFile(controlFD, "control"))
	for {
		var task watched
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
	time.Sleep(watchdogPatience)
	var reapers sync.WaitGroup
	for _, task := range tasks {
		reapers.Go(func() { // there is nobody left to report to
			_, _ = reaper{attempt: task.Attempt, session: task.Session}.end(killPatience)
		})
	}
	reapers.Wait()
	return 0
}
