package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"

	"hank/checkpoint"
	"hank/checkpoint/restore"
	"hank/checkpoint/worktree"
	"hank/scripts/bench/system"
)

// workerConfig says what a worker opens.
type workerConfig struct {
	Store, Workspace string
	Once             bool   // make one checkpoint, close, and end
	Profile          string // file for a CPU profile
}

// command is a line that a worker reads, and answer the line that it writes.
type command struct {
	Do string // checkpoint, scan, rollback, merged, memory
	To string // the commit that a rollback leads to
}

type answer struct {
	Elapsed time.Duration
	Parts   map[string]time.Duration
	Tree    checkpoint.SHA
	Commit  checkpoint.SHA
	Merging bool // a merge ran beside it
	Memory  memory
	Error   string
}

// memory is what a worker takes, in bytes; resident and peak are 0 where the
// system does not tell.
type memory struct{ Heap, Resident, Peak int64 }

// worker is hank's side: a process of its own that uses the engine as the
// runtime does, and stays resident unless it is asked for once.
type worker struct {
	store   *checkpoint.Store
	ws      *checkpoint.Workspace
	tip     checkpoint.SHA
	safety  int // safety checkpoints made
	merging atomic.Bool
	merges  sync.WaitGroup
	failed  error // of a merge; read after merges.Wait
}

const branch = "refs/heads/run-bench"

// work is the child's main.
func work(config string) (err error) {
	var c workerConfig
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		return err
	}
	if c.Profile != "" {
		f, err := os.Create(c.Profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	start := time.Now()
	w, err := openWorker(c)
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	if c.Once {
		a, err := w.checkpoint()
		if err == nil {
			err = w.close()
		}
		a.Elapsed = time.Since(start)
		return errors.Join(err, out.Encode(a))
	}
	if err := out.Encode(answer{Elapsed: time.Since(start)}); err != nil {
		return err
	}
	in := json.NewDecoder(bufio.NewReader(os.Stdin))
	for in.More() {
		var do command
		if err := in.Decode(&do); err != nil {
			return err
		}
		a, err := w.obey(do)
		if err != nil {
			a.Error = err.Error()
		}
		if err := out.Encode(a); err != nil {
			return err
		}
	}
	return w.close()
}

func openWorker(c workerConfig) (*worker, error) {
	o := checkpoint.Options{Dir: c.Store, CacheFile: filepath.Join(filepath.Dir(c.Store), "stat-cache"), BootID: "this boot"}
	store, err := checkpoint.Open(o)
	if errors.Is(err, os.ErrNotExist) {
		store, err = checkpoint.Init(o)
	}
	if err != nil {
		return nil, err
	}
	w := &worker{store: store}
	if w.ws, err = worktree.OpenWorkspace(c.Workspace); err != nil {
		return nil, err
	}
	w.tip, err = store.Ref(branch)
	return w, err
}

func (w *worker) close() error {
	w.merges.Wait()
	return errors.Join(w.failed, w.store.Close(), w.ws.Close())
}

func (w *worker) obey(do command) (answer, error) {
	switch do.Do {
	case "checkpoint":
		return w.checkpoint()
	case "scan":
		snap, err := w.scan(nil)
		if err != nil {
			return answer{}, err
		}
		return answer{Tree: snap.Tree}, w.store.Flush(context.Background())
	case "rollback":
		return w.rollback(checkpoint.SHA(do.To))
	case "merged":
		w.merges.Wait()
		return answer{}, w.failed
	case "memory":
		return answer{Memory: look()}, nil
	}
	return answer{}, fmt.Errorf("unknown command %q", do.Do)
}

func (w *worker) scan(include []string) (*checkpoint.Snapshot, error) {
	return w.store.Snapshot(context.Background(), checkpoint.SnapshotRequest{
		Workspace: w.ws, Selection: checkpoint.Selection{All: true}, Base: w.tip, MustInclude: include,
	})
}

// checkpoint is what the runtime has the engine do at a transition: scan, the
// pack made durable, the reference made durable; then packs merge beside it.
func (w *worker) checkpoint() (answer, error) {
	a := answer{Parts: map[string]time.Duration{}, Merging: w.merging.Load()}
	start := time.Now()
	snap, err := w.scan(nil)
	if err != nil {
		return a, err
	}
	a.Tree, a.Parts["scan"] = snap.Tree, time.Since(start)
	var parents []checkpoint.SHA
	if w.tip != "" {
		parents = []checkpoint.SHA{w.tip}
	}
	sha, err := w.commit(snap.Tree, parents)
	if err != nil {
		return a, err
	}
	a.Parts["commit"] = time.Since(start) - a.Parts["scan"]
	if err := w.store.SetRef(branch, w.tip, sha); err != nil {
		return a, err
	}
	a.Elapsed = time.Since(start)
	a.Parts["reference"] = a.Elapsed - a.Parts["scan"] - a.Parts["commit"]
	a.Commit, w.tip = sha, sha
	w.merge()
	return a, nil
}

func (w *worker) commit(tree checkpoint.SHA, parents []checkpoint.SHA) (checkpoint.SHA, error) {
	return w.store.Commit(context.Background(), checkpoint.CommitRequest{
		Tree: tree, Parents: parents, Message: "completed:codon [run:bench] a checkpoint\n", When: time.Now(),
	})
}

// merge begins a merge if one is due and none is under way, as package
// recovery does.
func (w *worker) merge() {
	if !w.store.MergeDue() || !w.merging.CompareAndSwap(false, true) {
		return
	}
	w.merges.Go(func() {
		defer w.merging.Store(false)
		if err := w.store.Merge(context.Background()); err != nil {
			w.failed = err
		}
	})
}

// rollback does what recovery's MoveTree has the engine do: a safety
// checkpoint of everything and of what stands in the way, and the restore.
func (w *worker) rollback(to checkpoint.SHA) (answer, error) {
	a := answer{Parts: map[string]time.Duration{}}
	start := time.Now()
	defer w.store.CacheTrees()()
	from, err := w.store.CommitInfo(w.tip)
	if err != nil {
		return a, err
	}
	target, err := w.store.CommitInfo(to)
	if err != nil {
		return a, err
	}
	inWay, err := restore.Conflicts(w.store, w.ws, from.Tree, target.Tree)
	if err != nil {
		return a, err
	}
	snap, err := w.scan(inWay)
	if err != nil {
		return a, err
	}
	saved, err := w.commit(snap.Tree, []checkpoint.SHA{w.tip})
	if err != nil {
		return a, err
	}
	w.safety++
	if err := w.store.SetRef(fmt.Sprintf("refs/heads/recovery/%d", w.safety), "", saved); err != nil {
		return a, err
	}
	a.Parts["safety checkpoint"] = time.Since(start)
	_, err = restore.Restore(context.Background(), restore.RestoreRequest{
		Store: w.store, Workspace: w.ws, From: snap.Tree, To: target.Tree, Known: w.store.Cache(w.ws),
		Removable: func(path string) bool { return w.store.HasFile(from.Tree, path) },
	})
	if err != nil {
		return a, err
	}
	a.Elapsed = time.Since(start)
	a.Parts["restore"] = a.Elapsed - a.Parts["safety checkpoint"]
	a.Tree, w.tip = target.Tree, to
	w.merge()
	return a, nil
}

// look measures this process after everything that is garbage is gone.
func look() memory {
	runtime.GC()
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return memory{Heap: int64(m.HeapInuse), Resident: system.OwnStatus("VmRSS:"), Peak: system.OwnStatus("VmHWM:")}
}
