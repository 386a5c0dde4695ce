//go:build !unix

package prompt

import (
	"bufio"
	"os"
	"strings"
)

// input is the terminal that answers come from.
type input struct{ lines *bufio.Reader }

func open(f *os.File) (in *input, waiting bool) { return &input{bufio.NewReader(f)}, false }

func (in *input) begin() {}

func (in *input) discard() {}

func (in *input) close() {}

func (in *input) line() (string, bool) {
	line, err := in.lines.ReadString('\n')
	return strings.TrimRight(line, "\r\n"), err == nil
}
