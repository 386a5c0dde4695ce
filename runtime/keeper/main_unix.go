//go:build unix

package keeper

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hank/internal/failpoint"
	"hank/internal/proc"
	"hank/internal/sandbox"
)

const (
	controlFD = 3
	reportFD  = 4
)

// settleTime is how long what the command left may take to end by itself, as
// the rest of a pipeline does, before it counts as left over.
const settleTime = 250 * time.Millisecond

// Main is the keeper itself. It returns the exit code of the process, which
// says nothing about the command.
//
//  1. Keep the two pipes for itself: a command that held the report pipe open
//     would hide the keeper's death.
//  2. Become a subreaper: what loses its parent becomes the keeper's child.
//  3. Start the command in a group of its own. The kernel kills it when the
//     thread that started it ends, so that thread is kept.
//  4. Wait for children, obey the runtime, kill what is left.
//  5. Report when there is no child left. Then nothing that the command
//     started is alive: everything alive has a parent, up to the keeper.
func Main() int {
	if len(os.Args) > 2 && os.Args[2] == watchdogArgument && isPipe(controlFD) {
		return watchOver()
	}
	runtime.LockOSThread()
	if !isPipe(controlFD) || !isPipe(reportFD) {
		fmt.Fprintln(os.Stderr, "hank:", Subcommand, "is for hank's own use: it contains a codon's processes")
		return 2
	}
	keepForSelf()
	// Only the runtime commands; a signal to all processes does not end the
	// keeper before its work is done. Caught signals, unlike ignored ones, are
	// not handed down to the command.
	signal.Notify(make(chan os.Signal, 1))
	control := bufio.NewReaderSize(os.NewFile(controlFD, "control"), 64<<10)
	reports := json.NewEncoder(os.NewFile(reportFD, "report"))

	k := &keeper{}
	if err := k.start(control); err != nil {
		_ = reports.Encode(report{Failed: err.Error()})
		return 1
	}
	children := reap(k.command.PID)
	_ = reports.Encode(report{Started: &k.command})
	k.watch(commands(control), children)
	last := ending{Exit: k.exit, Alive: k.alive}
	last.Killed, last.KilledTotal = k.killed.list, k.killed.total
	failpoint.Hit("keeper.childless")
	_ = reports.Encode(report{Exited: &last})
	return 0
}

func isPipe(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFIFO
}

// keeper is the state of Main. It belongs to one goroutine.
type keeper struct {
	order   order
	command proc.Identity
	began   time.Time

	ended   bool // the command has
	asked   bool // to stop, or it ended by itself: what is left has until the alarm
	killing time.Time
	killed  killed
	alive   []Leftover // what could not be killed
	exit    Exit
}

// adopt makes the keeper the parent of every orphan below it. A test replaces it
// to see what holds where there are no subreapers.
var adopt = becomeSubreaper

func (k *keeper) start(control *bufio.Reader) error {
	line, err := control.ReadBytes('\n')
	if err != nil {
		return errors.New("the runtime ended before it gave the order")
	}
	if err := json.Unmarshal(line, &k.order); err != nil {
		return fmt.Errorf("the order cannot be read: %w", err)
	}
	if err := adopt(); err != nil {
		return fmt.Errorf("become a subreaper: %w", err)
	}
	if k.order.Writable != nil { // the keeper itself, permanently; its children inherit it
		if err := sandbox.Confine(texts[string](k.order.Writable)); err != nil {
			return err
		}
	}
	k.began = time.Now()
	pid, err := syscall.ForkExec(string(k.order.Path), texts[string](k.order.Args), &syscall.ProcAttr{
		Dir:   string(k.order.Dir),
		Env:   texts[string](k.order.Env),
		Files: []uintptr{0, 1, 2},
		Sys:   commandAttributes(),
	})
	if err != nil {
		return explain(k.order, err)
	}
	failpoint.Hit("keeper.forked")
	// Nobody waits for it yet: even if it has ended, the pid is still its own.
	if k.command, err = proc.Of(pid); err != nil {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		return err
	}
	return nil
}

// explain says what the errors of execve mean for a file that was found.
func explain(o order, err error) error {
	switch {
	case errors.Is(err, syscall.ENOENT):
		if dirErr := checkDir(string(o.Dir)); dirErr != nil {
			return dirErr
		}
		return fmt.Errorf("%s cannot be executed: it, or the interpreter that its first line names, does not exist", o.Path)
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("%s cannot be executed: it is no program for this machine, and no script: its first line names no interpreter (#!/bin/sh)", o.Path)
	case errors.Is(err, syscall.E2BIG):
		return fmt.Errorf("%s cannot be executed: arguments and environment are too long together; pass long text through standard input or a file", o.Path)
	default:
		return fmt.Errorf("%s cannot be executed in %s: %w", o.Path, o.Dir, err)
	}
}

// commands reads the runtime's commands; the channel is closed when it ends.
func commands(control *bufio.Reader) <-chan string {
	words := make(chan string)
	go func() {
		defer close(words)
		for {
			line, err := control.ReadString('\n')
			if err != nil {
				return
			}
			words <- line[:len(line)-1]
		}
	}()
	return words
}

// reap waits for all children, adopted ones included. The channel gives how
// the command ended and is closed when there is no child left.
func reap(command int) <-chan unix.WaitStatus {
	deaths := make(chan unix.WaitStatus, 1)
	go func() {
		defer close(deaths)
		for {
			var status unix.WaitStatus
			pid, err := unix.Wait4(-1, &status, waitOptions, nil)
			switch {
			case errors.Is(err, unix.EINTR):
			case err != nil: // ECHILD
				return
			case pid == command:
				deaths <- status
			}
		}
	}()
	return deaths
}

// watch returns when nothing that the command started is alive, or cannot be
// killed. The alarm ends what waiting there is: the grace after a stop, the
// time to settle after the command's end, the pause between two kills.
func (k *keeper) watch(words <-chan string, children <-chan unix.WaitStatus) {
	alarm := time.NewTimer(0)
	alarm.Stop()
	var limit <-chan time.Time
	if k.order.Limit > 0 {
		limit = time.After(k.order.Limit)
	}
	pause := time.Millisecond
	for {
		select {
		case word, open := <-words:
			if !open {
				words, word = nil, killCommand
			}
			k.hearOfTheEnd(children)
			k.exit.Stopped = k.exit.Stopped || !k.ended
			if word == killCommand {
				alarm.Reset(0)
			} else if !k.asked {
				k.ask()
				alarm.Reset(k.order.StopGrace)
			}
		case <-limit:
			if !k.asked {
				k.exit.TimedOut = true
				k.ask()
				alarm.Reset(k.order.StopGrace)
			}
		case status, open := <-children:
			if !open {
				k.outside()
				return
			}
			k.record(status)
			if !k.asked {
				k.asked = true
				alarm.Reset(settleTime)
			}
		case <-alarm.C:
			fresh, done := k.killAll()
			if done {
				return
			}
			if pause = min(2*pause, 50*time.Millisecond); fresh {
				pause = 100 * time.Microsecond // somebody forks: be quick
			}
			alarm.Reset(pause)
		}
	}
}

// hearOfTheEnd records the end of a command that had ended before the runtime
// wanted it to, also where the keeper, stopped meanwhile, hears of both at once:
// what was finished was not stopped.
func (k *keeper) hearOfTheEnd(children <-chan unix.WaitStatus) {
	if verdict, _ := k.command.Check(); k.ended || verdict != proc.Dead {
		return
	}
	select {
	case status, open := <-children:
		if open {
			k.record(status)
		}
	case <-time.After(settleTime): // somebody traces it, and is told before the keeper
	}
}

func (k *keeper) record(status unix.WaitStatus) {
	k.ended = true
	k.exit.Duration = time.Since(k.began)
	if status.Signaled() {
		k.exit.Code, k.exit.Signal = -1, unix.SignalName(status.Signal())
		return
	}
	k.exit.Code = status.ExitStatus()
}

// ask sends the stop signal to the command and everything below it, once to
// each: to some agents a second one means "at once". What was stopped is
// continued, so that it can hear.
func (k *keeper) ask() {
	k.asked = true
	for _, p := range below() {
		if p.Kill(k.order.StopSignal) == nil && p.Stopped {
			_ = p.Kill(syscall.SIGCONT)
		}
	}
}

// killAll kills everything below the keeper. It reports whether there was
// something new, and whether it is useless to continue.
func (k *keeper) killAll() (fresh, done bool) {
	if k.killing.IsZero() {
		k.killing = time.Now()
	}
	for range quickRounds {
		if !k.killEach(proc.Children()) {
			break
		}
		fresh = true
	}
	list := below()
	fresh = k.killEach(identities(list)) || fresh
	if len(list) == 0 || time.Since(k.killing) < killPatience {
		return fresh, false
	}
	k.alive = leftovers(list)
	return fresh, true
}

// quickRounds is how often the keeper's own children are killed between two
// looks at everything below it. A process that forks and ends as fast as it
// can, and its child likewise, is gone before a listing of all processes is
// complete; but its child is the keeper's from that moment.
const quickRounds = 100

// killEach reports whether there was something new.
func (k *keeper) killEach(list []proc.Identity) (fresh bool) {
	for _, id := range list {
		if id.PID == k.command.PID && !k.ended {
			_ = id.Kill(syscall.SIGKILL) // not a leftover
			continue
		}
		fresh = k.killed.kill(id) || fresh
	}
	return fresh
}

// outside looks for what left the tree but still carries the attempt.
func (k *keeper) outside() {
	killed, err := reaper{attempt: k.order.Attempt, command: k.command, once: true}.end(killPatience)
	var alive *AliveError
	if errors.As(err, &alive) {
		k.alive = alive.Alive
	}
	k.killed.add(killed)
}

func identities(list []proc.Info) []proc.Identity {
	ids := make([]proc.Identity, len(list))
	for i, p := range list {
		ids[i] = p.Identity
	}
	return ids
}

// below lists what lives below this process.
func below() []proc.Info {
	list, err := proc.List()
	if err != nil {
		return nil // no descriptor or memory left for the moment: the next alarm tries again
	}
	var alive []proc.Info
	for _, p := range proc.Below(list, os.Getpid()) {
		if !p.Zombie {
			alive = append(alive, p)
		}
	}
	return alive
}
