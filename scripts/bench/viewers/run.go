package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The signals that stop a viewer and continue it, as Linux numbers them, which the bench needs.
const (
	sigcont = syscall.Signal(18)
	sigstop = syscall.Signal(19)
)

// side is what was measured with or without viewers.
type side struct {
	between []time.Duration // of the end of a script and the beginning of the next
	cpu     time.Duration   // of the runtime itself, without the processes that it starts
	codons  int             // while it took that time
}

// per is the processor time of a codon.
func (s *side) per() float64 { return ms(s.cpu) / float64(max(1, s.codons)) }

// watched measures what a run loses to five viewers: two terminals, two pages that are followed,
// and hank events -f. Each run has blocks of codons, and in every other block the viewers are
// stopped by SIGSTOP: so both sides have the same files, the same journal and the same minute. As a
// control they are stopped in all blocks. Apart from the run, which then has a processor of its
// own, they can take no time from it: what they add is what they hold up, and not what they share.
func (b *bench) watched() ([]figure, error) {
	var alone, seen side
	for turn := range b.Turns {
		b.say("run %d of %d", turn+1, b.Turns)
		if err := b.turn(fmt.Sprintf("run-%d", turn), turn%2 == 0, &alone, &seen); err != nil {
			return nil, err
		}
	}
	if len(alone.between) == 0 || len(seen.between) == 0 {
		return nil, errors.New("no codon was long enough in a block to be measured")
	}
	was, is := quantile(alone.between, .5), quantile(seen.between, .5)
	return []figure{
		{What: fmt.Sprintf("from the end of a codon to the next, median of %d, unwatched", len(alone.between)), Value: ms(was), Unit: milliseconds},
		{What: fmt.Sprintf("the same with five viewers, median of %d", len(seen.between)), Value: ms(is), Unit: milliseconds},
		{What: "what viewers add to it", Value: 100 * (float64(is)/float64(was) - 1), Unit: "%", Target: 2},
		{What: "what viewers add to the processor time of the runtime", Value: 100 * (seen.per()/max(alone.per(), .001) - 1), Unit: "%", Target: 2, Note: fmt.Sprintf("%.2f ms for each codon instead of %.2f ms", seen.per(), alone.per())},
	}, nil
}

// turn is one run, which is watched first or is not.
func (b *bench) turn(name string, first bool, alone, seen *side) (err error) {
	times := filepath.Join(b.dir, name+"-times")
	if err := errors.Join(os.RemoveAll(filepath.Join(b.dir, name)), os.RemoveAll(times)); err != nil {
		return err
	}
	var list []string
	for i := range b.Blocks * b.Steps {
		list = append(list, codon(fmt.Sprintf("step-%d", i+1), fmt.Sprintf("date +%%s%%N >>'%s'; echo working; sleep 0.1; echo done; date +%%s%%N >>'%s'", times, times)))
	}
	if err := b.write(name, list...); err != nil {
		return err
	}
	run := b.command("run", name+"-hank", "-e", name)
	run.Stdout, run.Stderr = io.Discard, io.Discard
	if err := run.Start(); err != nil {
		return err
	}
	defer func() { _ = run.Process.Kill() }()
	viewers, end, err := b.look(name)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	watched, begun, cpu := true, 0, processor(run.Process.Pid) // until the first block is over all watch, and nothing counts
	for running := true; running && err == nil; {
		select {
		case err = <-ended:
			running = false
		case <-time.After(20 * time.Millisecond):
		}
		list, failed := between(times)
		if failed != nil && !errors.Is(failed, fs.ErrNotExist) {
			err = errors.Join(err, failed)
			break
		}
		if len(list) < begun+b.Steps && running {
			continue
		}
		to := alone
		if watched {
			to = seen
		}
		if now := processor(run.Process.Pid); begun > 0 {
			to.between = append(to.between, list[begun+1:]...) // the first is of both sides
			if running {
				to.cpu, to.codons = to.cpu+now-cpu, to.codons+len(list)-begun
			}
		}
		watched = (len(list)/b.Steps%2 == 1) == first
		signal := sigcont
		if !watched || b.control {
			signal = sigstop
		}
		for _, p := range viewers {
			err = errors.Join(err, p.Signal(signal))
		}
		begun, cpu = len(list), processor(run.Process.Pid)
	}
	for _, p := range viewers {
		err = errors.Join(err, p.Signal(sigcont))
	}
	return errors.Join(err, end())
}

// look starts the five viewers of a run, and returns their processes and what ends them.
func (b *bench) look(name string) (viewers []*os.Process, end func() error, err error) {
	root := filepath.Join(b.dir, name)
	for late := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(root, ".hankweave", "state.json")); err == nil {
			break
		} else if time.Now().After(late) {
			return nil, nil, err
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var ends []func() error
	all := func() error {
		cancel()
		var err error
		for _, end := range ends {
			err = errors.Join(err, end())
		}
		return err
	}
	for range 2 {
		t, err := b.watch(120, 40, root)
		if err != nil {
			return nil, nil, errors.Join(err, all())
		}
		viewers, ends = append(viewers, t.cmd.Process), append(ends, t.leave)
	}
	s, err := b.serve()
	if err != nil {
		return nil, nil, errors.Join(err, all())
	}
	viewers, ends = append(viewers, s.cmd.Process), append(ends, s.end)
	place, err := s.find(name)
	if err != nil {
		return nil, nil, errors.Join(err, all())
	}
	for range 2 {
		go func() { _ = s.follow(ctx, place) }()
	}
	events := b.command("events", "-f", "-e", name)
	if err := events.Start(); err != nil {
		return nil, nil, errors.Join(err, all())
	}
	viewers, ends = append(viewers, events.Process), append(ends, func() error { _ = events.Process.Kill(); _ = events.Wait(); return nil })
	return viewers, all, nil
}

// tick is the unit of processor times in /proc.
const tick = 10 * time.Millisecond

// processor is the processor time that a process has taken; 0: it is gone.
func processor(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * tick
}

// between are the times from the end of each script to the beginning of the next, as the scripts
// have written them down.
func between(path string) (out []time.Duration, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	lines := strings.Fields(string(text))
	for i := 1; i+1 < len(lines); i += 2 {
		end, err := strconv.ParseInt(lines[i], 10, 64)
		if err != nil {
			return nil, err
		}
		begin, err := strconv.ParseInt(lines[i+1], 10, 64)
		if err != nil {
			return nil, err
		}
		out = append(out, time.Duration(begin-end))
	}
	return out, nil
}
