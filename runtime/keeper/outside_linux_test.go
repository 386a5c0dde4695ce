package keeper

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestWithoutSubreapersOrphansAreFoundByTheirMarks: macOS has no subreapers, so
// an orphan there leaves the keeper's tree. It still has its group, or the
// attempt in its environment, and the keeper looks for both before it ends.
func TestWithoutSubreapersOrphansAreFoundByTheirMarks(t *testing.T) {
	t.Parallel()
	spec := shell(t, "") // the part brings its own script
	cmd := exec.Command("/proc/self/exe", "__part", "outside")
	cmd.Env = append(spec.Env, "HANK_TEST_NO_SUBREAPER=1", "DIR="+spec.Dir, "ATTEMPT="+spec.Attempt)
	out, err := cmd.CombinedOutput()
	if want := "exit 0, 2 killed"; err != nil || strings.TrimSpace(string(out)) != want {
		t.Errorf("%s, %v; want %q", out, err, want)
	}
	if left := holders(t, canary(spec)); len(left) > 0 {
		t.Errorf("alive: %v", left)
	}
}

func init() {
	parts["outside"] = func([]string) {
		p, err := Start(Spec{
			// One orphan in the command's group, one in a session of its own.
			Args:    []string{"sh", "-c", `exec 9>>"$CANARY"; (sleep 1000 &) ; (setsid sleep 1000 &) ; exit 0`},
			Env:     os.Environ(),
			Dir:     os.Getenv("DIR"),
			Attempt: os.Getenv("ATTEMPT"),
		}, Streams{})
		if err != nil {
			fmt.Println(err)
			return
		}
		exit, err := p.Wait()
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("exit %d, %d killed\n", exit.Code, exit.KilledTotal)
	}
}
