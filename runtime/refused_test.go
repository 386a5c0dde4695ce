//go:build unix

package runtime

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hank/runtime/exitcode"
)

// A command that is refused has adopted no hank, stored no limit, and moved nothing: for want of what
// the hank requires, of an agent, or because of crashes at the same codon.
func TestWhatIsRefusedHasAdoptedNothing(t *testing.T) {
	t.Parallel()
	const codon = `{"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "echo half >b; SCRIPT"}`
	hank := func(script, more string) string {
		return `{` + more + `"hank": [{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo a >a"}, ` +
			strings.ReplaceAll(codon, "SCRIPT", script) + `]}`
	}
	for name, try := range map[string]struct {
		mode    Mode
		crashes int
		hank    string
		change  func(*command)
		code    exitcode.Code
	}{
		"a variable that is not set": {ModeRetry, 0, hank("true", `"requirements": {"env": ["MISSING_KEY"]}, `), func(*command) {}, exitcode.Agent},
		"an agent that is not there": {ModeRetry, 0, strings.Replace(hank("true", ""), `B", "model": "shell"`, `B", "model": "opus"`, 1), func(*command) {}, exitcode.Agent},
		"three crashes":              {ModeRun, 3, hank("false", ""), func(o *command) { o.Unattended = true }, exitcode.Decision},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stageOf(t, hank("exit 1", ""))
			s.opts.Environ = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
			s.must(ModeRun, exitcode.Failed)
			if try.crashes > 0 {
				crash(s, try.crashes)
			}
			before := s.view().State
			put(t, s.opts.Hank, "hank.json", try.hank)
			if name == "an agent that is not there" {
				s.opts.Environ[0] = "PATH=" + t.TempDir()
			}
			s.must(try.mode, try.code, try.change, maxCost(9), func(o *command) { o.Adopt = true })
			after := s.view().State
			if after.Program != before.Program || after.HankHash != before.HankHash {
				t.Errorf("the hank was adopted:\n%s", strings.Join(s.said, "\n"))
			}
			if after.Limits.Any() {
				t.Errorf("the limit was kept: %+v", after.Limits)
			}
			if after.Position != before.Position {
				t.Errorf("the execution was moved to %+v", after.Position)
			}
			if _, err := os.Stat(filepath.Join(s.workspace(), "b")); try.crashes == 0 && err != nil {
				t.Errorf("what the failed codon has left was taken away: %v", err)
			}
		})
	}
}
