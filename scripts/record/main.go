// Command record makes fixtures/claude/recording again: it runs the hank of
// fixtures/claude with the real Claude Code command line, the one that
// scripts/install-agents installs, against the stand-in for a model provider that the
// tests use, and keeps of the execution what a replay reads.
//
//	scripts/record-agent
//
// It runs in directories and with names that are those of no machine, and fails if a
// path or name of the present machine is in what it would keep. Nothing that the model
// says is a model's: turns.go has all of it.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"time"

	"hank/internal/modelserver"
	"hank/scripts/keep"
)

// stage is where the execution runs: its path is in the transcripts.
const stage = "/tmp/hank-recording"

// pause is how long the stand-in thinks about a turn, so that the recording has pauses.
const pause = 1200 * time.Millisecond

func main() {
	if err := record(); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func record() error {
	if len(os.Args) != 4 {
		return errors.New("usage: record HANK CLAUDE DIR (see scripts/record-agent)")
	}
	hank, claude, dir := os.Args[1], os.Args[2], os.Args[3]
	if err := os.Mkdir(stage, 0o700); err != nil {
		return fmt.Errorf("the recording needs a directory of its own: %w", err)
	}
	defer os.RemoveAll(stage)
	if err := keep.Files(dir, filepath.Join(stage, "hank"), "hank.json", "prompts", "rig"); err != nil {
		return err
	}
	if err := os.Symlink(claude, filepath.Join(stage, "claude")); err != nil {
		return err
	}
	var lost atomic.Bool
	server := modelserver.Start(func(r modelserver.Request) modelserver.Turn {
		if len(r.Tools) > 0 {
			time.Sleep(pause)
		}
		return answer(r, func(asked string) {
			lost.Store(true)
			fmt.Fprintln(os.Stderr, "record: no turn for:", asked)
		})
	})
	defer server.Close()
	// A name space of its own gives the machine another name.
	run := exec.Command("unshare", "--map-root-user", "--uts", "sh", "-c", `hostname recording && exec "$0" "$@"`,
		hank, "run", "hank", "-e", "run")
	run.Dir, run.Stdout, run.Stderr = stage, os.Stdout, os.Stderr
	run.Env = append(server.Environ(), "PATH=/usr/local/bin:/usr/bin:/bin", "HOME="+stage, "USER=recorder", "LOGNAME=recorder", "TZ=UTC", "LC_ALL=C.UTF-8",
		"HANK_STATE_DIR="+stage+"/registry", "CLAUDE_PATH_TO_CLAUDE_EXECUTABLE="+stage+"/claude")
	if err := run.Run(); err != nil {
		return fmt.Errorf("the hank was not completed: %w", err)
	}
	if lost.Load() {
		return errors.New("a request was in no conversation")
	}
	return keep.Files(filepath.Join(stage, "run"), filepath.Join(dir, "recording"), kept...)
}

// kept is what a replay reads of an execution.
var kept = []string{".hankweave/state.json", ".hankweave/execution-meta.json", ".hankweave/events", ".hankweave/checkpoints", ".hankweave/runs"}
