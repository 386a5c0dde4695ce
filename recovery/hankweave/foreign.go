package hankweave

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hank/internal/vfs"
	"hank/recovery/layout"
	"hank/state"
)

// ForeignJournal reports whether the journal of an execution is Hankweave's.
func ForeignJournal(l layout.Layout) bool { return ForeignJournalIn(vfs.OS, l) }

// ForeignJournalIn: its first line is an event without number and checksum, or
// all there is are the packed forms that Hankweave gives to the journal of a
// run that has ended.
func ForeignJournalIn(fsys vfs.FS, l layout.Layout) bool {
	f, err := vfs.Open(fsys, filepath.Join(l.Events(), "events.jsonl"))
	if errors.Is(err, fs.ErrNotExist) {
		for _, name := range []string{"events.jsonl.zst", "journal.meta.json"} {
			if _, err := fsys.Lstat(filepath.Join(l.Events(), name)); err == nil {
				return true
			}
		}
		return false
	}
	if err != nil {
		return false
	}
	defer f.Close()
	line, _ := bufio.NewReader(io.LimitReader(f, 1<<20)).ReadBytes('\n')
	_, ok := ParseForeignEvent(line)
	return ok
}

// ForeignEvent is an event in a journal of Hankweave.
type ForeignEvent struct {
	ID        string         `json:"id"`
	Timestamp state.Time     `json:"timestamp"`
	Type      string         `json:"type"`
	Data      jsontext.Value `json:"data"`
	Seq       jsontext.Value `json:"seq"` // only hank's have it
}

// ParseForeignEvent returns the event of a line, and whether it is one of Hankweave's:
// without a number.
func ParseForeignEvent(line []byte) (ForeignEvent, bool) {
	var e ForeignEvent
	err := json.Unmarshal(line, &e)
	return e, err == nil && e.ID != "" && e.Type != "" && e.Seq == nil
}

// IgnoreEOF returns nil for io.EOF, and any other error as it is.
func IgnoreEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}
