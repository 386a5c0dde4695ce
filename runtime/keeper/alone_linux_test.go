package keeper

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestAKeeperEndsItsCommandByItselfWhenTheRuntimeIsGone: the watchdog would end the
// command too, some seconds later, so here there is none. The runtime's death is
// the end of the control pipe.
func TestAKeeperEndsItsCommandByItselfWhenTheRuntimeIsGone(t *testing.T) {
	t.Parallel()
	spec := shell(t, `sleep 1000 & trap "" TERM HUP INT; while :; do sleep 1000; done`)
	controlR, control, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	report, reportW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	keeper := exec.Command("/proc/self/exe", Subcommand, spec.Attempt)
	keeper.ExtraFiles = []*os.File{controlR, reportW}
	keeper.Env = append(os.Environ(), attemptVariable+"="+spec.Attempt)
	if err := keeper.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = keeper.Process.Kill() }) // it has ended, unless the test fails
	controlR.Close()
	reportW.Close()
	env := append(spec.Env, attemptVariable+"="+spec.Attempt)
	if err := json.NewEncoder(control).Encode(order{Path: "/bin/sh", Args: texts[raw](spec.Args), Env: texts[raw](env), Dir: raw(spec.Dir), Attempt: spec.Attempt, StopGrace: time.Hour}); err != nil {
		t.Fatal(err)
	}
	answers := json.NewDecoder(report)
	var started, exited struct {
		Started, Exited json.RawMessage
		Failed          string
	}
	if err := answers.Decode(&started); err != nil || started.Started == nil {
		t.Fatalf("%+v, %v", started, err)
	}
	control.Close()
	time.AfterFunc(30*time.Second, func() { _ = report.Close() }) // a keeper that goes on must not hang the test
	if err := answers.Decode(&exited); err != nil || exited.Exited == nil {
		t.Errorf("the keeper goes on without its runtime: %+v, %v", exited, err)
	}
	if left := holders(t, canary(spec)); len(left) > 0 && !t.Failed() {
		t.Errorf("alive: %v", left)
	}
}
