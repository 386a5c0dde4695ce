package recovery

import (
	"fmt"

	"hank/checkpoint"
	"hank/recovery/finding"
	"hank/recovery/githistory"
	"hank/recovery/load"
)

// consultGit asks git, the last source, for what the others do not know, and lets it
// win where it is further. store is nil where it cannot be used.
func consultGit(m *load.Result, store *checkpoint.Store, rep *finding.Report) (a githistory.Comparison, err error) {
	history := githistory.History{Store: store, Rep: rep}
	if m.Foreign {
		if m.State, err = history.Adopt(m.State); err != nil {
			return a, fmt.Errorf("reading the branches of the store: %w", err)
		}
	}
	if store == nil {
		return a, nil
	}
	if was := store.HeadWas; was != "" {
		rep.Repair(finding.Mended, "HEAD of the checkpoint store is "+was, "it was written again: git needs it and hank does not", "the next command writes it again: git needs it and hank does not")
	}
	if a, err = history.Compare(*m); err != nil {
		return a, fmt.Errorf("comparing the state with the checkpoints: %w", err)
	}
	take(m, a, rep)
	return a, nil
}

// take lets git's history win where it is further.
func take(m *load.Result, a githistory.Comparison, rep *finding.Report) {
	if a.Rebuilt == nil {
		return
	}
	if m.State == nil || a.Rebuilt.Lineage != m.State.Lineage {
		m.Rebase = m.OfGit
		rep.Repair(finding.Mended, fmt.Sprintf("state and journal are lost, and the checkpoints know everything up to event %d", a.Rebuilt.Seq),
			"they were rebuilt from the checkpoints", "the next command rebuilds them from the checkpoints")
	} else {
		m.Rebase = "rebuilt from the checkpoints"
		rep.Behind = fmt.Sprintf("the checkpoints know more (up to event %d) than state and journal (up to %d)", a.Rebuilt.Seq, m.State.Seq)
		rep.Repair(finding.Mended, rep.Behind,
			"the history was rebuilt from them", "the next command rebuilds the history from them")
	}
	a.Doubt(rep, m.Rebase == load.Imported)
	m.State, m.Source = a.Rebuilt, "git"
}

// reportJournal says what becomes of state.json and of the end of the journal.
func reportJournal(m load.Result, rep *finding.Report) {
	if m.Unsaved {
		rep.Repair(finding.Mended, "state.json is missing", "it is written again from the journal", "the next command writes it again from the journal")
	}
	if m.Found == nil || m.Found.Torn == nil {
		return
	}
	torn := "the last event of the journal is incomplete after a crash; it had not been acknowledged"
	if m.Rebase != "" { // others knew more
		torn = "the last event of the journal is incomplete"
	}
	rep.Repair(finding.Note, torn, "it is in quarantine", "the next command puts it into quarantine")
}
