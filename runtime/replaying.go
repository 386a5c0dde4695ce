package runtime

import (
	"fmt"
	"strings"

	"hank/internal/term"
	"hank/plan"
	"hank/recovery/layout"
	"hank/runtime/exitcode"
	"hank/runtime/hankfile"
	"hank/runtime/recording"
)

// resumeReplay continues to replay what earlier runs of the execution replayed: a plain
// hank run after a stop, a rollback or a retry is not to begin to spend money.
func (d *driver) resumeReplay() (err error) {
	if from := d.x.Meta().Replay; d.request.Replay == "" && from != "" {
		if d.replay, err = recording.Open(from); err != nil {
			err = &exitcode.UsageError{Why: fmt.Sprintf("this execution replays %s, which cannot be opened (%v); give its new place with --replay DIR, or --replay none to run agents", from, err)}
		}
	}
	return err
}

// beginReplay remembers what is replayed, or that nothing is any more, and says so.
func (d *driver) beginReplay() error {
	from := d.replay.Root()
	if from != "" {
		d.say("replaying %s: no agent runs, and nothing is paid", term.ShortPath(from))
		if changes := changed(d.replay, d.program); len(changes) > 0 {
			d.say("warning: the hank has changed since it was recorded (%s); the replay repeats what was recorded", strings.Join(changes, "; "))
		}
	}
	if from == d.x.Meta().Replay {
		return nil
	}
	return d.x.SetMeta(func(m *layout.Meta) { m.Replay = from })
}

// changed says in what a program differs from the recorded one.
func changed(r *recording.Recording, p *plan.Program) []string {
	hash, load := r.Program()
	if hash == "" || hash == hankfile.ProgramHash(p) {
		return nil
	}
	recorded, err := load()
	if err != nil {
		return []string{"its recorded version cannot be read"}
	}
	return hankfile.DescribeChanges(recorded, p)
}
