package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/creack/pty"
)

// frameGap is how long nothing is written after a frame: it is over.
const frameGap = 5 * time.Millisecond

// noFrame is how long a key is waited for that changes nothing.
const noFrame = 250 * time.Millisecond

// terminal is hank watch on a terminal that somebody reads.
type terminal struct {
	cmd    *exec.Cmd
	tty    *os.File
	writes chan time.Time // when a part of a frame came
	bytes  atomic.Int64
}

// watch starts hank watch.
func (b *bench) watch(columns, rows uint16, root string) (*terminal, error) {
	t := &terminal{cmd: b.command("watch", root), writes: make(chan time.Time, 1000)}
	tty, err := pty.StartWithSize(t.cmd, &pty.Winsize{Cols: columns, Rows: rows})
	if err != nil {
		return nil, err
	}
	t.tty = tty
	go func() {
		defer close(t.writes)
		part := make([]byte, 64<<10)
		for {
			n, err := tty.Read(part)
			if err != nil {
				return
			}
			t.bytes.Add(int64(n))
			select {
			case t.writes <- time.Now():
			default: // nobody measures
			}
		}
	}()
	return t, nil
}

// leave ends it.
func (t *terminal) leave() error {
	_, err := t.tty.WriteString("q")
	err = errors.Join(err, t.cmd.Wait(), t.tty.Close())
	return err
}

// still waits until nothing has been written for a while.
func (t *terminal) still(while time.Duration) error {
	for end := time.After(5 * time.Minute); ; {
		select {
		case <-end:
			return errors.New("the terminal is written to all the time")
		case _, open := <-t.writes:
			if !open {
				return errors.New("hank watch has ended")
			}
		case <-time.After(while):
			return nil
		}
	}
}

// press types a key, and returns how long it took until its frame was complete; 0: it has
// changed nothing.
func (t *terminal) press(key string) (time.Duration, error) {
	for len(t.writes) > 0 {
		<-t.writes
	}
	begin := time.Now()
	if _, err := t.tty.WriteString(key); err != nil {
		return 0, err
	}
	var last time.Time
	for wait := noFrame; ; wait = frameGap {
		select {
		case at, open := <-t.writes:
			if !open {
				return 0, errors.New("hank watch has ended")
			}
			last = at
		case <-time.After(wait):
			if last.IsZero() {
				return 0, nil
			}
			return last.Sub(begin), nil
		}
	}
}

// status reads a size in bytes from the status of a process.
func status(pid int, field string) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			kilobytes, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return float64(kilobytes << 10), err
		}
	}
	return 0, fmt.Errorf("the status of process %d has no %s", pid, field)
}

const (
	megabyte     = 1e6
	milliseconds = "ms"
)

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// quantile is the value below which a part of the times are.
func quantile(times []time.Duration, part float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	times = slices.Sorted(slices.Values(times))
	return times[min(len(times)-1, int(part*float64(len(times))))]
}

// keys are those that are pressed, in turn: in the transcript, at its end, in its middle and at
// its beginning, and in the plan.
var keys = []string{"G", "k", "k", "\x15", "\x1b[5~", "g", "j", "j", "\x04", "\x1b[6~", "G", "\x15", "\x15", "k", "\t", "k", "k", "k", "j", "j", "j", "\t"}

// terminal measures hank watch over a long transcript.
func (b *bench) terminal() ([]figure, error) {
	root, err := b.long()
	if err != nil {
		return nil, err
	}
	b.say("pressing %d keys", b.Keys)
	begin := time.Now()
	t, err := b.watch(120, 40, root)
	if err != nil {
		return nil, err
	}
	defer func() { _ = t.cmd.Process.Kill() }()
	first, open := <-t.writes
	if !open {
		return nil, errors.New("hank watch has ended")
	}
	if err := t.still(time.Second); err != nil {
		return nil, err
	}
	if _, err := t.press("\t"); err != nil {
		return nil, err
	}
	var times []time.Duration
	for i := range b.Keys {
		took, err := t.press(keys[i%len(keys)])
		if err != nil {
			return nil, err
		}
		if took > 0 {
			times = append(times, took)
		}
	}
	if err := t.still(time.Second); err != nil {
		return nil, err
	}
	before := t.bytes.Load()
	time.Sleep(time.Duration(b.StillFor) * time.Second)
	written := t.bytes.Load() - before
	now, err := status(t.cmd.Process.Pid, "VmRSS")
	if err != nil {
		return nil, err
	}
	peak, err := status(t.cmd.Process.Pid, "VmHWM")
	if err != nil {
		return nil, err
	}
	if err := t.leave(); err != nil {
		return nil, err
	}
	begun, err := b.begins()
	if err != nil {
		return nil, err
	}
	return []figure{
		{What: fmt.Sprintf("key to frame, p99 of %d, %d codons, a transcript of %d lines", len(times), b.Codons, b.Lines), Value: ms(quantile(times, .99)), Unit: milliseconds, Target: 16},
		{What: "the same, median", Value: ms(quantile(times, .5)), Unit: milliseconds},
		{What: "the first bytes on the terminal after the start", Value: ms(first.Sub(begin)), Unit: milliseconds},
		{What: fmt.Sprintf("the same, at a journal of %d events, median", b.Events), Value: ms(quantile(begun, .5)), Unit: milliseconds, Target: 100},
		{What: "memory of hank watch, resident", Value: now / megabyte, Unit: "MB", Target: 48, Note: fmt.Sprintf("peak %.0f MB", peak/megabyte)},
		{What: fmt.Sprintf("written to the terminal in %d s in which nothing changes", b.StillFor), Value: float64(written), Unit: "bytes", zero: true},
	}, nil
}

// begins is how long hank watch takes until its first bytes, over a long journal.
func (b *bench) begins() (times []time.Duration, err error) {
	root, err := b.eventful()
	if err != nil {
		return nil, err
	}
	for range 5 {
		begin := time.Now()
		t, err := b.watch(120, 40, root)
		if err != nil {
			return nil, err
		}
		first, open := <-t.writes
		if !open {
			return nil, errors.New("hank watch has ended")
		}
		if times = append(times, first.Sub(begin)); t.still(200*time.Millisecond) == nil {
			err = t.leave()
		}
		if err != nil {
			return nil, err
		}
	}
	return times, nil
}
