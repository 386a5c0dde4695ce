package notices

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path"

	"hank/checkpoint"
	"hank/checkpoint/diff"
	"hank/internal/term"
	"hank/recovery/execution"
	"hank/state"
)

// What file.updated events of one codon come to at most.
const (
	mostFiles = 100
	mostBytes = 4 << 20 // that are read for their digests
)

type source struct {
	Kind       string        `json:"kind"` // checkpoint: what the codon changed, whoever of it wrote
	CodonID    state.CodonID `json:"codonId"`
	Checkpoint state.SHA     `json:"checkpointSha"`
}

type fileUpdated struct {
	Path     string  `json:"path"` // in the workspace
	Filename string  `json:"filename"`
	Action   string  `json:"action"`
	SHA256   *string `json:"sha256"` // null: it is gone, or too large to be read for this
	Bytes    *int64  `json:"bytes"`
	Source   source  `json:"source"`
}

// OfFiles tells of the files that differ between the checkpoints before and after an
// attempt. What it costs is bounded: behind the first files there is only their number.
func OfFiles(db *checkpoint.Store, c *state.Codon, changes []diff.Change) []Notice {
	var list []Notice
	left := int64(mostBytes)
	for i, change := range changes {
		if i == mostFiles {
			more := len(changes) - i
			list = append(list, Notice{"info", struct {
				Message string        `json:"message"`
				CodonID state.CodonID `json:"codonId"`
			}{fmt.Sprintf("%s has changed %s more than the events before this one name", c.CodonID, term.Count(more, "file")), c.CodonID}})
			break
		}
		e := fileUpdated{Path: change.Path, Filename: path.Base(change.Path), Action: "modified", Source: source{"checkpoint", c.CodonID, c.Checkpoint()}}
		switch change.Kind {
		case diff.Added:
			e.Action = "created"
		case diff.Deleted:
			e.Action = "deleted"
		}
		if e.Action != "deleted" {
			e.read(db, change.To, &left)
		}
		list = append(list, Notice{"file.updated", e})
	}
	return list
}

// read fills in what the file has, as far as the checkpoint can be read.
func (e *fileUpdated) read(db *checkpoint.Store, to diff.Entry, left *int64) {
	size, err := db.BlobSize(to.Blob)
	if err != nil {
		return // another repository's commit, or lost: the next checkpoint says so
	}
	e.Bytes = &size
	if size > *left {
		return
	}
	*left -= size
	r, err := db.OpenBlob(to.Blob)
	if err != nil {
		return
	}
	defer r.Close()
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return
	}
	sum := hex.EncodeToString(h.Sum(nil))
	e.SHA256 = &sum
}

// Changes returns what compares the checkpoints from before and after an attempt, beside what
// comes next. No workspace is read for it, and of the checkpoints what is not equal. Where
// they cannot be read, which the next checkpoint says, nothing differs.
func Changes(s *state.State, store *checkpoint.Store, c *state.Codon) func() []diff.Change {
	from, to := c.BaseCheckpoint, c.Checkpoint()
	return func() []diff.Change {
		if from == "" || to == "" {
			return nil
		}
		changes, err := execution.Compared(s, store, from, to)
		if err != nil {
			return nil
		}
		return changes
	}
}
