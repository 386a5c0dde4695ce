//go:build unix

package codon_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hank/runtime/codon"
	"hank/runtime/harness"
	"hank/runtime/harness/shell"
	"hank/state"
)

// diary is a script that remembers: the file diary in its home is its session.
type diary struct{ shell.Harness }

func (diary) SessionFiles(req harness.Request, _ string) (string, []string, error) {
	names, err := harness.FilesIn(req.Home, "diary")
	return req.Home, names, err
}

func TestAnAttemptRemembersWhatCameBeforeItsCodonAndNothingElse(t *testing.T) {
	t.Parallel()
	const script = "echo $HANK_CODON >>$DIARY; cp $DIARY told"
	h := newHost(t, c("a", script)+","+c("b", script))
	told := func() string {
		text, err := os.ReadFile(filepath.Join(h.workspace, "told"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	layout := h.spec(0, 1).Layout
	spec := func(index, number int, from *state.Codon) codon.Spec {
		s := h.spec(index, number)
		s.Layout, s.Harness = layout, diary{}
		s.Environ = append(s.Environ, "DIARY="+filepath.Join(layout.Homes(), "shell", "diary"))
		if from != nil {
			s.Session, s.SessionCheckpoint = from.ClaudeSessionID, from.SessionCheckpoint
		}
		return s
	}
	first := h.must(spec(0, 1, nil), "completed - [told]")
	if first.SessionCheckpoint == "" {
		t.Fatal("the session is in no checkpoint")
	}
	for number := range 3 { // as if it was rolled back each time
		second := h.must(spec(1, number+1, first), "completed - [told]")
		if got := told(); got != "a\nb\n" {
			t.Errorf("attempt %d was told %q", number+1, got)
		}
		if second.SessionCheckpoint == "" || second.SessionCheckpoint == first.SessionCheckpoint {
			t.Errorf("the session is in checkpoint %q, after %q", second.SessionCheckpoint, first.SessionCheckpoint)
		}
	}
	h.must(spec(1, 4, &state.Codon{ClaudeSessionID: first.ClaudeSessionID}), "completed - [told]")
	if got := told(); got != "a\nb\nb\n" {
		t.Errorf("with a session that is in no checkpoint the attempt was told %q", got)
	}

	h.sessionError = errors.New("there is no room")
	unkept := h.must(spec(1, 5, first), "completed - [told]")
	if unkept.SessionCheckpoint != "" || !strings.Contains(strings.Join(unkept.Notes, "\n"), "there is no room") {
		t.Errorf("a session that cannot be kept: %q, %q", unkept.SessionCheckpoint, unkept.Notes)
	}

	before := told()
	lost := &state.Codon{ClaudeSessionID: first.ClaudeSessionID, SessionCheckpoint: "lost"}
	if failed := h.must(spec(1, 6, lost), "failed session_not_found [told]"); failed.FailureReason.Rule != "session-checkpoint" || told() != before {
		t.Errorf("a session whose checkpoint is lost: %+v, and the agent was told %q", failed.FailureReason, told())
	}
}
