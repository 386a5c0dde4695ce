package recovery

import (
	"errors"
	"io/fs"

	"hank/internal/vfs"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/layout"
	"hank/recovery/load"
	"hank/state"
)

// beginState begins the state of an execution of which no record can be read. One whose
// creation was interrupted begins; for anything else the user must agree.
func beginState(x *execution.Execution, m *load.Result, storeErr error) error {
	began := isBegun(x.FS, x.Layout, *m, storeErr)
	if began && !x.Opts.Fresh {
		return needFresh(x.Layout)
	}
	m.State, m.Source, m.Rebase = &state.State{Lineage: x.Metadata.Lineage}, "new", "a new execution"
	if began || m.State.Lineage == "" {
		m.State.Lineage = layout.NewID(16)
	}
	if began {
		x.Report.Add(finding.Lost, "nothing was left of the state; the execution begins again from nothing")
	}
	return nil
}

// isBegun reports whether anything was ever acknowledged in an execution of which no
// record can be read.
func isBegun(fsys vfs.FS, l layout.Layout, m load.Result, storeErr error) bool {
	runs, err := fsys.ReadDir(l.Runs())
	return m.Traces || err == nil && len(runs) > 0 || !errors.Is(storeErr, fs.ErrNotExist)
}

func needFresh(l layout.Layout) error {
	return &finding.DecisionError{
		What:    "no recoverable state in " + l.Root + ": state.json, its backup, the journal and the checkpoints cannot be read",
		Options: []string{"put one of them back from a copy of " + l.Hankweave(), "`hank run --fresh` starts from scratch; what is there is kept in quarantine"},
		Command: "hank run --fresh",
	}
}
