package layout

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"hank/internal/shell"
	"hank/internal/vfs"
	"hank/plan"
	"hank/recovery/finding"
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

// Dir is the name of hank's own folder in an execution.
const Dir = ".hankweave"

// Names in an execution and its workspace.
const (
	DataName    = "read_only_data_source" // in the workspace: link to the data, or its copy
	ArchiveName = "rigArchive"
)

// Layout names the files of an execution, design.md section 5.
type Layout struct {
	Root      string // the execution's folder, absolute
	Workspace string // the agents' folder, absolute
}

// DefaultWorkspace is the agents' folder of an execution without --workspace.
func DefaultWorkspace(root string) string { return filepath.Join(root, "agentRoot") }

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

func (l Layout) Segments() string { return l.Hank("index", "segments") } // journal.SegmentCache

func (l Layout) Head() string { return l.Hank("index", "head") } // see headFile

func (l Layout) DataListing() string { return l.Hank("index", "data") }

func (l Layout) Quarantine() string { return l.Hank("quarantine") }

func (l Layout) Reports() string { return l.Hank("reports") }

func (l Layout) Homes() string { return l.Hank("homes") }

func (l Layout) Temps() string { return l.Hank("tmp") }

func (l Layout) Manifest() string { return l.Hank("archive-manifest.json") }

func (l Layout) Socket() string { return l.Hank("control.sock") }

func (l Layout) Archive() string { return filepath.Join(l.Root, ArchiveName) }

func (l Layout) Data() string { return filepath.Join(l.Workspace, DataName) }

func (l Layout) RunFolder(id state.RunID) string { return l.Hank("runs", string(id)) }

// RebasePaths returns the state with the folders of its runs where they are in
// this layout. strayed tells that one was not.
func (l Layout) RebasePaths(s *state.State) (at *state.State, strayed bool) {
	housed := *s
	housed.Runs = make([]*state.Run, len(s.Runs))
	for i, r := range s.Runs {
		housed.Runs[i] = r
		if want := l.RunFolder(r.RunID); r.RunFolder != want && !vfs.SameFile(r.RunFolder, want) {
			run := *r
			run.RunFolder, strayed = want, true
			housed.Runs[i] = &run
		}
	}
	return &housed, strayed
}

// Transcript is where an attempt's raw output goes, never overwritten.
func (l Layout) Transcript(run state.RunID, codon state.CodonID, attempt int) string {
	return filepath.Join(l.RunFolder(run), fmt.Sprintf("%s.%d.jsonl", plan.SafeFileName(codon), attempt))
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

// NotFoundError says that there is no execution where one was looked for.
type NotFoundError struct {
	From  string // the folder
	Named bool   // the folder was named, so that no other was looked into
	Above string // one that is in a folder above a named one; empty: none is
}

func (e *NotFoundError) Error() string {
	if e.Named {
		text := "there is no execution in " + e.From
		if e.Above != "" {
			text += "; the one above it is in " + e.Above
		}
		return text + "; to see all: `hank ls`; to start one there: hank run HANK -e " + shell.Quote(e.From)
	}
	return fmt.Sprintf("no execution in %s or a directory above it; name one with -e DIR, or start one with: hank run HANK", e.From)
}

// At returns the execution in the folder that a person has named, and no other:
// a command for one that is not there must not meet another. The errors are those
// of Find.
func At(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if Exists(abs) {
		return abs, nil
	}
	if odd := Obstructed(abs); odd != nil {
		return "", odd
	}
	above, _ := Find(filepath.Dir(abs))
	return "", &NotFoundError{From: abs, Named: true, Above: above}
}

// Find returns the execution at dir or in the nearest folder above it, as git
// finds .git. The error is a *NotFoundError, or says what has the name of hank's
// folder: see Obstructed.
func Find(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	var odd error
	for at := abs; ; at = filepath.Dir(at) {
		if Exists(at) {
			return at, nil
		}
		odd = cmp.Or(odd, Obstructed(at))
		if at == filepath.Dir(at) {
			return "", cmp.Or(odd, error(&NotFoundError{From: abs}))
		}
	}
}

// Obstructed says what stands where hank's folder of an execution would be, and
// is none: a *DecisionError, or nil. Hank does not follow a link there, for it
// could not know what it holds.
func Obstructed(root string) error {
	dir := Layout{Root: root}.Hankweave()
	fi, err := os.Lstat(dir)
	if err != nil || fi.IsDir() {
		return nil
	}
	options := []string{"move it away, and `hank run` begins a new execution"}
	to, err := filepath.EvalSymlinks(dir)
	if m, metaErr := ReadMetaFile(vfs.OS, Layout{Root: root}.Meta()); err == nil && metaErr == nil && vfs.SameFile(m.Root, root) { // else it may be anybody's
		options = append([]string{fmt.Sprintf("put the directory back where it was: rm %[1]s && mv %[2]s %[1]s", shell.Quote(dir), shell.Quote(to))}, options...)
	}
	return &finding.DecisionError{What: fmt.Sprintf("%s is %s and not the directory that hank keeps: something has replaced it", dir, What(dir, fi)), Options: options}
}

// Exists reports whether dir is an execution, perhaps a damaged one. Empty
// folders, which a creation that was cut short leaves, are none.
func Exists(dir string) bool { return ExistsIn(vfs.OS, dir) }

func ExistsIn(fsys vfs.FS, dir string) bool {
	l := Layout{Root: dir}
	if fi, err := fsys.Lstat(l.Hankweave()); err != nil || !fi.IsDir() {
		return false
	}
	for _, name := range []string{l.Meta(), l.State(), l.State() + ".bak", l.Store(), l.Importing()} {
		if _, err := fsys.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	for _, name := range []string{l.Events(), l.Runs()} {
		if list, err := fsys.ReadDir(name); err == nil && len(list) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
}
