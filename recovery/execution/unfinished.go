package execution

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"syscall"
	"unicode/utf8"

	"hank/checkpoint/restore"
	"hank/internal/advice"
	"hank/recovery/finding"
	"hank/state"
)

// Describe begins a sentence about a change that was interrupted.
func Describe(i *state.Intent) string {
	return fmt.Sprintf("%s to %.12s was interrupted and", finding.WithArticle(i.Kind), i.To)
}

// NeedUnfinished asks what is to become of a change that cannot be finished.
func NeedUnfinished(i *state.Intent, why error) *finding.DecisionError {
	return &finding.DecisionError{
		What: fmt.Sprintf("%s cannot be finished: %v; all that was there before it is in checkpoint %.12s", Describe(i), why, i.Safety),
		Options: []string{
			advice.Quote(FixCommand) + " tries again, and undoes it where it cannot be finished",
			"`hank rollback --undo --yes` undoes it",
			"`hank run --keep-tree` accepts the workspace as it is and continues from there",
		},
		Command: FixCommand,
	}
}

// CauseOf is why a restore was not carried out; that it did not begin is not
// true of one that another has begun.
func CauseOf(err error) error {
	var incomplete *restore.IncompleteError
	if errors.As(err, &incomplete) {
		return incomplete.Err
	}
	var decision *finding.DecisionError
	if errors.As(err, &decision) && decision.Closed != nil {
		return decision.Closed
	}
	return err
}

// maxKept bounds the paths that a position names.
const maxKept = 100

// KeptPaths are the paths of what a move could not change; where they are too
// many, or not UTF-8, which no record holds, the directories that they are in.
func KeptPaths(refused []restore.Refused) []string {
	if len(refused) == 0 {
		return nil
	}
	set := map[string]bool{}
	for _, r := range refused {
		for !utf8.ValidString(r.Path) {
			r.Path = path.Dir(r.Path)
		}
		set[r.Path] = true
	}
	for len(set) > maxKept {
		above := map[string]bool{}
		for name := range set {
			above[path.Dir(name)] = true
		}
		set = above
	}
	return slices.Sorted(maps.Keys(set))
}

// refusal reports whether the system does not let one path be changed, whatever
// becomes of the others.
func refusal(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.EROFS)
}

// IsClosed reports whether a move has changed nothing because the system does not
// let the workspace be written to.
func IsClosed(err error) bool {
	var decision *finding.DecisionError
	if errors.As(err, &decision) && decision.Closed != nil {
		return true
	}
	var incomplete *restore.IncompleteError
	return errors.As(err, &incomplete) && !incomplete.Touched && refusal(incomplete.Err)
}
