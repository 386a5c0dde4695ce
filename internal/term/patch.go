package term

import (
	"bytes"
	"io"
	"os"
	"strings"
)

// PatchLines returns a writer that passes on the lines of a patch, each Printable, in
// the colours of the terminal that they are for. Close passes on what has no end.
func PatchLines(out io.Writer, to *os.File) io.WriteCloser {
	return &patchLines{out: out, paint: func(paint func(*os.File, string) Painted, line string) string { return string(paint(to, line)) }}
}

type patchLines struct {
	out   io.Writer
	paint func(paint func(*os.File, string) Painted, line string) string
	head  bool // of a file, before its first hunk
	rest  []byte
}

func (p *patchLines) Write(text []byte) (int, error) {
	p.rest = append(p.rest, text...)
	var shown strings.Builder
	for {
		end := bytes.IndexByte(p.rest, '\n')
		if end < 0 {
			break
		}
		shown.WriteString(p.line(string(p.rest[:end])) + "\n")
		p.rest = p.rest[end+1:]
	}
	if _, err := io.WriteString(p.out, shown.String()); err != nil {
		return 0, err
	}
	return len(text), nil
}

func (p *patchLines) Close() error {
	if len(p.rest) == 0 {
		return nil
	}
	_, err := io.WriteString(p.out, p.line(string(p.rest)))
	return err
}

func (p *patchLines) line(line string) string {
	switch line = Printable(line); {
	case strings.HasPrefix(line, "diff "):
		p.head = true
	case strings.HasPrefix(line, "@@"):
		p.head = false
		return p.paint(Dim, line)
	}
	switch {
	case p.head:
		return p.paint(Bold, line)
	case strings.HasPrefix(line, "+"):
		return p.paint(Green, line)
	case strings.HasPrefix(line, "-"):
		return p.paint(Red, line)
	}
	return line
}
