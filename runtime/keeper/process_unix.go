//go:build unix

package keeper

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"hank/internal/proc"
)

// Process is a command that runs under a keeper. Its methods may be called by
// several goroutines.
type Process struct {
	keeper  *exec.Cmd
	control *os.File
	attempt string
	started time.Time
	command proc.Identity

	stopping atomic.Bool
	gone     chan struct{} // closed when the keeper was waited for
	done     chan struct{} // closed when exit and err are final
	exit     Exit
	err      error
}

// Start starts the command under a keeper and returns when it runs. What
// cannot be started (no such program, no such directory) is an error, and
// nothing is left of it.
//
//  1. Check what can be checked, so that the message is clear. Tell the watchdog.
//  2. Start the keeper in a session of its own: no signal of the terminal
//     reaches it. Its standard streams are those of the command.
//  3. Send the order, wait for the answer.
//  4. Copy the streams and wait for the end, in the background.
func Start(spec Spec, out Streams) (*Process, error) {
	fail := func(err error) (*Process, error) {
		return nil, fmt.Errorf("start the command of attempt %q: %w", spec.Attempt, err)
	}
	if len(os.Args) > 1 && os.Args[1] == Subcommand {
		return fail(fmt.Errorf("this program was started with %s and did not call keeper.Main", Subcommand))
	}
	spec, err := spec.check()
	if err != nil {
		return fail(err)
	}
	if err := checkDir(spec.Dir); err != nil {
		return fail(err)
	}
	path, err := lookup(spec.Args[0], spec.Dir, spec.Env)
	if err != nil {
		return fail(err)
	}
	p := &Process{attempt: spec.Attempt, gone: make(chan struct{}), done: make(chan struct{}), started: time.Now()}
	theWatchdog.tell(watched{Attempt: p.attempt})
	ends, err := p.launch(len(spec.Stdin) > 0, spec.Workspace)
	if err != nil {
		theWatchdog.tell(watched{Attempt: p.attempt, Over: true})
		return fail(err)
	}
	if keeper, err := proc.Of(p.keeper.Process.Pid); err == nil {
		go keepGoing(keeper, p.gone)
	}
	if err := p.send(ends, order{
		Path: raw(path), Args: texts[raw](spec.Args), Env: texts[raw](spec.Env), Dir: raw(spec.Dir),
		StopSignal: spec.StopSignal, StopGrace: spec.StopGrace,
		Attempt: spec.Attempt, Limit: spec.Limit, Writable: texts[raw](spec.Writable),
	}); err != nil {
		err = p.abandon(ends, err)
		theWatchdog.tell(watched{Attempt: p.attempt, Over: true})
		return fail(err)
	}
	theWatchdog.tell(watched{Attempt: p.attempt, Session: p.keeper.Process.Pid})
	go p.supervise(ends, spec.Stdin, out)
	return p, nil
}

// PID returns the command's process id.
func (p *Process) PID() int { return p.command.PID }

// keeperPID returns the keeper's process id.
func (p *Process) keeperPID() int { return p.keeper.Process.Pid }

// Identity returns the command's identity, to be recorded.
func (p *Process) Identity() proc.Identity { return p.command }

// Stop asks the command and all that it started to end, and kills what is
// left after the grace. It does not wait.
func (p *Process) Stop() { p.tell(stopCommand) }

// Kill kills the command and all that it started now. It does not wait.
func (p *Process) Kill() { p.tell(killCommand) }

// Wait returns when nothing that the command started is alive and both
// streams were read to their end. The one exception is an *AliveError: it
// names what could not be killed. Other errors are about the streams. Exit
// holds what is known in any case.
func (p *Process) Wait() (Exit, error) {
	<-p.done
	return p.exit, p.err
}

func (p *Process) tell(word string) {
	select {
	case <-p.done:
		return
	default:
	}
	p.stopping.Store(true)
	// A keeper that somebody stopped has to run in order to obey.
	_ = p.keeper.Process.Signal(syscall.SIGCONT)
	// Failing means that the keeper has ended, which is what Wait is about.
	_, _ = io.WriteString(p.control, word+"\n")
}

// launch starts the keeper.
func (p *Process) launch(feed bool, workspace string) (*pipes, error) {
	ends := &pipes{}
	plumb := plumber{}
	defer plumb.closeTheirs()
	controlR := plumb.toKeeper(&p.control)
	reportW := plumb.fromKeeper(&ends.report)
	stdout := plumb.fromKeeper(&ends.stdout)
	stderr := plumb.fromKeeper(&ends.stderr)
	var stdin *os.File // nil is /dev/null
	if feed {
		stdin = plumb.toKeeper(&ends.stdin)
	}
	if plumb.err != nil {
		plumb.closeOurs()
		return nil, plumb.err
	}
	ends.reports = json.NewDecoder(ends.report)
	program, err := selfPath()
	if err != nil {
		plumb.closeOurs()
		return nil, err
	}
	p.keeper = &exec.Cmd{
		Path: program,
		// For people who look at the process list, and for proc.MayAct.
		Args:        []string{"hank", Subcommand, p.attempt, workspace},
		Env:         append(os.Environ(), attemptVariable+"="+p.attempt),
		Dir:         "/",
		Stdout:      stdout,
		Stderr:      stderr,
		ExtraFiles:  []*os.File{controlR, reportW},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if stdin != nil {
		p.keeper.Stdin = stdin
	}
	if err := keepers.start(p.keeper); err != nil {
		plumb.closeOurs()
		return nil, fmt.Errorf("start the keeper: %w", err)
	}
	return ends, nil
}

// send gives the keeper its order and takes the answer.
func (p *Process) send(ends *pipes, o order) error {
	line, err := json.Marshal(o)
	if err != nil {
		return err
	}
	// If the keeper has ended already, its answer tells more than EPIPE.
	_, _ = p.control.Write(append(line, '\n'))
	var answer report
	switch err := ends.reports.Decode(&answer); {
	case err != nil:
		return errors.New("the keeper ended before it could start the command")
	case answer.Failed != "":
		return errors.New(answer.Failed)
	case answer.Started == nil:
		return errors.New("the keeper gave an answer that this program does not know; was hank replaced during the run?")
	}
	p.command = *answer.Started
	return nil
}

// abandon clears away a keeper that could not start its command, and returns
// the reason, with what the keeper complained about.
func (p *Process) abandon(ends *pipes, reason error) error {
	p.control.Close() // a keeper that is still there kills everything and ends
	_ = p.keeper.Wait()
	close(p.gone)
	keepers.forget(p.keeper.Process.Pid)
	_, err := p.lostTree().end(killPatience)
	_ = ends.stderr.SetReadDeadline(time.Now().Add(time.Second))
	words, _ := io.ReadAll(io.LimitReader(ends.stderr, 2000))
	if text := strings.TrimSpace(string(words)); text != "" {
		reason = fmt.Errorf("%w (%s)", reason, text)
	}
	ends.close()
	if err != nil {
		return errors.Join(reason, err)
	}
	return reason
}

// supervise sees the command through to its end.
func (p *Process) supervise(ends *pipes, stdin []byte, out Streams) {
	defer close(p.done)
	defer p.control.Close()
	if ends.stdin != nil {
		// An agent that does not read its input must not stop anything; the
		// write ends at the latest when the file is closed below.
		go func() {
			_, _ = ends.stdin.Write(stdin)
			ends.stdin.Close()
		}()
	}
	var over atomic.Bool
	var copies sync.WaitGroup
	var streamErrs [2]error
	copies.Go(func() { streamErrs[0] = drain("stdout", ends.stdout, out.Stdout, &over) })
	copies.Go(func() { streamErrs[1] = drain("stderr", ends.stderr, out.Stderr, &over) })

	treeErr := p.awaitTree(ends)
	theWatchdog.tell(watched{Attempt: p.attempt, Over: true})

	over.Store(true)
	_ = ends.stdout.SetReadDeadline(time.Now().Add(streamGrace))
	_ = ends.stderr.SetReadDeadline(time.Now().Add(streamGrace))
	if ends.stdin != nil {
		ends.stdin.Close()
	}
	copies.Wait()
	ends.report.Close()
	p.err = errors.Join(treeErr, streamErrs[0], streamErrs[1])
}

const (
	// stoppedLook is how often it is looked whether the keeper was stopped.
	stoppedLook = 500 * time.Millisecond
	// stoppedLooks is how often in a row it may be: somebody stops it each time
	// that it continues.
	stoppedLooks = 4
)

// keepGoing continues a keeper that was stopped, until it is gone: its command may
// do that, and nobody would be told of the command's end. One that is stopped again
// and again is killed, and its work is done here, see awaitTree.
func keepGoing(keeper proc.Identity, gone <-chan struct{}) {
	look := time.NewTicker(stoppedLook)
	defer look.Stop()
	for seen := 0; ; {
		select {
		case <-gone:
			return
		case <-look.C:
		}
		if !keeper.IsStopped() {
			seen = 0
			continue
		}
		signal := syscall.SIGCONT
		if seen++; seen > stoppedLooks {
			signal = syscall.SIGKILL
		}
		_ = keeper.Kill(signal) // it may have ended
	}
}

// awaitTree waits for the keeper's last report and its end. If there is no
// such report the keeper was lost, and its work is done here.
func (p *Process) awaitTree(ends *pipes) error {
	var last report
	decodeErr := ends.reports.Decode(&last)
	_ = p.keeper.Wait()
	close(p.gone)
	keepers.forget(p.keeper.Process.Pid)
	if decodeErr == nil && last.Exited != nil {
		p.exit = last.Exited.Exit
		if alive := last.Exited.Alive; len(alive) > 0 {
			return &AliveError{Attempt: p.attempt, Alive: alive}
		}
		return nil
	}
	p.exit = Exit{Code: -1, KeeperLost: true, Stopped: p.stopping.Load(), Duration: time.Since(p.started)}
	killed, err := p.lostTree().end(killPatience)
	p.exit.Killed, p.exit.KilledTotal = killed.list, killed.total
	return err
}

// lostTree finds what a lost keeper cannot kill any more.
func (p *Process) lostTree() reaper {
	return reaper{attempt: p.attempt, command: p.command, session: p.keeper.Process.Pid, orphans: true}
}
