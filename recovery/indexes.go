package recovery

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"hank/checkpoint"
	"hank/checkpoint/packdb"
	"hank/recovery/execution"
	"hank/recovery/finding"
)

// planIndexes makes the indexes of whole packs again that are gone or damaged. Until then
// whoever opens the store computes them.
func planIndexes(s *subject) ([]Repair, error) {
	if s.store == nil {
		return nil, nil
	}
	var repairs []Repair
	var gone []*packdb.Pack
	for _, p := range s.store.Unindexed() {
		if errors.Is(p.Unfit(), fs.ErrNotExist) {
			gone = append(gone, p)
		} else {
			repairs = append(repairs, remadeIndex(p))
		}
	}
	if len(gone) == 0 {
		return repairs, nil
	}
	found, them, made := "the index of 1 pack of the checkpoint store is gone", "it", "it is made"
	if n := len(gone); n > 1 {
		found, them, made = fmt.Sprintf("the indexes of %d packs of the checkpoint store are gone", n), "them", "they are made"
	}
	return append(repairs, Repair{Severity: finding.Mended, Found: found,
		Will: "the next command makes " + them + " again", Did: made + " again",
		do: func(_ context.Context, x *execution.Execution, _ *Repair) error {
			for _, p := range gone {
				if err := x.Store.WriteIndex(p); err != nil {
					return err
				}
			}
			return nil
		}}), nil
}

// remadeIndex plans what becomes of a damaged index. It is kept: nothing that is damaged is
// deleted.
func remadeIndex(p *packdb.Pack) Repair {
	return Repair{Severity: finding.Mended, Found: fmt.Sprintf("the index of %s is damaged (%s)", filepath.Base(p.String()), cause(p.Unfit())),
		Will: "the next command puts it into quarantine and makes it again from the pack, which is whole",
		Did:  "it is in quarantine, and made again from the pack, which is whole",
		do: func(_ context.Context, x *execution.Execution, _ *Repair) error {
			if err := x.QuarantineFile(p.Base+".idx", p.Unfit()); err != nil {
				return err
			}
			return x.Store.WriteIndex(p)
		}}
}

// DamagedIndexes are the findings about damaged indexes of a store that a runtime uses. One
// that is missing there may be about to come, or its pack to go.
func DamagedIndexes(store *checkpoint.Store) (found []finding.Finding) {
	for _, p := range store.Unindexed() {
		if !errors.Is(p.Unfit(), fs.ErrNotExist) {
			found = append(found, remadeIndex(p).finding(true))
		}
	}
	return found
}
