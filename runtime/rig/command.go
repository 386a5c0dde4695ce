package rig

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"hank/plan"
	"hank/runtime/keeper"
	"hank/state"
)

// process is a running command; *keeper.Process is one.
type process interface {
	Stop()
	Wait() (keeper.Exit, error)
}

// starter starts a command.
type starter func(keeper.Spec, keeper.Streams) (process, error)

func startKept(spec keeper.Spec, out keeper.Streams) (process, error) {
	p, err := keeper.Start(spec, out)
	if err != nil {
		return nil, err // not a typed nil in the interface
	}
	return p, nil
}

// How an operation of a rig, or a check of an output, fails: the words of the
// event rig.setup.failed.
const (
	failedCommand = "command_failed" // it ended with another code than 0
	failedTimeout = "timeout"        // it was stopped because its time was over
	failedOther   = "other"          // a copy, or a command that could not be run to its end
)

// Failure is an operation of a rig, or a check of an output, that did not
// do what it should.
type Failure struct {
	Index    int    // of the operation in its list
	Type     string // command_failed, timeout or other
	ExitCode int    // of a command; -1 for a death by signal
	Message  string // what failed and why, with the last lines of output
	Killed   []keeper.Leftover
	// Err is the cause if there is more to it than an exit code: the context's
	// error if it was stopped on request, a *keeper.AliveError if something
	// that it started cannot be killed, an error of the file system.
	Err error
}

func (f *Failure) Error() string { return f.Message }

func (f *Failure) Unwrap() error { return f.Err }

// FailureType is the class of the codon's failure.
func (f *Failure) FailureType() state.FailureType {
	if f.Type == failedTimeout {
		return state.FailTimeout
	}
	return state.FailUnknown
}

// final tells that allowFailure does not hold: it is not the operation that
// failed but hank, the machine, or somebody stopped it.
func (f *Failure) final() bool {
	var alive *keeper.AliveError
	var unsaved *SaveError
	for _, cause := range []error{context.Canceled, context.DeadlineExceeded, syscall.ENOSPC, syscall.EDQUOT, syscall.EIO} {
		if errors.Is(f.Err, cause) {
			return true
		}
	}
	return errors.As(f.Err, &alive) || errors.As(f.Err, &unsaved)
}

// commander runs the commands of a rig or of the checks of an output.
type commander struct {
	environ   []string
	workspace string
	attempt   string
	writable  []string                  // nil is anything
	start     starter                   // nil is the keeper
	emit      func(index int, o sample) // takes a sample of the output; called by the goroutine that calls run
	killed    func(keeper.Exit)         // told what a command left behind and had to be killed; may be nil
	every     time.Duration             // how often the output is sampled
}

// sampleEvery is the shortest time between two rig.output events of a stream.
const sampleEvery = time.Second

// run runs one command in dir and returns nil if it ended with code 0. All
// that the command started is dead then, but for what an AliveError names.
func (c commander) run(ctx context.Context, index int, command plan.Command, dir string) *Failure {
	if err := ctx.Err(); err != nil {
		return stoppedOnRequest(index, err)
	}
	start := c.start
	if start == nil {
		start = startKept
	}
	out := &Console{}
	p, err := start(keeper.Spec{
		Args: []string{"sh", "-c", command.Run}, Env: c.environ, Dir: dir, Workspace: c.workspace, Attempt: c.attempt, Writable: c.writable, Limit: command.Timeout(),
	}, keeper.Streams{Stdout: out.Writer(Stdout), Stderr: out.Writer(Stderr)})
	if err != nil {
		return &Failure{Index: index, Type: failedOther, ExitCode: -1, Message: fmt.Sprintf("%s could not be started: %v", QuoteCommand(command.Run), err), Err: err}
	}
	exit, err := c.follow(ctx, index, p, out)
	if c.killed != nil && len(exit.Killed) > 0 {
		c.killed(exit)
	}
	return judgeCommand(ctx, index, command, exit, err, out.Tail())
}

// follow waits for the command's end, passes on samples of what it prints, and
// stops it when the context is done.
func (c commander) follow(ctx context.Context, index int, p process, out *Console) (exit keeper.Exit, err error) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		exit, err = p.Wait()
	}()
	tick := time.NewTicker(c.every)
	defer tick.Stop()
	asked := ctx.Done()
	for {
		select {
		case <-ended:
			out.Finish()
			c.sample(index, out)
			return exit, err
		case <-tick.C:
			c.sample(index, out)
		case <-asked:
			p.Stop()
			asked = nil
		}
	}
}

func (c commander) sample(index int, out *Console) {
	for _, s := range out.samples() {
		c.emit(index, s)
	}
}

// judgeCommand says how a command that was started has ended. The first that
// fits decides.
func judgeCommand(ctx context.Context, index int, command plan.Command, exit keeper.Exit, err error, tail string) *Failure {
	f := &Failure{Index: index, Type: failedCommand, ExitCode: exit.Code, Killed: exit.Killed}
	what := QuoteCommand(command.Run)
	var alive *keeper.AliveError
	switch {
	case errors.As(err, &alive):
		f.Type, f.Err, f.Message = failedOther, err, fmt.Sprintf("%s left something behind: %v", what, err)
		return f
	case exit.TimedOut:
		f.Type, f.Message = failedTimeout, fmt.Sprintf("%s was stopped after %s; set timeoutSeconds if it needs more", what, command.Timeout())
	case exit.Stopped && ctx.Err() != nil && exit.Code != 0:
		return stoppedOnRequest(index, ctx.Err())
	case exit.KeeperLost:
		f.Type, f.Message = failedOther, fmt.Sprintf("%s: its keeper was killed, the outcome is unknown", what)
	case exit.Signal != "":
		f.Message = fmt.Sprintf("%s was ended by %s", what, exit.Signal)
	case exit.Code != 0:
		f.Message = fmt.Sprintf("%s ended with code %d", what, exit.Code)
	default:
		return nil // trouble with its streams is no trouble of its work
	}
	if tail != "" {
		f.Message += ":\n" + tail
	}
	return f
}

func stoppedOnRequest(index int, err error) *Failure {
	return &Failure{Index: index, Type: failedOther, ExitCode: -1, Message: "stopped on request", Err: err}
}

// QuoteCommand shows the beginning of a command line.
func QuoteCommand(run string) string { return fmt.Sprintf("%q", cutRunes(run, 80)) }
