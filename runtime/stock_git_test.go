package runtime

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"hank/internal/short"
	"hank/recovery/layout"
	"hank/runtime/exitcode"
	"hank/state"
)

// TestStockGitTidiesUpBesideARun has git prune and pack the checkpoints again
// and again while a run makes them: it is not disturbed, and every checkpoint
// and the program are there afterwards.
func TestStockGitTidiesUpBesideARun(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	const codons = 6
	var list []string
	for n := range codons {
		list = append(list, fmt.Sprintf(`{"id": "c%d", "name": "C%d", "model": "shell", "continuationMode": "fresh", "promptText": "echo %d >>log; echo %d >f%d"}`, n, n, n, n, n))
	}
	s := stageOf(t, `{"hank": [`+strings.Join(list, ",")+`]}`)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		store := layout.Layout{Root: s.root}.Store()
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			args := [][]string{{"prune", "--expire=now"}, {"repack", "-a", "-d", "-q"}, {"gc", "--prune=now", "-q"}}[n%3]
			cmd := exec.Command("git", append([]string{"--git-dir=" + store}, args...)...)
			cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
			_ = cmd.Run() // at first there is no store
		}
	}()
	s.must(ModeRun, exitcode.Done)
	close(stop)
	<-stopped
	if said := strings.Join(s.said, "\n"); strings.Contains(said, "warning") {
		t.Errorf("it said:\n%s", said)
	}
	s.fsck()
	want := map[string]string{}
	for n := range codons {
		tree := s.treeIn(s.last(state.CodonID(fmt.Sprint("c", n))).CompletionCheckpoint)
		want[fmt.Sprint("f", n)] = tree[fmt.Sprint("f", n)]
		delete(tree, "log")
		sameTree(t, fmt.Sprint("the checkpoint of c", n), tree, want)
	}
	s.mustRollback("c2")
	s.must(ModeRun, exitcode.Done)
	if got := content(t, s.workspace(), "log"); got != "0\n1\n2\n3\n4\n5\n" {
		t.Errorf("after a rollback the codons have left %q", got)
	}
}
