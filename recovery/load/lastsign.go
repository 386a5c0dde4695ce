package load

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/go-json-experiment/json"

	"hank/internal/vfs"
	"hank/recovery/layout"
	"hank/recovery/lock"
	"hank/state"
	"hank/state/journal"
)

// How far back the last sign of life is looked for: an attempt that is running
// writes far less without any.
const (
	signEvents = 4096
	signBytes  = 1 << 20
)

// rebased is in the event with which the state comes from elsewhere, of Hankweave for
// example: it names every codon, at a time at which none has shown anything.
var rebased = []byte(`"transitionType":"Rebased"`)

// LastSign is when an attempt that nobody saw end last showed a sign of life:
// the newest of its start, its last event in the journal, the last entry of its
// transcript, the pause of its run, and until then the last heartbeat of its runtime in the lock
// file that was left. What the machine did after that was not its work: it may have been off.
func LastSign(fsys vfs.FS, l layout.Layout, end uint64, now time.Time, r *state.Run, left *lock.LockInfo) state.Time {
	c := r.Live()
	last := c.StartTime.Time
	saw := func(at time.Time) {
		if at.After(last) && !at.After(now) {
			last = at
		}
	}
	if r.Paused != nil {
		saw(r.Paused.Time.Time)
	} else if left.Runs(r) {
		saw(left.LastHeartbeat.Time)
	}
	name := fmt.Appendf(nil, "\"codonId\":%q", c.CodonID)
	about := func(_, data []byte) bool { return bytes.Contains(data, name) && !bytes.Contains(data, rebased) }
	from := max(end, signEvents+1) - signEvents
	// Best effort: what cannot be read shows no sign.
	_ = journal.ReadWanted(fsys, l.Events(), from, about, func(e journal.Event) error {
		saw(e.Timestamp)
		return nil
	})
	if c.ClaudeLogPath != "" {
		saw(lastEntry(fsys, l.Resolve(c.ClaudeLogPath)))
	}
	return state.At(last)
}

// lastEntry is the time of the last whole entry of a transcript; zero if there
// is none.
func lastEntry(fsys vfs.FS, name string) time.Time {
	text, err := tail(fsys, name, signBytes)
	if err != nil {
		return time.Time{}
	}
	whole := text[:bytes.LastIndexByte(text, '\n')+1]
	for whole = bytes.TrimSuffix(whole, []byte("\n")); len(whole) > 0; {
		line := whole[bytes.LastIndexByte(whole, '\n')+1:]
		var entry struct {
			At        time.Time `json:"at"`
			Timestamp time.Time `json:"timestamp"` // of Hankweave's
		}
		if json.Unmarshal(line, &entry) == nil && !(entry.At.IsZero() && entry.Timestamp.IsZero()) {
			return cmp.Or(entry.At, entry.Timestamp)
		}
		whole = bytes.TrimSuffix(whole[:len(whole)-len(line)], []byte("\n"))
	}
	return time.Time{}
}

// tail returns the last bytes of a regular file.
func tail(fsys vfs.FS, name string, most int64) ([]byte, error) {
	fi, err := fsys.Lstat(name)
	if err != nil || !fi.Mode().IsRegular() {
		return nil, errors.Join(err, fs.ErrInvalid)
	}
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	text := make([]byte, min(fi.Size(), most))
	_, err = f.ReadAt(text, fi.Size()-int64(len(text)))
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return text, errors.Join(err, f.Close())
}
