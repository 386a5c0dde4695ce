package report

import (
	"errors"
	"strings"
	"testing"

	"hank/recovery/lock"
)

// TestAnAnswerThatIsNotRecorded: a move that is complete is told with no refusal.
func TestAnAnswerThatIsNotRecorded(t *testing.T) {
	t.Parallel()
	if err := notRecorded(nil); err != nil {
		t.Error(err)
	}
	for why, err := range map[string]error{
		"another command holds the execution": errors.Join(&lock.HeldError{Path: "x", Why: "its directory is locked"}),
		"no space left":                       errors.New("no space left"),
	} {
		got := notRecorded(err).Error()
		if !strings.HasPrefix(got, "this is done, but its answer could not be recorded: "+why+"; the same command") || strings.Contains(got, "wait for it") {
			t.Errorf("%v: %s", err, got)
		}
	}
}
