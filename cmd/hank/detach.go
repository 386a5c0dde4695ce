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
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"hank/cmd/hank/call"
	"hank/internal/argv"
	"hank/internal/term"
	"hank/recovery/layout"
	"hank/runtime/exitcode"
	"hank/runtime/history"
	"hank/runtime/report/output"
)

// detachPatience is how long a detached run is watched for an early end, such
// as a hank that is invalid.
const detachPatience = time.Second

// detach starts the same command again, in a session of its own, with its
// output in a file among hank's own, which no checkpoint takes.
func detach(c *cli.Context, execution string) error {
	root, err := history.Locate(execution)
	if err != nil { // it begins here
		root, err = filepath.Abs(".")
	}
	if err = cmp.Or(err, layout.Obstructed(root)); err != nil {
		return err
	}
	args, err := argv.Without(c.App, os.Args, "detach")
	if err != nil {
		return err
	}
	l := layout.Layout{Root: root}
	var made []string // innermost first
	for dir := l.Logs(); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); err == nil {
			break
		}
		made = append(made, dir)
	}
	if err := cmp.Or(os.MkdirAll(root, 0o755), os.MkdirAll(l.Logs(), 0o700)); err != nil {
		return err
	}
	log, err := newLog(l.Logs(), time.Now())
	if err != nil {
		return err
	}
	defer log.Close()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, args[1:]...)
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
		shown := showLog(log)
		code, err := endedEarly(err)
		begun := layout.Exists(root) && !slices.Contains([]exitcode.Code{exitcode.Usage, exitcode.Invalid, exitcode.Held}, code)
		if shown == nil && !begun { // it leaves nothing
			_ = os.Remove(log.Name())
			form.LogPath = nil
			for _, dir := range made {
				_ = os.Remove(dir)
			}
		}
		if err != nil || !c.Bool("json") {
			return cmp.Or(err, exitWith(code))
		}
		form.Ended(code, call.PrintedProblem(log))
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
func newLog(dir string, now time.Time) (*os.File, error) {
	base := filepath.Join(dir, "hank-"+now.UTC().Format("20060102T150405Z"))
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
