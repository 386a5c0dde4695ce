package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// side is a run with or without viewers.
type side struct {
	between []time.Duration // of the end of a script and the beginning of the next
	cpu     time.Duration   // of the runtime itself, without the processes that it starts
	all     time.Duration   // with them
}

// watched measures what a run loses to five viewers: two terminals, two pages that are followed,
// and hank events -f.
func (b *bench) watched() ([]figure, error) {
	var alone, seen side
	for turn := range b.Turns {
		order := []bool{false, true}
		if turn%2 == 1 {
			slices.Reverse(order)
		}
		for _, viewers := range order {
			b.say("turn %d of %d, viewers: %t", turn+1, b.Turns, viewers)
			one, err := b.turn(fmt.Sprintf("run-%d-%t", turn, viewers), viewers)
			if err != nil {
				return nil, err
			}
			to := &alone
			if viewers {
				to = &seen
			}
			to.between, to.cpu, to.all = append(to.between, one.between...), to.cpu+one.cpu, to.all+one.all
		}
	}
	loss := func(watched, unwatched time.Duration) float64 { return 100 * (float64(watched)/float64(unwatched) - 1) }
	was, is := quantile(alone.between, .5), quantile(seen.between, .5)
	return []figure{
		{What: fmt.Sprintf("from the end of a codon to the next, median of %d, unwatched", len(alone.between)), Value: ms(was), Unit: milliseconds},
		{What: "the same with five viewers", Value: ms(is), Unit: milliseconds},
		{What: "what viewers add to it", Value: loss(is, was), Unit: "%", Target: 2},
		{What: "what viewers add to the processor time of the runtime", Value: loss(seen.cpu, alone.cpu), Unit: "%", Target: 2, Note: fmt.Sprintf("%.2f s instead of %.2f s", seen.cpu.Seconds(), alone.cpu.Seconds())},
		{What: "the same with the processes that it starts", Value: loss(seen.all, alone.all), Unit: "%", Note: fmt.Sprintf("%.2f s instead of %.2f s", seen.all.Seconds(), alone.all.Seconds())},
	}, nil
}

// turn is one run.
func (b *bench) turn(name string, viewers bool) (s side, err error) {
	times := filepath.Join(b.dir, name+"-times")
	if err := errors.Join(os.RemoveAll(filepath.Join(b.dir, name)), os.RemoveAll(times)); err != nil {
		return s, err
	}
	var list []string
	for i := range b.Steps {
		list = append(list, codon(fmt.Sprintf("step-%d", i+1), fmt.Sprintf("date +%%s%%N >>'%s'; echo working; sleep 0.1; echo done; date +%%s%%N >>'%s'", times, times)))
	}
	if err := b.write(name, list...); err != nil {
		return s, err
	}
	run := b.command("run", name+"-hank", "-e", name)
	run.Stdout, run.Stderr = io.Discard, io.Discard
	if err := run.Start(); err != nil {
		return s, err
	}
	defer func() { _ = run.Process.Kill() }()
	end := func() error { return nil }
	if viewers {
		if end, err = b.look(name); err != nil {
			return s, err
		}
	}
	sampled := make(chan time.Duration)
	over, stop := context.WithCancel(context.Background())
	go func() {
		var last time.Duration
		for over.Err() == nil {
			last = max(last, processor(run.Process.Pid))
			time.Sleep(20 * time.Millisecond)
		}
		sampled <- last
	}()
	err = run.Wait()
	stop()
	s.cpu = <-sampled
	if err = errors.Join(err, end()); err != nil {
		return s, err
	}
	s.all = run.ProcessState.UserTime() + run.ProcessState.SystemTime()
	s.between, err = between(times)
	return s, err
}

// look starts the five viewers of a run, and returns what ends them.
func (b *bench) look(name string) (end func() error, err error) {
	root := filepath.Join(b.dir, name)
	for late := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(root, ".hankweave", "state.json")); err == nil {
			break
		} else if time.Now().After(late) {
			return nil, err
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
			return nil, errors.Join(err, all())
		}
		ends = append(ends, t.leave)
	}
	s, err := b.serve()
	if err != nil {
		return nil, errors.Join(err, all())
	}
	ends = append(ends, s.end)
	place, err := s.find(name)
	if err != nil {
		return nil, errors.Join(err, all())
	}
	for range 2 {
		go func() { _ = s.follow(ctx, place) }()
	}
	events := b.command("events", "-f", "-e", name)
	if err := events.Start(); err != nil {
		return nil, errors.Join(err, all())
	}
	ends = append(ends, func() error { _ = events.Process.Kill(); _ = events.Wait(); return nil })
	return all, nil
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
