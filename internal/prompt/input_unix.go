//go:build unix

package prompt

import (
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// input is the terminal that answers come from.
type input struct {
	fd      int
	before  *unix.Termios // nil: its mode is not known
	signals chan os.Signal
}

// open looks at the terminal, and reports whether lines are waiting there already.
func open(f *os.File) (in *input, waiting bool) {
	in = &input{fd: int(f.Fd()), signals: make(chan os.Signal, 1)}
	in.before, _ = unix.IoctlGetTermios(in.fd, getMode)
	return in, in.ready(0)
}

// begin has the terminal deliver lines. What interrupts and quits a program ends a line
// here, and is part of it, so that nothing else of the program takes it for its own.
// What was typed before is discarded.
func (in *input) begin() {
	signal.Notify(in.signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	if in.before == nil {
		return
	}
	mode := *in.before
	mode.Lflag |= unix.ICANON | unix.ECHO | unix.IEXTEN
	mode.Lflag &^= unix.ISIG
	mode.Iflag |= unix.ICRNL
	mode.Cc[unix.VEOL], mode.Cc[unix.VEOL2] = mode.Cc[unix.VINTR], mode.Cc[unix.VQUIT]
	_ = unix.IoctlSetTermios(in.fd, setModeAndDiscard, &mode)
}

// discard forgets what was typed and not read.
func (in *input) discard() {
	if mode, err := unix.IoctlGetTermios(in.fd, getMode); err == nil {
		_ = unix.IoctlSetTermios(in.fd, setModeAndDiscard, mode)
	}
}

// close puts the mode of the terminal back.
func (in *input) close() {
	signal.Stop(in.signals)
	if in.before != nil {
		_ = unix.IoctlSetTermios(in.fd, setMode, in.before)
	}
}

// line reads a line; false: there is none, since the user or a signal has ended the
// input, or it was interrupted.
func (in *input) line() (string, bool) {
	var text []byte
	for buf := make([]byte, 4096); ; {
		select {
		case <-in.signals:
			return "", false
		default:
		}
		if !in.ready(100 * time.Millisecond) {
			continue
		}
		n, err := unix.Read(in.fd, buf)
		if err == unix.EINTR || err == unix.EAGAIN {
			continue
		}
		if n <= 0 {
			return "", false
		}
		text = append(text, buf[:n]...)
		if in.interrupts(text[len(text)-1]) {
			return "", false
		}
		if line, ended := strings.CutSuffix(string(text), "\n"); ended {
			return line, true
		}
	}
}

func (in *input) interrupts(key byte) bool {
	return in.before != nil && key != 0 && (key == in.before.Cc[unix.VINTR] || key == in.before.Cc[unix.VQUIT])
}

// ready reports whether something can be read, or never will be, within a time.
func (in *input) ready(patience time.Duration) bool {
	fds := []unix.PollFd{{Fd: int32(in.fd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, int(patience.Milliseconds()))
	return err == nil && n > 0
}
