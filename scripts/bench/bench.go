package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/shirou/gopsutil/v3/disk"

	"hank/scripts/bench/corpus"
)

// bench is one run of the benchmark.
type bench struct {
	options
	self  string // this program
	work  string // everything that is made; removed in the end
	trees map[int]*corpus.Tree
	// standing are git's repositories of a tree that cases share.
	standing map[*corpus.Tree][]*repository
	made     int // directories named so far
	hank     string
	// stopped says that the bench was interrupted, and is being cleared away.
	stopped atomic.Bool
}

// runBench makes a bench with a directory to work in, which is gone in the end.
func runBench(o options, do func(b *bench) error) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp(o.dir, "hank-bench-")
	if err != nil {
		return err
	}
	b := &bench{options: o, self: self, work: work, trees: map[int]*corpus.Tree{}, standing: map[*corpus.Tree][]*repository{}}
	defer func() {
		if b.stopped.Load() {
			select {} // what went wrong is that the work directory goes: see removeWhenStopped
		}
		err = errors.Join(err, os.RemoveAll(work))
	}()
	go b.removeWhenStopped()
	if o.out != "" {
		if err := os.MkdirAll(o.out, 0o755); err != nil {
			return err
		}
	}
	return do(b)
}

// removeWhenStopped leaves nothing behind when the bench is interrupted.
func (b *bench) removeWhenStopped() {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	<-stop
	b.stopped.Store(true)
	for range 20 { // children may be writing still; they end with this process
		if os.RemoveAll(b.work) == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	os.Exit(130)
}

// clear removes what cases have shared: what follows makes its own.
func (b *bench) clear() error {
	var err error
	for _, t := range b.trees {
		err = errors.Join(err, os.RemoveAll(t.Dir))
		for _, g := range b.standing[t] {
			err = errors.Join(err, os.RemoveAll(g.dir))
		}
	}
	clear(b.trees)
	clear(b.standing)
	return err
}

// say tells how far the bench is. Figures go to standard output.
func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...)
}

// folder returns a new name below the work directory.
func (b *bench) folder(what string) string {
	b.made++
	return filepath.Join(b.work, fmt.Sprintf("%s-%d", what, b.made))
}

// room refuses to begin what the disk has no room for.
func (b *bench) room(gigabytes float64) error {
	need := uint64(gigabytes * 1e9)
	usage, err := disk.Usage(b.work)
	if err == nil && usage.Free < need {
		return fmt.Errorf("the disk has %s free and this needs %s; make room, or name a folder on another disk with --dir",
			humanize.Bytes(usage.Free), humanize.Bytes(need))
	}
	return nil
}

func pick[T any](quick bool, small, full T) T {
	if quick {
		return small
	}
	return full
}

type options struct {
	cases       []string
	quick       bool
	runs        int
	seed        uint64
	checkpoints int
	out, dir    string
	profiles    string
	growth      bool
	memory      bool
	disk        bool
}

// sizeOf is how long a file is, or all files in a directory.
func sizeOf(path string) int64 {
	sum := int64(0)
	_ = filepath.WalkDir(path, func(_ string, e os.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if fi, err := e.Info(); err == nil {
				sum += fi.Size()
			}
		}
		return nil
	})
	return sum
}

// stateRuns is how often opening and status are measured.
const stateRuns = 7
