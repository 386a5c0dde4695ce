package codon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"hank/internal/failpoint"
	"hank/internal/proc"
	"hank/runtime/harness"
	"hank/runtime/harness/transcript"
	"hank/runtime/keeper"
	"hank/runtime/silence"
	"hank/state"
)

// turn is one process of an agent: a first prompt, or one more in its session.
type turn struct {
	command  harness.Command
	reader   harness.Reader
	start    transcript.Start
	log      *os.File // the attempt's transcript; turns of one attempt share it
	size     int64    // of the transcript, as it was when the turn began and with what it has written
	attempt  string
	writable []string                 // what the agent may change; nil is anything
	known    func(line []byte) []byte // of what was printed, what is read; nil: all
	silence  time.Duration            // the longest time without a sign of life; 0 is no limit
	limit    time.Duration            // what the budget leaves; 0 is no limit
	timeout  time.Duration            // what the codon's timeout leaves; 0 is no limit
	lastWord time.Duration            // what it has to end by itself before observe's stop is carried out

	// started is told the agent's process id; its error kills the agent.
	started func(pid int) error
	// observe is told what the agent does. It may ask the agent to end.
	observe func(harness.Observation) (stop bool, err error)
	// waits is told what is waited for at the end: may be nil.
	waits func(what string)
	// quiet is told of what is known of the agent while it shows no sign of life, and that
	// its silence limit is over; nil: it has said something. It says whether to stop.
	quiet func(e *silence.Evidence, over bool) (stop bool)
	watch silence.Watch
	wants func() silence.Waits // what the agent waits for
	// tick is called a few times a second. It may ask the agent to end; its error kills it.
	tick     func(now time.Time) (stop bool, err error)
	requests <-chan Request
	// signalled is told of a request and says whether the agent must end now.
	signalled func(Request) (stop, force bool)
}

// ended is how a turn came out.
type ended struct {
	verdict  harness.Verdict
	exit     keeper.Exit
	silent   bool // it was stopped because it had shown no sign of life
	overTime bool // it was stopped because its budget of time was over
	timedOut bool // it was stopped because the codon's timeout was over
}

// longestLine bounds a line of an agent; a longer one is cut into pieces.
const longestLine = 16 << 20

// printed is a line that an agent printed.
type printed struct {
	stream transcript.Stream
	text   []byte
}

// run starts the agent and sees it through to its end. When it returns nothing
// that the agent started is alive. An error is one of hank, not of the agent:
// the agent is killed and its work is left as it is.
func (t *turn) run(ctx context.Context) (ended, error) {
	lines := newBacklog()
	out := &splitter{stream: transcript.Stdout, to: lines}
	errs := &splitter{stream: transcript.Stderr, to: lines}
	fi, err := t.log.Stat()
	if err != nil {
		return ended{}, err
	}
	t.size = fi.Size()
	if err := t.write(transcript.Entry{Stream: transcript.StreamStart, Start: t.start}); err != nil {
		return ended{}, err
	}
	p, err := keeper.Start(keeper.Spec{
		Args: t.command.Args, Env: t.command.Env, Dir: t.command.Dir, Stdin: t.command.Stdin,
		StopSignal: t.command.StopSignal, StopGrace: t.command.StopGrace, Attempt: t.attempt, Writable: t.writable,
	}, keeper.Streams{Stdout: out, Stderr: errs})
	if err != nil {
		return ended{}, &startError{err}
	}
	var exit keeper.Exit
	var waitErr error
	go func() {
		exit, waitErr = p.Wait()
		out.flush()
		errs.flush()
		close(lines.queue)
	}()
	res, err := t.follow(ctx, p, lines)
	for line := range lines.queue { // after an error: nothing more is looked at, but all is awaited
		lines.done(line)
	}
	if err = errors.Join(err, aliveOnly(waitErr)); err != nil {
		return ended{}, err
	}
	res.exit = exit
	res.verdict = t.reader.End(exit.Code, exit.Signal)
	if exit.KeeperLost && !res.verdict.Success {
		res.verdict.Failure = &state.FailureReason{Type: state.FailUnknown, Retriable: true, Class: harness.ClassInterrupted, Rule: "keeper-lost",
			Message: "the keeper of the agent was killed, and the agent with it: the outcome of its work is unknown"}
	}
	err = t.write(transcript.Entry{Stream: transcript.StreamExit, Exit: transcript.Exit{Code: exit.Code, Signal: exit.Signal, Offset: t.size}})
	return res, errors.Join(err, t.log.Sync())
}

// startError is an agent that could not even be started: a failure of the
// codon, not of hank.
type startError struct{ err error }

func (e *startError) Error() string { return e.err.Error() }

func (e *startError) Unwrap() error { return e.err }

// aliveOnly keeps the error that makes continuing unsafe: something that the
// agent started cannot be killed. Trouble with its streams shows in the
// transcript.
func aliveOnly(err error) error {
	var alive *keeper.AliveError
	if errors.As(err, &alive) {
		return err
	}
	return nil
}

// following is a turn from its start to the end of its agent.
type following struct {
	*turn
	process  *keeper.Process
	command  proc.Identity // of the agent
	gone     bool          // the agent has ended, and what it has left is being ended
	began    time.Time
	heard    time.Time   // the agent's last line
	polled   time.Time   // when its own files were read last
	told     bool        // quiet was told of this silence
	stopping bool        // observe or tick have asked the agent to end
	deadline *time.Timer // when observe's stop is carried out
	out      ended
}

// follow handles all that happens until the agent has ended.
func (t *turn) follow(ctx context.Context, p *keeper.Process, lines *backlog) (ended, error) {
	if err := t.started(p.PID()); err != nil {
		p.Kill()
		return ended{}, err
	}
	f := following{turn: t, process: p, command: p.Identity(), began: time.Now(), heard: time.Now(), deadline: time.NewTimer(0)}
	f.deadline.Stop()
	defer f.deadline.Stop()
	t.watch.PID = p.PID()
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	var timeout <-chan time.Time // exact: a turn may be shorter than a tick, and there may be many
	if t.timeout > 0 {
		timer := time.NewTimer(t.timeout)
		defer timer.Stop()
		timeout = timer.C
	}
	done := ctx.Done()
	for {
		var err error
		select {
		case line, more := <-lines.queue:
			if !more {
				return f.out, nil
			}
			err = f.hear(line)
			lines.done(line)
		case <-f.deadline.C:
			t.stop(p)
		case r := <-t.requests:
			f.obey(r)
		case now := <-tick.C:
			err = f.look(now)
		case <-timeout:
			f.out.timedOut = true
			t.stop(p)
		case <-done:
			t.stop(p)
			done = nil
		}
		if err != nil {
			p.Kill()
			return f.out, err
		}
	}
}

// hear takes in a line of the agent, which may be its last.
func (f *following) hear(line printed) error {
	if f.heard = time.Now(); f.told {
		f.told = false
		f.quiet(nil, false)
	}
	return f.end(f.line(line))
}

// end carries out what observe has said of a line, or of the agent's own files.
func (f *following) end(ends bool, err error) error {
	switch {
	case err != nil:
		return err
	case ends && f.lastWord == 0:
		f.stop(f.process)
	case ends && !f.stopping:
		f.stopping = true
		f.deadline.Reset(f.lastWord)
	}
	return nil
}

// poll reads, once a second, what the agent's own files tell of what it has used. So a budget
// ends the agent while a tool is at work, ahead of the next request.
func (f *following) poll(now time.Time) error {
	r, is := f.reader.(harness.Polled)
	if !is || now.Sub(f.polled) < time.Second {
		return nil
	}
	f.polled = now
	return f.end(f.heed(r.Poll()))
}

// obey carries out a request of the user.
func (f *following) obey(r Request) {
	switch stop, force := f.signalled(r); {
	case force:
		f.process.Kill()
	case stop:
		f.stop(f.process)
	}
}

// look asks, a few times a second, whether a limit is over and whether the agent has ended.
func (f *following) look(now time.Time) error {
	ends, err := f.tick(now)
	if err = errors.Join(err, f.poll(now)); err != nil {
		return err
	}
	if ends && !f.stopping {
		f.stopping = true
		f.stop(f.process)
	}
	if f.quiet != nil && !f.out.silent && !f.gone {
		over := f.silence > 0 && now.Sub(f.heard) > f.silence && !f.told
		if e := f.watch.Look(f.heard, now, f.wants(), over); e != nil {
			f.told = f.told || over
			if f.quiet(e, over) {
				f.out.silent = true
				f.stop(f.process)
			}
		}
	}
	if f.limit > 0 && now.Sub(f.began) > f.limit && !f.out.overTime {
		f.out.overTime = true
		f.stop(f.process)
	}
	if f.gone {
		return nil
	}
	if verdict, _ := f.command.Check(); verdict == proc.Dead {
		f.gone = true
		f.waitFor("ending the processes that it has left")
	}
	return nil
}

// stop asks the agent, and all that it has started, to end.
func (t *turn) stop(p *keeper.Process) {
	t.waitFor(fmt.Sprintf("waiting for it to end (%s at most)", t.command.StopGrace))
	p.Stop()
}

func (t *turn) waitFor(what string) {
	if t.waits != nil {
		t.waits(what)
	}
}

// line keeps a line in the transcript and passes on what it means. It reports whether
// the agent is to end.
func (t *turn) line(line printed) (stop bool, err error) {
	if r, is := t.reader.(harness.Repeating); is && line.stream == transcript.Stdout && r.Repeats(line.text) {
		return false, nil
	}
	if err := t.write(transcript.Entry{Stream: line.stream, Line: line.text}); err != nil {
		return false, err
	}
	read := t.reader.Line
	if line.stream == transcript.Stderr {
		read = t.reader.Stderr
	}
	if t.known != nil { // the transcript is whole; what the line means is passed on
		line.text = t.known(line.text)
	}
	return t.heed(read(line.text))
}

// heed passes on what the agent did. It reports whether the agent is to end.
func (t *turn) heed(seen []harness.Observation) (stop bool, err error) {
	for _, o := range seen {
		ends, err := t.observe(o)
		if err != nil {
			return stop, err
		}
		stop = stop || ends
	}
	return stop, nil
}

func (t *turn) write(e transcript.Entry) error {
	e.At = time.Now()
	n, err := t.log.Write(e.Append(nil))
	if t.size += int64(n); err != nil {
		return fmt.Errorf("writing the transcript: %w", err)
	}
	failpoint.Hit("transcript.written")
	return nil
}

// maxBacklog bounds what an agent has printed and nobody has dealt with yet. An
// agent that prints faster waits.
const maxBacklog = longestLine

// backlog is a queue of lines that is bounded by their bytes.
type backlog struct {
	queue chan printed

	mu    sync.Mutex
	room  sync.Cond
	bytes int // of the lines that were put and are not done
}

func newBacklog() *backlog {
	b := &backlog{queue: make(chan printed, 256)}
	b.room.L = &b.mu
	return b
}

// put waits until there is room for a line, and adds it.
func (b *backlog) put(line printed) {
	b.mu.Lock()
	for b.bytes > 0 && b.bytes+len(line.text) > maxBacklog {
		b.room.Wait()
	}
	b.bytes += len(line.text)
	b.mu.Unlock()
	b.queue <- line
}

// done makes room again for a line that was taken from the queue.
func (b *backlog) done(line printed) {
	b.mu.Lock()
	b.bytes -= len(line.text)
	b.mu.Unlock()
	b.room.Broadcast()
}

// splitter cuts a stream into lines.
type splitter struct {
	stream transcript.Stream
	to     *backlog
	mu     sync.Mutex
	rest   []byte // the beginning of a line, shorter than longestLine
}

func (s *splitter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for rest := p; len(rest) > 0; {
		end, room := bytes.IndexByte(rest, '\n'), longestLine-len(s.rest)
		switch {
		case end >= 0 && end <= room:
			s.put(rest[:end])
			rest = rest[end+1:]
		case len(rest) >= room:
			s.put(rest[:room])
			rest = rest[room:]
		default:
			s.rest, rest = append(s.rest, rest...), nil
		}
	}
	return len(p), nil
}

// put passes on what there is of a line with its last part.
func (s *splitter) put(last []byte) {
	text := append(s.rest, last...)
	s.rest = nil
	s.to.put(printed{s.stream, text})
}

func (s *splitter) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.rest) > 0 {
		s.put(nil)
	}
}

// openLog creates a transcript. An attempt never writes over another's.
func openLog(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
}
