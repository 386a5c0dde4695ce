package runtime

import (
	"context"

	"hank/state"
)

// checkData says when the data is not what the execution knew; there is where the run
// begins. It is no reason to stop: a run that nobody watches continues, and what is done
// stays done, with a warning that is in the journal, too.
func (d *driver) checkData(ctx context.Context, there *state.State) {
	d.ui.Monitor.Wait("looking whether the data has changed")
	change, err := d.x.CheckData(ctx)
	if err != nil {
		d.say("warning: %v", err)
	}
	if change == nil {
		return
	}
	d.say("%s", change.Warning(d.x.Meta(), there))
	d.note("data.changed", map[string]any{"names": change.Names, "more": change.More})
}
