package finding

import (
	"slices"
	"testing"
)

func TestWhatTheUserChoosesFromIsACommandForEachOption(t *testing.T) {
	t.Parallel()
	two := []string{"one", "other"}
	for _, c := range []struct {
		about string
		ask   DecisionError
		want  []string
	}{
		{"one option is no choice", DecisionError{Options: two[:1], Command: "hank run"}, nil},
		{"no option is a command", DecisionError{Options: two}, nil},
		{"answers are added to the command that asks", DecisionError{Options: two, Command: "hank run --max-cost 3 --adopt", Answers: []string{"--adopt", "--frozen"}},
			[]string{"hank run --max-cost 3 --adopt", "hank run --max-cost 3 --frozen"}},
		{"an answer to another question stays", DecisionError{Options: two, Command: "hank run --adopt --keep-tree", Answers: []string{"--keep-tree", "--restore"}},
			[]string{"hank run --adopt --keep-tree", "hank run --adopt --restore"}},
		{"two questions", DecisionError{Options: two, Command: "hank retry --adopt --keep-tree", Answers: Both([]string{"--adopt", "--frozen"}, []string{"--keep-tree", "--restore"})},
			[]string{"hank retry --adopt --keep-tree", "hank retry --adopt --restore", "hank retry --frozen --keep-tree", "hank retry --frozen --restore"}},
		{"two questions, answered with the last of each", DecisionError{Options: two, Command: "hank run --adopt --restore", Answers: Both([]string{"--adopt", "--frozen"}, []string{"--keep-tree", "--restore"})},
			[]string{"hank run --adopt --keep-tree", "hank run --adopt --restore", "hank run --frozen --keep-tree", "hank run --frozen --restore"}},
		{"options that begin with a command", DecisionError{Command: "hank doctor --fix", Options: []string{
			"put it back", "`hank doctor --fix` continues", "mkdir x && `hank run --restore` makes an empty one", "`hank rollback --to TARGET` goes back", "move it, and then `hank run`"}},
			[]string{"hank doctor --fix", "mkdir x && hank run --restore"}},
	} {
		if got := c.ask.Choices(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.about, got, c.want)
		}
	}
}
