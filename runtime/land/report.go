package land

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hank/internal/failpoint"
	"hank/internal/shell"
	"hank/internal/vfs"
	"hank/recovery/layout"
	"hank/runtime/history"
	"hank/runtime/usergit"
	"hank/runtime/verdict"
	"hank/state"
)

// Landing is the report of hank land: what is on the branch, what is not, and
// what was checked. All paths are relative to the root of the repository.
type Landing struct {
	Schema     int            `json:"schema"`
	Time       time.Time      `json:"time"`
	Execution  string         `json:"execution"`
	Repository string         `json:"repository"` // its work tree
	Branch     string         `json:"branch"`
	DryRun     bool           `json:"dryRun,omitzero"` // nothing was written
	Squash     bool           `json:"squash,omitzero"` // into one commit
	Update     bool           `json:"update,omitzero"` // the branch was there, and Base is where it was
	Base       string         `json:"base,omitempty"`  // the commit that the branch begins from; absent: it has a root of its own
	Tip        string         `json:"tip"`             // the branch
	From       history.Target `json:"from"`
	After      string         `json:"after,omitempty"` // the branch of the landing that the base has: it ended at From, or before what was done by hand up to From
	To         history.Target `json:"to"`
	HeadThen   string         `json:"projectHead,omitempty"` // HEAD when the run began, as far as it is known
	Commits    []Commit       `json:"commits"`
	Codons     []Codon        `json:"codons"`
	Caveats    state.Caveats  `json:"caveats,omitzero"` // what the verdicts on them leave unsaid
	// LeftOut is what the run changed and what is not on the branch.
	LeftOut []LeftOut `json:"leftOut"`
	// Mixed files differed from HEAD when the run began, and have been changed since: on
	// the branch they are as the run has left them.
	Mixed []FileName `json:"mixed"`
	// Deleted files differed from HEAD when the run began, and have been deleted since: they
	// are not on the branch, and the checkpoint From has them.
	Deleted []FileName `json:"deleted"`
	// ByHand are those of Mixed and Deleted that no codon has changed: the user has, between
	// two codons.
	ByHand []FileName `json:"byHand,omitempty"`
	// Uncommitted files differed from HEAD when the run began, and it did not
	// change them: they are not on the branch.
	Uncommitted []FileName `json:"uncommitted"`
	// Untracked files are there, and their removal is staged (git rm --cached): the
	// branch has them as before.
	Untracked []FileName `json:"untracked,omitempty"`
	// Uncovered files are new on the branch, and ignore rules hid them until a codon changed
	// these: whether they were there before it nobody has recorded.
	Uncovered []FileName `json:"uncovered,omitempty"`
	// Private files hold secrets by their names, and the base does not have them:
	// with the branch they would be new in the repository.
	Private []FileName `json:"private"`
	Checks  []Check    `json:"checks"`
	Report  string     `json:"report,omitempty"` // the file that has this
	// CutShort: hank was killed when the branch was made, and the same landing
	// has finished the report. Whether index, HEAD and references were as before
	// was not looked at.
	CutShort bool `json:"cutShort,omitzero"`
	// Switch: HEAD and the index are on the branch, too.
	Switch *Switch `json:"switch,omitzero"`
	// Already: everything was as it was asked for, and nothing was written.
	Already bool `json:"already,omitzero"`

	unfinished bool   // as announced found it
	here       bool   // Already, and HEAD is on the branch
	follows    bool   // HEAD is where a switch to the branch can begin
	barred     string // and why it would be refused all the same
	short      string // the branch, by a name that means nothing else
	made       bool   // by an earlier landing: this one has only put HEAD and the index on it
	into       string // the branch that HEAD was on before the first switch, if it can get the work by a merge; empty: none
	intoAt     string // and its commit
}

// Commit is a commit on the branch.
type Commit struct {
	SHA        string          `json:"sha"`
	Title      string          `json:"title"`
	Checkpoint state.SHA       `json:"checkpoint"`
	Codons     []state.CodonID `json:"codons"`
	Files      []File          `json:"files"`
}

// File is a file of a commit: added, modified or deleted.
type File struct {
	FileName
	Kind string `json:"kind"`
}

// Codon is a record on the lineage path that the landing is of.
type Codon struct {
	CodonID state.CodonID     `json:"codonId"`
	RunID   state.RunID       `json:"runId"`
	Attempt int               `json:"attempt,omitzero"`
	Status  state.CodonStatus `json:"status"`
	Verdict verdict.Verdict   `json:"verdict"`
	But     string            `json:"but,omitempty"` // what the verdict leaves unsaid
	state.Bill
	Commit string   `json:"commit,omitempty"` // absent: it changed nothing that is on the branch
	Notes  []string `json:"notes,omitempty"`  // what its checkpoint could not hold, among others
}

// LeftOut is something that could not land.
type LeftOut struct {
	FileName
	Why string `json:"why"`
}

// Check is something that was looked at before the landing was called one.
type Check struct {
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

// Right reports whether everything that was checked is as it should be.
func (l *Landing) Right() bool {
	for _, c := range l.Checks {
		if !c.Right {
			return false
		}
	}
	return true
}

// file is where the report goes.
func (l *Landing) file(at layout.Layout) string {
	return filepath.Join(at.Reports(), "land-"+l.Time.UTC().Format("20060102T150405.000000000Z")+".json")
}

// pending ends the name of a report whose branch may be there or not.
const pending = ".pending"

// announce writes the report, durably, before the branch is made: where the next
// landing finds it if this one is killed. Those of earlier tries for the branch
// go.
func (l *Landing) announce(at layout.Layout) error {
	if err := l.write(at, l.file(at)+pending); err != nil {
		return err
	}
	for _, had := range announced(at) {
		if had.Branch == l.Branch && had.Repository == l.Repository && !had.Time.Equal(l.Time) {
			if err := had.withdraw(at); err != nil {
				return err
			}
		}
	}
	return nil
}

// withdraw removes what announce has written.
func (l *Landing) withdraw(at layout.Layout) error {
	if err := vfs.OS.Remove(l.file(at) + pending); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// announced lists the landings of which nobody has said that they are done.
func announced(at layout.Layout) []*Landing {
	return slices.DeleteFunc(landings(at), func(l *Landing) bool { return !l.unfinished })
}

// landings lists all landings, the oldest first. What cannot be read is none.
func landings(at layout.Layout) []*Landing {
	names, _ := filepath.Glob(filepath.Join(at.Reports(), "land-*.json*"))
	var list []*Landing
	for _, name := range names {
		text, err := os.ReadFile(name)
		had := &Landing{unfinished: strings.HasSuffix(name, pending)}
		if err == nil && json.Unmarshal(text, had, jsontext.AllowInvalidUTF8(true)) == nil && had.file(at) == strings.TrimSuffix(name, pending) {
			had.Report = had.file(at)
			list = append(list, had)
		}
	}
	return list
}

// save writes the report beside those of other landings, durably.
func (l *Landing) save(at layout.Layout) error {
	l.Report = l.file(at)
	if err := l.write(at, l.Report); err != nil {
		return err
	}
	failpoint.Hit("land.reported")
	return l.withdraw(at)
}

func (l *Landing) write(at layout.Layout, name string) error {
	text, err := json.Marshal(l, jsontext.WithIndent("  "), json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err == nil {
		err = vfs.MkdirAll(vfs.OS, at.Reports(), 0o700)
	}
	if err == nil {
		err = vfs.ReplaceFile(vfs.OS, name, append(text, '\n'), os.FileMode(0o600), vfs.Durable)
	}
	if err != nil {
		return fmt.Errorf("writing the report %s: %w", name, err)
	}
	return nil
}

// Switch is how HEAD and the index were put on the branch: by stock git, and
// without writing a file of the work tree. What equalled HEAD in the index then
// equals the branch, and what was staged is staged still.
type Switch struct {
	Ref    string     `json:"ref,omitempty"`    // what HEAD was on; absent: it was detached
	Commit string     `json:"commit,omitempty"` // where HEAD was; absent: there was no commit
	Index  string     `json:"index"`            // the tree of what the index had
	Plain  bool       `json:"plain,omitzero"`   // nothing was staged
	Staged []FileName `json:"staged"`           // what is staged as before
	Was    string     `json:"was,omitempty"`    // the branch's commit before the landing of which this is the end; absent: it is in "commit", or the branch was not there, or not moved
	Back   string     `json:"back"`             // the way back, as a shell command; nothing reads it from here
}

// back is the way back. It is not taken from the report: agents may have written
// that, and it is pasted into a shell.
func (s *Switch) back(l *Landing, option string) string {
	m := usergit.Move{From: s.begin(), Branch: l.Branch, To: l.Tip, Index: s.Index, Plain: s.Plain, Was: s.Was}
	return m.Back(option)
}

// begin is where HEAD was.
func (s *Switch) begin() usergit.Position { return usergit.Position{Ref: s.Ref, Commit: s.Commit} }

// inTree is the option with which git acts on a work tree from anywhere.
func inTree(top string) string { return " -C " + shell.Quote(top) }
