//go:build unix

package runtime

import (
	"os"
	"path/filepath"
	"testing"

	"hank/internal/short"
	"hank/runtime/exitcode"
)

// Who says --keep-tree has the codon done on the workspace as it is: after a crash, of
// which what the user has changed cannot be told any more, after a failure, and
// for a codon that is done.
func TestKeepTreeLeavesTheWorkspaceAsItIs(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	const hank = `{"hank": [
	  {"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo a >a"},
	  {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh",
	   "promptText": "echo b >>log; echo '::hank usage {\"costUSD\":1}'; [ -e \"$GATE/ok\" ] || [ -e \"$GATE/fail\" ] || sleep 120; [ -e \"$GATE/ok\" ]"}]}`
	keep := func(o *command) { o.KeepTree = true }
	for name, try := range map[string]struct {
		left string // the gate that the first run finds; empty: it is killed
		mode Mode
		edit bool
	}{
		"run after a crash":                   {"", ModeRun, true},
		"retry after a crash":                 {"", ModeRetry, true},
		"retry after a crash, nothing edited": {"", ModeRetry, false},
		"retry after a failure":               {"fail", ModeRetry, true},
		"retry after a failure, no edit":      {"fail", ModeRetry, false},
		"retry of what is done":               {"ok", ModeRetry, true},
		"retry of what is done, no edit":      {"ok", ModeRetry, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, gate := stageOf(t, hank), t.TempDir()
			s.opts.Environ = append(s.opts.Environ, "GATE="+gate)
			switch try.left {
			case "":
				s.must(ModeRun, exitcode.Stopped, func(o *command) { o.StopAfter = 1 })
				l := order{Execution: s.root, Hank: s.opts.Hank, Output: s.opts.Output}.start(t, "GATE="+gate)
				l.until(t, "event", "*", "CostsUpdated")
				l.kill()
				l.wait()
			case "fail":
				put(t, gate, "fail", "")
				s.must(ModeRun, exitcode.Failed)
			default:
				put(t, gate, "ok", "")
				s.must(ModeRun, exitcode.Done)
			}
			put(t, gate, "ok", "")
			want := "b\nb\n"
			if try.edit {
				put(t, s.workspace(), "mine", "a person's\n")
				put(t, s.workspace(), "log", "mended\n")
				want = "mended\nb\n"
			}
			s.must(try.mode, exitcode.Done, keep, func(o *command) {
				if try.mode == ModeRetry {
					o.Codon = "b"
				}
			})
			if got := content(t, s.workspace(), "log"); got != want {
				t.Errorf("log: %q, want %q", got, want)
			}
			if _, err := os.Stat(filepath.Join(s.workspace(), "mine")); try.edit && err != nil {
				t.Errorf("what a person has added is gone: %v", err)
			}
			s.must(ModeRun, exitcode.Done)
			s.mustUndo()
			if got := content(t, s.workspace(), "log"); got+"b\n" != want {
				t.Errorf("taken back, log: %q, want %q without its last line", got, want)
			}
			s.fsck()
		})
	}
}
