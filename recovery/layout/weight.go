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
func (l Layout) AgentBytes() int64 {
	bytes, _ := l.weigh()
	return bytes
}

// weigh is AgentBytes, with how many files and directories it has looked at.
func (l Layout) weigh() (bytes int64, looked int) {
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
	return bytes, mostWeighed - max(left, 0)
}

// lookedEach is how many files AgentScale has looked at for each further question that it
// answers from the same look.
const lookedEach = 250

// AgentScale answers AgentBytes again and again, as before each checkpoint of a run. A look at
// n files answers n / lookedEach further questions, so that the mean cost of a question does not
// grow with the run. The zero value has not looked yet.
type AgentScale struct {
	bytes int64
	left  int // for how many questions the last look is good
}

// Bytes is AgentBytes as of the last look. It looks again where that look has answered enough
// questions, and each time where it found half of the room or more: a checkpoint is never
// refused by an older look.
func (s *AgentScale) Bytes(l Layout, room int64) int64 {
	if s.left--; s.left < 0 || s.bytes >= room/2 {
		s.bytes, s.left = l.weigh()
		s.left /= lookedEach
	}
	return s.bytes
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
