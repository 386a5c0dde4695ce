package runtime

import (
	"fmt"
	"strings"

	"hank/recovery/layout"
	"hank/runtime/exitcode"
	"hank/runtime/recording"
	"hank/runtime/request"
)

// resumeReplay continues to replay what earlier runs of the execution replayed: a plain
// hank run after a stop, a rollback or a retry is not to begin to spend money.
func (d *driver) resumeReplay() (err error) {
	from := d.x.Meta().Replay
	if d.request.Replay == "" && from == request.Noop {
		d.noop = true
		return nil
	}
	if d.request.Replay == "" && from != "" {
		if d.replay, err = recording.Open(from); err != nil {
			err = &exitcode.UsageError{Why: fmt.Sprintf("this execution replays %s, which cannot be opened (%v); give its new place with --replay DIR, or --replay none to run agents", from, err)}
		}
	}
	return err
}

// keepReplay remembers what is replayed, or that nothing is any more.
func (d *driver) keepReplay() error {
	from := d.replay.Root()
	if d.noop {
		from = request.Noop
	}
	if from == d.x.Meta().Replay {
		return nil
	}
	return d.x.SetMeta(func(m *layout.Meta) { m.Replay = from })
}

// beginReplay is keepReplay of a run, which says so.
func (d *driver) beginReplay() error {
	if d.noop {
		d.say("%s", request.ReplayText(request.Noop))
	} else if from := d.replay.Root(); from != "" {
		d.say("%s", request.ReplayText(from))
		if changes := d.replay.Differs(d.program); len(changes) > 0 {
			d.say("warning: the hank has changed since it was recorded (%s); the replay repeats what was recorded", strings.Join(changes, "; "))
		}
	}
	return d.keepReplay()
}
