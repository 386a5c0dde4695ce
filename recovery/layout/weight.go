package layout

import (
	"fmt"
	"io/fs"
	"path/filepath"

	"hank/internal/term"
)

// mostWeighed is how many files AgentBytes looks at: what agents install in their homes can be
// far more, and it is asked before each checkpoint.
const mostWeighed = 5_000

// AgentBytes is how many bytes the transcripts of runs, the temporary files of agents and their
// homes take, in this order. Of more than 5,000 files it counts the first; it is then less
// than they take. What cannot be read is not counted. Links are not followed.
func (l Layout) AgentBytes() (bytes int64) {
	left := mostWeighed
	for _, dir := range []string{l.Runs(), l.Temps(), l.Homes()} {
		_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
			if left--; left < 0 {
				return fs.SkipAll
			}
			if err != nil || !e.Type().IsRegular() {
				return nil
			}
			if fi, err := e.Info(); err == nil {
				bytes += fi.Size()
			}
			return nil
		})
	}
	return bytes
}

// Weight is how much checkpoints and what agents keep beside them take of what they may, in
// bytes.
type Weight struct{ Bytes, Agents, Cap int64 } // a cap of 0 is none

// Left is what the cap leaves, if there is one; it may be negative.
func (w Weight) Left() int64 { return w.Cap - w.Bytes - w.Agents }

// Heavy reports whether most of the cap is used up.
func (w Weight) Heavy() bool { return w.Cap > 0 && w.Left() <= w.Cap/5 }

// Text says who takes how much.
func (w Weight) Text() string {
	return fmt.Sprintf("the checkpoints take %s, and transcripts, homes and temporary files of agents at least %s", term.Bytes(w.Bytes), term.Bytes(w.Agents))
}
