package runtime

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hank/internal/vfs"
	"hank/recovery"
	"hank/state"
)

// Landing is the report of hank land: what is on the branch, what is not, and
// what was checked. All paths are relative to the root of the repository.
type Landing struct {
	Schema     int           `json:"schema"`
	Time       time.Time     `json:"time"`
	Execution  string        `json:"execution"`
	Repository string        `json:"repository"` // its work tree
	Branch     string        `json:"branch"`
	DryRun     bool          `json:"dryRun,omitzero"` // nothing was written
	Base       string        `json:"base,omitempty"`  // the commit that the branch begins from; absent: it has a root of its own
	Tip        string        `json:"tip"`             // the branch
	From       Target        `json:"from"`
	To         Target        `json:"to"`
	HeadThen   string        `json:"projectHead,omitempty"` // HEAD when the run began, as far as it is known
	Commits    []LandCommit  `json:"commits"`
	Codons     []LandedCodon `json:"codons"`
	// LeftOut is what the run changed and what is not on the branch.
	LeftOut []LeftOut `json:"leftOut"`
	// Mixed files were changed by the run and differed from HEAD when it began:
	// on the branch they hold both.
	Mixed []FileName `json:"mixed"`
	// Uncommitted files differed from HEAD when the run began, and it did not
	// change them: they are not on the branch.
	Uncommitted []FileName  `json:"uncommitted"`
	Checks      []LandCheck `json:"checks"`
	Report      string      `json:"report,omitempty"` // the file that has this
}

// LandCommit is a commit on the branch.
type LandCommit struct {
	SHA        string          `json:"sha"`
	Title      string          `json:"title"`
	Checkpoint state.SHA       `json:"checkpoint"`
	Codons     []state.CodonID `json:"codons"`
	Files      []LandedFile    `json:"files"`
}

// LandedFile is a file of a commit: added, modified or deleted.
type LandedFile struct {
	FileName
	Kind string `json:"kind"`
}

// LandedCodon is a record on the thread that the landing is of.
type LandedCodon struct {
	CodonID state.CodonID     `json:"codonId"`
	RunID   state.RunID       `json:"runId"`
	Attempt int               `json:"attempt,omitzero"`
	Status  state.CodonStatus `json:"status"`
	Cost    state.USD         `json:"cost"`
	Commit  string            `json:"commit,omitempty"` // absent: it changed nothing that is on the branch
	Notes   []string          `json:"notes,omitempty"`  // what its checkpoint could not hold, among others
}

// LeftOut is something that could not land.
type LeftOut struct {
	FileName
	Why string `json:"why"`
}

// LandCheck is something that was looked at before the landing was called one.
type LandCheck struct {
	What  string     `json:"what"`
	Right bool       `json:"right"`
	Why   string     `json:"why,omitempty"`   // what was found, if it is not right
	Files []FileName `json:"files,omitempty"` // those it is about
}

// FileName is a path in JSON: as text or, where it is not UTF-8, in base64.
type FileName struct {
	Path       string `json:"path,omitempty"`
	PathBase64 []byte `json:"pathBase64,omitempty"`
}

func fileName(p string) FileName {
	if utf8.ValidString(p) {
		return FileName{Path: p}
	}
	return FileName{PathBase64: []byte(p)}
}

// String returns the path as it is.
func (n FileName) String() string {
	if n.PathBase64 != nil {
		return string(n.PathBase64)
	}
	return n.Path
}

// Right tells whether everything that was checked is as it should be.
func (l *Landing) Right() bool {
	for _, c := range l.Checks {
		if !c.Right {
			return false
		}
	}
	return true
}

// save writes the report beside those of other landings, durably.
func (l *Landing) save(at recovery.Layout) error {
	if err := vfs.MkdirAll(vfs.OS, at.Reports(), 0o700); err != nil {
		return err
	}
	name := "land-" + l.Time.UTC().Format("20060102T150405.000000000Z") + ".json"
	l.Report = filepath.Join(at.Reports(), name)
	text, err := json.Marshal(l, jsontext.WithIndent("  "), json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err == nil {
		err = vfs.WriteFile(vfs.OS, l.Report, append(text, '\n'), os.FileMode(0o600))
	}
	if err != nil {
		return fmt.Errorf("writing the report %s: %w", l.Report, err)
	}
	return nil
}
