package execution

import "hank/state"

// RecordUsed records what the attempt that a run has left has used by its transcript, and
// returns its record. The error may be that of sameWorkspace, which is asked first.
func (x *Execution) RecordUsed(run state.RunID, sameBoot bool) (*state.Codon, error) {
	if err := x.sameWorkspace(sameBoot); err != nil {
		return nil, err
	}
	if more := x.Opts.Unrecorded(x.Layout, x.State(), run); len(more) > 0 {
		if err := x.Record(more...); err != nil {
			return nil, err
		}
	}
	return x.State().Run(run).Live(), nil
}
