package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing/fstest"
	"time"

	"github.com/go-json-experiment/json"

	"hank/checkpoint"
	"hank/internal/proc"
	"hank/internal/vfs"
	"hank/plan"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/recovery/githistory"
	"hank/recovery/layout"
	"hank/state"
	"hank/state/journal"
)

// history is an execution with a past: a loop of one shell codon that went
// round many times. No agent ran. State, journal and plan were made through
// package recovery as a run makes them, but for the syncs; the checkpoints,
// each with its record, by git fast-import, because a hundred thousand real
// ones take half an hour.
type history struct {
	b       *bench
	root    string
	program *plan.Program
	x       *execution.Execution
	run     state.RunID
	runs    int
	seq     uint64 // of the last event
	codons  int    // settled so far
	took    []time.Duration
}

const historyHank = `{"meta":{"name":"history","version":"1.0.0"},"hank":[{"type":"loop","id":"rounds","name":"Rounds",` +
	`"terminateOn":{"type":"iterationLimit","limit":1000000},"codons":[{"id":"work","name":"One round of work","promptText":"true","model":"shell","continuationMode":"fresh"}]}]}`

// eventsOfCodon is how many events a codon of a history has, and endOfCodon
// which of them is its end.
const (
	eventsOfCodon = 11
	endOfCodon    = 9
)

// began is when the first codon of every history started.
var began = time.Date(2025, 1, 4, 12, 0, 0, 0, time.UTC)

func (b *bench) newHistory() (*history, error) {
	h := &history{b: b, root: b.folder("execution")}
	program, diagnostics := plan.Load(fstest.MapFS{"hank.json": {Data: []byte(historyHank)}}, "hank.json")
	if program == nil {
		return nil, fmt.Errorf("the hank of the histories: %v", diagnostics)
	}
	h.program = program
	ctx := context.Background()
	var err error
	if h.x, err = recovery.Create(ctx, h.root, recovery.CreateOptions{Options: execution.Options{FS: unsynced{vfs.OS}, Appended: h.observe}}); err != nil {
		return nil, err
	}
	return h, errors.Join(h.outset(ctx), h.x.Close())
}

func (h *history) observe(e journal.Event, _ *state.State) { h.seq = e.Seq }

func (h *history) outset(ctx context.Context) error {
	if err := os.WriteFile(filepath.Join(h.x.Layout.Workspace, "log.txt"), []byte("0\n"), 0o644); err != nil {
		return err
	}
	snap, err := h.x.Snapshot(ctx, checkpoint.Selection{All: true}, "")
	if err != nil {
		return err
	}
	if _, err := h.x.Commit(ctx, execution.Commit{Title: githistory.Title{Status: state.KindInitial}, Snapshot: snap, Branch: "main", Transition: state.InitialCheckpointSet{}}); err != nil {
		return err
	}
	sha, err := h.x.Freeze(ctx, h.program)
	if err != nil {
		return err
	}
	entries, err := stored(githistory.Derive(h.program, h.x.State()))
	if err != nil {
		return err
	}
	return h.x.Record(state.PlanSet{Program: sha, HankHash: "sha256:bench", Entries: entries})
}

func stored(entries []plan.Entry) ([]byte, error) {
	return json.Marshal(plan.StoredEntries(entries))
}

// open opens the execution and begins a run in it.
func (h *history) open(fsys vfs.FS) error {
	var err error
	h.x, err = recovery.Open(context.Background(), h.root, execution.Options{FS: fsys, Appended: h.observe, Warn: func(line string) { h.b.say("%s", line) }})
	if err != nil {
		return err
	}
	if len(h.x.Report.Findings) > 0 {
		return errors.Join(fmt.Errorf("opening the history found %v", h.x.Report.Findings), h.x.Close())
	}
	return h.startRun()
}

// nextRun is the id of the run that will be begun next.
func (h *history) nextRun() state.RunID {
	return state.RunID(fmt.Sprintf("%d-bench", began.UnixMilli()+int64(h.runs)))
}

func (h *history) startRun() error {
	self, err := proc.Self()
	if err != nil {
		return err
	}
	identity, err := json.Marshal(self)
	if err != nil {
		return err
	}
	s, start := h.x.State(), state.StartingConditions{Type: state.StartFresh, InitialCheckpointSHA: h.x.State().InitialCheckpoint}
	if s.Newest() != nil {
		here := s.CurrentPosition()
		start = state.StartingConditions{Type: state.StartContinuation, Source: &here, Reason: state.ReasonContinue}
	}
	h.run = h.nextRun()
	h.runs++
	folder := h.x.Layout.RunDir(h.run)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	return h.x.Record(state.RunStarted{Run: &state.Run{RunID: h.run, RunFolder: folder, GitBranch: "run-" + string(h.run), StartingConditions: start,
		Status: state.StatusRunning, StartTime: state.At(began), ServerPid: self.PID, Process: identity}})
}

// close ends the run in order and gives the execution back.
func (h *history) close() error {
	err := h.x.Record(state.RunFailed{RunID: h.run, EndTime: h.now(), Reason: state.EndStopped, Detail: "stopped between two codons"})
	return errors.Join(err, h.x.Close())
}

func (h *history) now() state.Time { return state.At(began.Add(time.Duration(h.codons) * time.Second)) }

// grow makes the history n codons long.
func (h *history) grow(n int) error {
	if n <= h.codons {
		return nil
	}
	shas, err := h.commit(n - h.codons)
	if err != nil {
		return fmt.Errorf("making the checkpoints: %w", err)
	}
	if err := h.open(unsynced{vfs.OS}); err != nil {
		return err
	}
	if err := h.x.Store.SetRef("refs/heads/run-"+string(h.run), "", checkpoint.SHA(shas[len(shas)-1])); err != nil {
		return errors.Join(err, h.x.Close())
	}
	for _, sha := range shas {
		start := time.Now()
		if err := h.codon(func(final *state.Codon) error {
			final.CompletionCheckpoint = sha
			return h.x.RecordLater(state.CodonTransitioned{RunID: h.run, Record: final})
		}); err != nil {
			return errors.Join(err, h.x.Close())
		}
		h.took = append(h.took, time.Since(start))
	}
	return h.close()
}

// codon plays one round: what a shell codon makes happen, and finish its end.
func (h *history) codon(finish func(final *state.Codon) error) error {
	for _, next := range h.moves() {
		t, err := next()
		if err != nil {
			return err
		}
		if err := h.x.RecordLater(t); err != nil {
			return err
		}
	}
	return h.end(finish)
}

func (h *history) live() *state.Codon { return h.x.State().Run(h.run).Live() }

// moves are the transitions of a round before its end. Each is made when those
// before it have happened; the notes in between are written along the way.
func (h *history) moves() []func() (state.Transition, error) {
	move := func(c *state.Codon) (state.Transition, error) {
		return state.CodonTransitioned{RunID: h.run, Record: c}, nil
	}
	return []func() (state.Transition, error){
		func() (state.Transition, error) {
			return state.CodonStarted{RunID: h.run, Record: h.first(h.x.State().ExecutionPlan()[h.codons].Entry, h.x.State().Base)}, nil
		},
		func() (state.Transition, error) {
			if err := h.x.Note("codon.started", map[string]any{"codonId": h.live().CodonID, "codonName": "One round of work", "startTime": h.now()}); err != nil {
				return nil, err
			}
			return move(h.live().Start())
		},
		func() (state.Transition, error) { return move(spawned(h.live())) },
		func() (state.Transition, error) { return move(h.live().Work("shell")) },
		func() (state.Transition, error) {
			if err := h.x.Note("assistant.action", map[string]any{"codonId": h.live().CodonID, "action": "message", "content": "a line that the script has printed"}); err != nil {
				return nil, err
			}
			return state.CostsUpdated{RunID: h.run, CodonID: h.live().CodonID, Cost: roundCost, Tokens: roundTokens, Messages: 1}, nil
		},
		func() (state.Transition, error) { return move(h.live().Settle(settled)) },
	}
}

var (
	roundCost   = state.USD(31_200_000)
	roundTokens = state.Tokens{Input: 2000, Output: 1200, CacheRead: 800}
	settled     = state.Settling{Status: state.Completed, ResultSeen: true}
)

func (h *history) first(e plan.Entry, base state.SHA) *state.Codon {
	return &state.Codon{CodonID: e.CodonID, StartTime: h.now(), Status: state.Preparing, LoopContext: e.LoopContext, Attempt: 1,
		Harness: "shell", Model: "shell", BaseCheckpoint: base}
}

func spawned(c *state.Codon) *state.Codon {
	return c.Spawn(4711, transcriptOf(c.CodonID), "")
}

func transcriptOf(id state.CodonID) string {
	return ".hankweave/runs/1736000000000-bench/" + string(id) + ".1.jsonl"
}

// end finishes a round and grows the plan.
func (h *history) end(finish func(final *state.Codon) error) error {
	final := h.live().Conclude(h.now())
	if err := finish(final); err != nil {
		return err
	}
	if err := h.x.Note("codon.completed", map[string]any{"codonId": final.CodonID, "success": true, "cost": final.Cost(), "duration": 1}); err != nil {
		return err
	}
	window := h.x.State().ExecutionPlan()[h.codons]
	drop, add := h.program.Grow([]plan.Entry{window.Entry}, 0, githistory.Outcome(final))
	entries, err := stored(add)
	if err != nil {
		return err
	}
	h.codons++
	return h.x.RecordLater(state.PlanGrown{After: final.CodonID, Drop: drop, Add: entries})
}

// commit makes the checkpoints of n codons to come on the branch of the run to
// come, with the records that their messages will have carried.
func (h *history) commit(n int) ([]state.SHA, error) {
	store := layout.Layout{Root: h.root}.Store()
	marks := h.b.folder("marks")
	defer os.Remove(marks)
	cmd := exec.Command("git", "--git-dir="+store, "-c", "fastimport.unpackLimit=0", "-c", "core.compression=1",
		"fast-import", "--quiet", "--force", "--depth=0", "--export-marks="+marks)
	cmd.Env = gitEnvironment()
	var said bytes.Buffer
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	w := bufio.NewWriterSize(in, 1<<20)
	err = errors.Join(h.stream(w, n), w.Flush(), in.Close())
	if err := errors.Join(err, cmd.Wait()); err != nil {
		return nil, fmt.Errorf("git fast-import: %w: %s", err, said.String())
	}
	return readMarks(marks, n)
}

func (h *history) stream(w io.Writer, n int) error {
	run := h.nextRun()
	for i := range n {
		number := h.codons + i
		at := began.Add(time.Duration(number) * time.Second)
		id := state.CodonID(fmt.Sprintf("work#%d", number))
		c := (&state.Codon{CodonID: id, StartTime: state.At(at), Status: state.Preparing, Attempt: 1, Harness: "shell", Model: "shell",
			LoopContext: &plan.LoopContext{LoopID: "rounds", Iteration: number}, BaseCheckpoint: "0000000000000000000000000000000000000000"})
		c = spawned(c).Work("shell")
		c.CurrentCost, c.CurrentTokens = &roundCost, &roundTokens
		c = c.Settle(settled).Conclude(state.At(at))
		event, err := state.Encode(state.CodonTransitioned{RunID: run, Record: c})
		if err != nil {
			return err
		}
		record, err := json.Marshal(githistory.Record{Schema: state.SchemaVersion, Seq: h.seq + 1 + uint64(i*eventsOfCodon+endOfCodon), Event: event})
		if err != nil {
			return err
		}
		message := fmt.Sprintf("completed:%s [run:%s] One round of work\n\nCodon: %s\nStatus: completed\nHank-Record: %s\n", id, run, id, record)
		fmt.Fprintf(w, "commit refs/imported\nmark :%d\ncommitter hank <hank@localhost> %d +0000\ndata %d\n%s\n", i+1, at.Unix(), len(message), message)
		if i == 0 {
			fmt.Fprint(w, "from refs/heads/main^0\n") // whatever was imported before
		}
		content := fmt.Sprintf("%d\n", number+1)
		if _, err := fmt.Fprintf(w, "M 100644 inline log.txt\ndata %d\n%s\n", len(content), content); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, "done\n")
	return err
}

// readMarks reads which commit fast-import has made of which mark.
func readMarks(name string, n int) ([]state.SHA, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	shas := make([]state.SHA, n)
	for line := range strings.Lines(string(text)) {
		var i int
		var sha string
		if _, err := fmt.Sscanf(line, ":%d %s", &i, &sha); err != nil || i < 1 || i > n {
			return nil, fmt.Errorf("git fast-import has written the mark %q", line)
		}
		shas[i-1] = state.SHA(sha)
	}
	return shas, nil
}

// unsynced is a disk that nobody waits for: what is built before anything is
// measured may be lost.
type unsynced struct{ vfs.FS }

func (u unsynced) OpenFile(name string, flag int, perm os.FileMode) (vfs.File, error) {
	f, err := u.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return unsyncedFile{f}, nil
}

func (unsynced) SyncDir(string) error { return nil }

type unsyncedFile struct{ vfs.File }

func (unsyncedFile) Sync() error { return nil }
