//go:build unix

package runtime

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hank/internal/short"
	"hank/recovery"
	"hank/runtime/exitcode"
	"hank/state"
	"hank/state/journal"
)

// A run says that it has ended when what its agents wrote is on the disk, and
// not before: killed behind that sync, its codons are done and it has not ended.
func TestARunEndsOnlyWhenItsWorkIsOnTheDisk(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	put(t, dir, "hank.json", `{"meta": {"name": "s", "version": "1"}, "hank": [{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo a >a"}]}`)
	run := func(env ...string) error {
		cmd := exec.Command(program, "run")
		cmd.Dir, cmd.Env = dir, append(append(os.Environ(), "HANK_STATE_DIR="+filepath.Join(dir, "registry")), env...)
		return cmd.Run()
	}
	verdict := func() (codon state.CodonStatus, run state.RunStatus) {
		v, err := recovery.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		first := v.State.Runs[len(v.State.Runs)-1]
		return first.Codon(0).Status, v.State.Newest().Status
	}
	var exit *exec.ExitError
	if err := run("HANK_FAILPOINT=volume.synced:1"); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("it did not come to the sync: %v", err)
	}
	if c, r := verdict(); c != state.Completed || r != state.StatusRunning {
		t.Errorf("before its end is recorded the codon is %s, the run %s", c, r)
	}
	if err := run(); err != nil {
		t.Fatal(err)
	}
	if c, r := verdict(); c != state.Completed || r != state.StatusCompleted {
		t.Errorf("at its end the codon is %s, the run %s", c, r)
	}
}

// A run whose work cannot be synced has not completed, and one that ends for another
// reason says so.
func TestAWorkspaceThatCannotBeSyncedIsNotPassedOver(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"exit 0", "exit 3"} {
		s := stageOf(t, fmt.Sprintf(`{"hank": [{"id": "c", "name": "C", "model": "shell", "continuationMode": "fresh", "promptText": %q}]}`, script))
		workspace := filepath.Join(s.root, "agentRoot")
		var moved error
		_, err := s.run(ModeRun, maxCost(5), func(o *command) {
			o.Appended = func(e journal.Event, _ *state.State) {
				if e.Type == state.BudgetSummaryEvent { // what comes before the sync
					moved = os.Rename(workspace, workspace+".away")
				}
			}
		})
		if err := errors.Join(moved, os.Rename(workspace+".away", workspace)); err != nil {
			t.Fatal(err)
		}
		run, said := s.view().State.Newest(), strings.Join(s.said, "\n")
		switch failed := script != "exit 0"; {
		case !failed && (err == nil || !strings.Contains(err.Error(), "syncing the workspace") || run.Status != state.StatusRunning):
			t.Errorf("the run is %s: %v", run.Status, err)
		case failed && (err != nil || run.Status != state.StatusFailed || !strings.Contains(said, "could not be synced to the disk")):
			t.Errorf("the run that failed is %s: %v\n%s", run.Status, err, said)
		case !failed:
			s.must(ModeRun, exitcode.Done)
		}
	}
}
