package watch

import (
	"bytes"
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// stream shows the output of a command of hank on the terminal, as it comes, until a key that
// ends it. It is a tea.ExecCommand.
type stream struct {
	args []string
	in   io.Reader
	out  io.Writer
}

// SetStdin implements tea.ExecCommand.
func (s *stream) SetStdin(in io.Reader) { s.in = in }

// SetStdout implements tea.ExecCommand.
func (s *stream) SetStdout(out io.Writer) { s.out = out }

// SetStderr implements tea.ExecCommand; what is wrong is in the stream.
func (s *stream) SetStderr(io.Writer) {}

// Run implements tea.ExecCommand.
func (s *stream) Run() error {
	if f, ok := s.in.(*os.File); ok {
		was, err := term.MakeRaw(int(f.Fd()))
		if err != nil {
			return err
		}
		defer func() { _ = term.Restore(int(f.Fd()), was) }()
	}
	out := &returning{out: s.out}
	if _, err := io.WriteString(out, "-- plain stream; p comes back to the screen --\n"); err != nil {
		return err
	}
	cmd := hank(s.args)
	cmd.Env = append(cmd.Environ(), "PAGER=cat")
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // how it has ended is in the stream
		_, _ = io.WriteString(out, "-- end of the stream; p comes back to the screen --\n")
		close(ended)
	}()
	key := make([]byte, 1)
	for {
		n, err := s.in.Read(key)
		if err != nil || n > 0 && bytes.ContainsAny(key[:n], "pq\x03\x1b") {
			break
		}
	}
	_ = cmd.Process.Kill() // it only reads
	<-ended
	return nil
}

// returning begins each line at the left, which a raw terminal does not by itself.
type returning struct {
	mu  sync.Mutex
	out io.Writer
}

// Write implements io.Writer.
func (r *returning) Write(text []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err := r.out.Write(bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")))
	return len(text), err
}
