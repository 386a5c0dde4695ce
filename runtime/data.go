package runtime

import (
	"context"
	"fmt"
)

// checkData says when the data is not what the execution knew. It is no reason
// to stop: a run that nobody watches continues, and what is done stays done, with
// a warning that is in the journal, too.
func (d *driver) checkData(ctx context.Context) {
	change, err := d.x.CheckData(ctx)
	if err != nil {
		d.say("warning: %v", err)
	}
	if change == nil {
		return
	}
	text := fmt.Sprintf("the data %s has changed since the last run (%s)", d.x.Meta().ReadOnlySourceDataPath, change)
	if finished := d.x.State().Next(); finished > 0 {
		text += fmt.Sprintf("; %d codons ran with the old data; rerun them with `hank retry CODON`", finished)
	}
	d.say("warning: %s", text)
	d.note("data.changed", map[string]any{"names": change.Names, "more": change.More})
}
