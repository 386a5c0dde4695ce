package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"hank/internal/term"
	"hank/recovery/layout"
	"hank/runtime/exitcode"
	"hank/runtime/report/output"
)

// detachPatience is how long a detached run is watched for an early end, such
// as a hank that is invalid.
const detachPatience = time.Second

// detach starts the same command again, in a session of its own, with its
// output in a file.
func detach(c *cli.Context, execution string) error {
	root, err := filepath.Abs(orDefault(execution, "."))
	if err != nil {
		return err
	}
	_, absent := os.Lstat(root)
	if err := os.MkdirAll(root, 0o755); err != nil {
		return err
	}
	log, err := newLog(root, time.Now())
	if err != nil {
		return err
	}
	defer log.Close()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var args []string
	for _, a := range os.Args[1:] {
		if a != "--detach" && a != "-detach" {
			args = append(args, a)
		}
	}
	cmd := exec.Command(self, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = ownSession()
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	form := output.DetachedOf(root, log.Name(), cmd.Process.Pid)
	select {
	case err := <-ended:
		if shown := showLog(log); shown == nil && !layout.Exists(root) { // what has begun nothing leaves nothing
			_ = os.Remove(log.Name())
			form.LogPath = nil
			if absent != nil {
				_ = os.Remove(root)
			}
		}
		code, err := endedEarly(err)
		if err != nil || !c.Bool("json") {
			return cmp.Or(err, exitWith(code))
		}
		form.Ended(code)
		return jsonEnding(form, form.Error)
	case <-time.After(detachPatience):
	}
	if c.Bool("json") {
		return printJSON(form)
	}
	say("running in the background (pid %d), log: %s\n  status  hank status%s\n  stop    hank stop%[3]s\n",
		cmd.Process.Pid, term.ShortPath(log.Name()), executionOption(c))
	return nil
}

// newLog makes the file for the output of a detached run, named for the time;
// another of the same second gets a number, too.
func newLog(root string, now time.Time) (*os.File, error) {
	base := filepath.Join(root, "hank-"+now.UTC().Format("20060102T150405Z"))
	for n := 1; ; n++ {
		name := base + ".log"
		if n > 1 {
			name = fmt.Sprintf("%s-%d.log", base, n)
		}
		log, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			return log, err
		}
	}
}

// showLog shows what a detached run has printed.
func showLog(log *os.File) error {
	if _, err := log.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := io.Copy(os.Stderr, log)
	return err
}

// endedEarly is the exit code of a detached run.
func endedEarly(err error) (exitcode.Code, error) {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exitcode.Code(exit.ExitCode()), nil
	}
	return exitcode.Done, err
}
