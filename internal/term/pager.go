package term

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
)

// Page returns where to write a long text for the user, as git does: where out is a
// terminal, $PAGER, or less, which ends by itself if all fits on the screen; else out. The
// pager starts with the first text. end waits until the user has left it. What could not
// be written because the user left early is no error; write is what the writing has
// returned.
func Page(out *os.File) (to io.Writer, end func(write error) error) {
	if !IsTerminal(out) || os.Getenv("TERM") == "dumb" {
		return out, func(write error) error { return write }
	}
	p := &pager{out: out, command: pagerCommand(os.LookupEnv)}
	return p, p.end
}

// pager is a pager that starts when it is needed.
type pager struct {
	out     *os.File
	command []string // nil: none
	begun   bool
	process *exec.Cmd // nil: there is none
	in      io.WriteCloser
	quiet   chan os.Signal
}

// pagerCommand is the pager that the environment asks for; nil if it is none, or is not
// installed.
func pagerCommand(lookup func(string) (string, bool)) []string {
	text, set := lookup("PAGER")
	if !set {
		text = "less"
	}
	command := strings.Fields(text)
	if len(command) == 0 || text == "cat" {
		return nil
	}
	if strings.ContainsAny(text, "|&;<>()$`\\\"'*?[#~=%") {
		return []string{"sh", "-c", text}
	}
	if _, err := exec.LookPath(command[0]); err != nil {
		return nil
	}
	return command
}

// Write implements io.Writer.
func (p *pager) Write(text []byte) (int, error) {
	if !p.begun {
		p.begun = true
		p.start()
	}
	if p.process == nil {
		return p.out.Write(text)
	}
	return p.in.Write(text)
}

func (p *pager) start() {
	if p.command == nil {
		return
	}
	process := exec.Command(p.command[0], p.command[1:]...)
	process.Stdout, process.Stderr, process.Env = p.out, os.Stderr, os.Environ()
	for name, value := range map[string]string{"LESS": "FRX", "LV": "-c"} {
		if os.Getenv(name) == "" {
			process.Env = append(process.Env, name+"="+value)
		}
	}
	in, err := process.StdinPipe()
	if err != nil || process.Start() != nil {
		return
	}
	p.process, p.in = process, in
	p.quiet = make(chan os.Signal, 1)
	signal.Notify(p.quiet, os.Interrupt) // Ctrl-C is for the pager, which decides whether it ends
}

// end ends the text and waits for the user.
func (p *pager) end(write error) error {
	if p.process == nil {
		return write
	}
	_ = p.in.Close()
	_ = p.process.Wait() // how a pager ends says nothing of the text
	signal.Stop(p.quiet)
	if errors.Is(write, syscall.EPIPE) || errors.Is(write, os.ErrClosed) {
		return nil
	}
	return write
}
