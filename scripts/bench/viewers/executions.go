package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"hank/internal/vfs"
	"hank/state/journal"
)

// command is hank in the directory of the bench, with a list of executions of its own.
func (b *bench) command(args ...string) *exec.Cmd {
	cmd := exec.Command(b.hank, args...)
	if b.apart && args[0] == "run" { // all others have the processor of the bench
		cmd = exec.Command("taskset", append([]string{"-c", "0", b.hank}, args...)...)
	}
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), "HANK_STATE_DIR="+filepath.Join(b.dir, "state"), "TERM=xterm-256color", "LANG=C.UTF-8", "NO_COLOR=")
	return cmd
}

// ran runs hank to its end, and wants an exit code.
func (b *bench) ran(code int, args ...string) error {
	cmd := b.command(args...)
	said, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		return fmt.Errorf("hank %s ended with %w, want %d\n%s", strings.Join(args, " "), err, code, said)
	}
	return nil
}

// codon is a codon of a hank, with a script of sh.
func codon(id, script string) string {
	return fmt.Sprintf(`{"id":%q,"name":%q,"model":"shell","continuationMode":"fresh","promptText":%q}`, id, id, script)
}

// write writes the hank of an execution.
func (b *bench) write(name string, codons ...string) error {
	dir := filepath.Join(b.dir, name+"-hank")
	text := fmt.Sprintf(`{"meta":{"name":%q,"version":"1.0.0"},"hank":[%s]}`, name, strings.Join(codons, ","))
	return errors.Join(os.MkdirAll(dir, 0o777), os.WriteFile(filepath.Join(dir, "hank.json"), []byte(text), 0o666))
}

// made returns the directory of an execution, and makes it where it is not kept.
func (b *bench) made(name string, make func(root string) error) (string, error) {
	root := filepath.Join(b.dir, name)
	if _, err := os.Stat(filepath.Join(root, "made")); err == nil {
		return root, nil
	}
	b.say("making the execution %s", name)
	if err := os.RemoveAll(root); err != nil {
		return "", err
	}
	if err := make(root); err != nil {
		return "", err
	}
	return root, os.WriteFile(filepath.Join(root, "made"), nil, 0o666)
}

// long is an execution of many codons, whose last one has printed many lines.
func (b *bench) long() (string, error) {
	return b.made("transcript", func(string) error {
		var list []string
		for i := range b.Codons - 1 {
			list = append(list, codon(fmt.Sprintf("step-%d", i+1), "echo done"))
		}
		list = append(list, codon("loud", fmt.Sprintf("seq -f 'line %%.0f of the transcript, about as long as what agents print' %d", b.Lines)))
		return errors.Join(b.write("transcript", list...), b.ran(0, "run", "transcript-hank", "-e", "transcript"))
	})
}

// eventful is an execution with a long journal. What an agent would have done between two codons
// is written into the journal of one that waits there; then the run ends in order, and its last
// codon is tried again: why it began is in the journal alone.
func (b *bench) eventful() (string, error) {
	return b.made("journal", func(root string) error {
		gated := strings.TrimSuffix(codon("second", "echo two >two"), "}") + `,"gate":{"id":"ok","when":"before","kind":"approve","summary":"Shall it go on?"}}`
		if err := errors.Join(b.write("journal", codon("first", "echo one >one"), gated), b.ran(7, "run", "journal-hank", "-e", "journal")); err != nil {
			return err
		}
		j, _, err := journal.Open(vfs.OS, filepath.Join(root, ".hankweave", "events"), nil)
		if err != nil {
			return err
		}
		for j.Last() < uint64(b.Events) {
			var batch []journal.Event
			for range min(1000, b.Events-int(j.Last())) {
				n := j.Last() + uint64(len(batch)) + 1
				batch = append(batch, journal.Event{Seq: n, ID: fmt.Sprintf("%016x", n), Timestamp: time.Now(), Type: "assistant.action",
					Data: jsontext.Value(fmt.Sprintf(`{"action":"tool_use","codonId":"first","content":"","toolInput":{"file_path":"part-%d.txt"},"toolName":"Read","toolUseId":"t%d"}`, n, n))})
			}
			if err := j.Append(batch...); err != nil {
				return errors.Join(err, j.Close())
			}
		}
		return errors.Join(j.Close(), b.ran(0, "approve", "ok", "-e", "journal"), b.ran(0, "run", "-e", "journal"), b.ran(0, "retry", "second", "-e", "journal"))
	})
}
