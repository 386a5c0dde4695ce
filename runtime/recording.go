package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"hank/checkpoint"
	"hank/checkpoint/restore"
	"hank/plan"
	"hank/recovery"
	"hank/recovery/githistory"
	"hank/recovery/layout"
	"hank/runtime/agents"
	"hank/runtime/exitcode"
	"hank/runtime/harness"
	"hank/runtime/harness/replay"
	"hank/state"
)

// recording is an execution whose agents are played again: their transcripts
// instead of their work, and the differences between their checkpoints instead
// of what they did to files.
type recording struct {
	view  *recovery.View
	store *checkpoint.Store
	// records are the newest on the thread of each codon whose agent was started.
	// They are looked up for each codon that is played.
	records map[state.CodonID]*state.Codon
}

// openRecording opens an execution to be replayed. It is only read.
func openRecording(dir string) (*recording, error) {
	root, err := layout.Find(dir)
	if err != nil {
		return nil, err
	}
	view, err := recovery.Read(root)
	if err != nil {
		return nil, err
	}
	store, err := view.Store()
	if err != nil {
		return nil, err
	}
	records := map[state.CodonID]*state.Codon{}
	for _, step := range view.State.Timeline() {
		if c := step.Codon; c.ClaudeLogPath != "" && c.Status.Terminal() {
			records[c.CodonID] = c
		}
	}
	return &recording{view, store, records}, nil
}

// resumeReplay continues to replay what earlier runs of the execution replayed: a plain
// hank run after a stop, a rollback or a retry is not to begin to spend money.
func (d *driver) resumeReplay() (err error) {
	if from := d.x.Meta().Replay; d.request.Replay == "" && from != "" {
		if d.replay, err = openRecording(from); err != nil {
			err = &exitcode.UsageError{Why: fmt.Sprintf("this execution replays %s, which cannot be opened (%v); give its new place with --replay DIR, or --replay none to run agents", from, err)}
		}
	}
	return err
}

// beginReplay remembers what is replayed, or that nothing is any more, and says so.
func (d *driver) beginReplay() error {
	from := d.replay.root()
	if from != "" {
		d.say("replaying %s: no agent runs, and nothing is paid", from)
		if changes := d.replay.changes(d.program); len(changes) > 0 {
			d.say("warning: the hank has changed since it was recorded (%s); the replay repeats what was recorded", strings.Join(changes, "; "))
		}
	}
	if from == d.x.Meta().Replay {
		return nil
	}
	return d.x.SetMeta(func(m *layout.Meta) { m.Replay = from })
}

// changes says in what a program differs from the recorded one.
func (r *recording) changes(p *plan.Program) []string {
	s := r.view.State
	if s.HankHash == "" || s.HankHash == programHash(p) {
		return nil
	}
	recorded, err := githistory.LoadProgram(r.store, s.Program)
	if err != nil {
		return []string{"its recorded version cannot be read"}
	}
	return describeChanges(recorded, p)
}

// root is the directory of the recorded execution; empty if nothing is replayed.
func (r *recording) root() string {
	if r == nil {
		return ""
	}
	return r.view.Layout.Root
}

func (r *recording) close() error {
	if r == nil {
		return nil
	}
	return r.store.Close()
}

// harness plays the transcript of a codon. What cannot be played is a codon that
// cannot be started.
func (r *recording) harness(id state.CodonID) harness.Harness {
	h, err := r.transcript(id)
	if err != nil {
		return unplayable{why: err}
	}
	return h
}

// unplayable is the harness of a codon that has no transcript to be played.
type unplayable struct {
	replay.Harness
	why error
}

func (u unplayable) Command(harness.Request) (harness.Command, error) {
	return harness.Command{}, u.why
}

func (r *recording) transcript(id state.CodonID) (harness.Harness, error) {
	record := r.records[id]
	if record == nil {
		return nil, fmt.Errorf("%s has no recorded attempt at codon %s to play", r.view.Layout.Root, id)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	file := r.view.Layout.Resolve(record.ClaudeLogPath)
	return replay.Open(self, file, func(name string) (harness.Harness, bool) {
		h, ok := agents.Harnesses[name]
		return h, ok
	})
}

// applyFiles does to the workspace what the recorded codon did to its own.
func (r *recording) applyFiles(ctx context.Context, w *checkpoint.Workspace, id state.CodonID) error {
	record := r.records[id]
	if record == nil || record.BaseCheckpoint == "" || record.Checkpoint() == "" {
		return nil
	}
	from, errFrom := r.store.CommitInfo(checkpoint.SHA(record.BaseCheckpoint))
	to, errTo := r.store.CommitInfo(checkpoint.SHA(record.Checkpoint()))
	if err := errors.Join(errFrom, errTo); err != nil {
		return fmt.Errorf("the recorded checkpoints of codon %s: %w", id, err)
	}
	report, err := restore.Restore(ctx, restore.RestoreRequest{Store: r.store, Workspace: w, From: from.Tree, To: to.Tree,
		Removable: func(string) bool { return true }})
	if err == nil && len(report.Refused) > 0 {
		err = fmt.Errorf("%q %s", report.Refused[0].Path, report.Refused[0].Why)
	}
	return err
}
