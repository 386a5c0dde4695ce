package layout

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"hank/internal/vfs"
	"hank/plan"
	"hank/state"
)

// NewID returns n random bytes in hexadecimal.
func NewID(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails (crypto/rand)
	return hex.EncodeToString(b)
}

// Importing is the mark of an execution that is being made by an import: the
// prefix of what is imported.
func (l Layout) Importing() string { return l.Hank("importing") }

// Dir is the name of hank's own directory in an execution.
const Dir = ".hankweave"

// Names in an execution and its workspace.
const (
	DataName    = "read_only_data_source" // in the workspace: link to the data, or its copy
	ArchiveName = "rigArchive"
)

// Layout names the files of an execution, design.md section 5.
type Layout struct {
	Root      string // the execution's directory, absolute
	Workspace string // the agents' directory, absolute
}

// DefaultWorkspace is the agents' directory of an execution without --workspace.
func DefaultWorkspace(root string) string { return filepath.Join(root, "agentRoot") }

// Named reports whether the user has named the workspace.
func (l Layout) Named() bool { return l.Workspace != DefaultWorkspace(l.Root) }

// Hank returns a path below the directory of hank's own files.
func (l Layout) Hank(parts ...string) string {
	return filepath.Join(append([]string{l.Root, Dir}, parts...)...)
}

// The files. Each has one writer: the runtime that holds the lock.
func (l Layout) Hankweave() string { return l.Hank() }

func (l Layout) State() string { return l.Hank("state.json") }

func (l Layout) Lock() string { return l.Hank("runtime.lock") }

func (l Layout) Meta() string { return l.Hank("execution-meta.json") }

func (l Layout) Events() string { return l.Hank("events") }

func (l Layout) Runs() string { return l.Hank("runs") }

func (l Layout) Store() string { return l.Hank("checkpoints", ".hankweavecheckpoints") }

func (l Layout) Index() string { return l.Hank("index") }

func (l Layout) CostIndex() string { return l.Hank("index", "costs") }

func (l Layout) StatCache() string { return l.Hank("index", "stat-cache") }

func (l Layout) segments() string { return l.Hank("index", "segments") } // journal.SegmentCache

func (l Layout) Head() string { return l.Hank("index", "head") } // see load.headFile

func (l Layout) DataListing() string { return l.Hank("index", "data") }

func (l Layout) Quarantine() string { return l.Hank("quarantine") }

func (l Layout) Reports() string { return l.Hank("reports") }

func (l Layout) Homes() string { return l.Hank("homes") }

// Logs is where the output of detached runs goes.
func (l Layout) Logs() string { return l.Hank("logs") }

func (l Layout) Temps() string { return l.Hank("tmp") }

func (l Layout) Sentinels() string { return l.Hank("sentinels") }

// SentinelOutputs is where the sentinels of a codon write what is not to be in the workspace.
func (l Layout) SentinelOutputs(codon state.CodonID) string {
	return filepath.Join(l.Sentinels(), "outputs", plan.SafeFileName(codon))
}

func (l Layout) Manifest() string { return l.Hank("archive-manifest.json") }

func (l Layout) Socket() string { return l.Hank("control.sock") }

func (l Layout) Archive() string { return filepath.Join(l.Root, ArchiveName) }

func (l Layout) Data() string { return filepath.Join(l.Workspace, DataName) }

func (l Layout) RunDir(id state.RunID) string { return l.Hank("runs", string(id)) }

// RebasePaths returns the state with the directories of its runs where they are in
// this layout. moved reports that one was not.
func (l Layout) RebasePaths(s *state.State) (at *state.State, moved bool) {
	rebased := *s
	rebased.Runs = make([]*state.Run, len(s.Runs))
	for i, r := range s.Runs {
		rebased.Runs[i] = r
		if want := l.RunDir(r.RunID); r.RunFolder != want && !vfs.SameFile(r.RunFolder, want) {
			run := *r
			run.RunFolder, moved = want, true
			rebased.Runs[i] = &run
		}
	}
	return &rebased, moved
}

// Transcript is where an attempt's raw output goes, never overwritten.
func (l Layout) Transcript(run state.RunID, codon state.CodonID, attempt int) string {
	return filepath.Join(l.RunDir(run), fmt.Sprintf("%s.%d.jsonl", plan.SafeFileName(codon), attempt))
}

// Resolve returns where a path leads that Relative has returned. Older versions
// of Hankweave wrote paths relative to .hankweave.
func (l Layout) Resolve(path string) string {
	at, older := filepath.Join(l.Root, filepath.FromSlash(path)), l.Hank(filepath.FromSlash(path))
	if _, err := os.Lstat(at); errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(older); err == nil {
			return older
		}
	}
	return at
}

// Relative returns a path as the state stores it: relative to the execution.
func (l Layout) Relative(path string) string {
	rel, err := filepath.Rel(l.Root, path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(rel)
}
