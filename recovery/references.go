package recovery

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"hank/checkpoint"
	"hank/internal/vfs"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/githistory"
	"hank/state"
)

// newestLeft says that newer checkpoints of a branch may have been lost with it.
const newestLeft = ", the newest that is left of it"

// setAside plans that a file which holds no reference goes to quarantine, or that does which
// has the place of the directory of all of them.
func setAside(store *checkpoint.Store, d *checkpoint.DamagedError) Repair {
	if refs := filepath.Join(store.Dir, "refs"); d.Path == refs {
		return Repair{Severity: finding.Mended, Found: fmt.Sprintf("the references are lost: %s (%s)", d.Path, d.Why),
			Will: "the next command puts it into quarantine", Did: "it is in quarantine",
			do: func(_ context.Context, x *execution.Execution, _ *Repair) error {
				return errors.Join(x.QuarantineFile(refs, d), vfs.MkdirAll(x.FS, filepath.Join(refs, "heads"), 0o700))
			}}
	}
	return Repair{Severity: finding.Mended, Found: fmt.Sprintf("the reference %s is damaged (%s)", d.Path, d.Why),
		Will: "the next command puts it into quarantine, and a branch of that name back", Did: "it is in quarantine, and a branch of that name is put back",
		do: func(_ context.Context, x *execution.Execution, _ *Repair) error { return x.QuarantineFile(d.Path, d) }}
}

// restoreSessions plans to put back the references to the agents' sessions that are gone: of
// a run that is not removed, to the newest session checkpoint that is whole.
// It adds them to the other references that are no branches, by name.
func restoreSessions(s *state.State, store *checkpoint.Store, others map[string]checkpoint.SHA) (repairs []Repair) {
	for _, r := range s.Runs {
		ref := githistory.Sessions(r.RunID)
		if others[ref] != "" || r.Removed != nil {
			continue
		}
		for i := r.Len() - 1; i >= 0 && others[ref] == ""; i-- {
			to := r.Codon(i).SessionCheckpoint
			if to == "" || !store.Indexes(checkpoint.SHA(to)) || !githistory.IsWhole(store, to) {
				continue
			}
			others[ref] = checkpoint.SHA(to)
			repairs = append(repairs, Repair{Severity: finding.Mended, Found: fmt.Sprintf("the reference to the agents' sessions of run %s is gone", r.RunID),
				Will: fmt.Sprintf("the next command puts it back to checkpoint %.12s%s", to, newestLeft), Did: fmt.Sprintf("it leads to checkpoint %.12s again%s", to, newestLeft),
				do: func(_ context.Context, x *execution.Execution, _ *Repair) error {
					return x.Store.SetRef(ref, "", checkpoint.SHA(to))
				}})
		}
	}
	return repairs
}
