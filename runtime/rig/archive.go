package rig

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hank/internal/failpoint"
	"hank/internal/vfs"
	"hank/plan"
	"hank/recovery/layout"
	"hank/state"
)

// Archiving moves files of the workspace that a codon or loop is done with to
// the archive of the execution.
type Archiving struct {
	FS         vfs.FS // nil is the real one
	Layout     layout.Layout
	Patterns   []string // archiveOnSuccess
	CodonID    plan.CodonID
	Loop       *plan.LoopContext // of the codon, if it is in a loop
	LoopEnds   bool              // Patterns are those of the loop
	Checkpoint state.SHA         // the checkpoint that the files are in; empty if there is none
	Now        time.Time
	// Visible reports whether no ignore rule leaves a file out: only such a file is
	// archived. nil: all are.
	Visible func(rel string) bool
	// Note takes the events archive.completed and archive.partial.
	Note func(eventType string, data any)
}

// Archived is what run has done. The failures of an archive never fail a
// codon: what could not be archived is still in the workspace.
type Archived struct {
	Paths  []string // in the workspace, where they are no more; also those of a run that was killed before the checkpoint
	Failed []archiveProblem
}

// archiveProblem is a file that is still where it was, or all of them.
type archiveProblem struct {
	Path  string `json:"path"`
	Error string `json:"error"`
}

// fail takes a failure as it can be stored in an event.
func (a *Archived) fail(name string, err error) {
	a.Failed = append(a.Failed, archiveProblem{strings.ToValidUTF8(name, "\uFFFD"), strings.ToValidUTF8(err.Error(), "\uFFFD")})
}

// The events of an archive.
type (
	archiveCompleted struct {
		CodonID       plan.CodonID `json:"codonId"`
		ArchivedPaths []string     `json:"archivedPaths"`
	}

	archivePartial struct {
		CodonID       plan.CodonID     `json:"codonId"`
		ArchivedPaths []string         `json:"archivedPaths"`
		FailedPaths   []archiveProblem `json:"failedPaths"`
	}
)

// Run archives what the patterns give and says so.
func (a Archiving) Run() Archived {
	if a.FS == nil {
		a.FS = vfs.OS
	}
	var done Archived
	if err := a.move(&done); err != nil {
		done.fail(".", err)
	}
	switch {
	case len(done.Failed) > 0:
		a.Note("archive.partial", archivePartial{a.CodonID, append([]string{}, done.Paths...), done.Failed})
	case len(done.Paths) > 0:
		a.Note("archive.completed", archiveCompleted{a.CodonID, done.Paths})
	}
	return done
}

// moving is a file on its way to the archive.
type moving struct {
	entry layout.Archived
	info  fs.FileInfo // of the file in the workspace when it was copied
}

// move brings the files into the archive. At every moment each file is in the
// workspace, or in the archive and in the manifest, durably:
//
//  1. Every file is copied under a temporary name in the archive, synced,
//     renamed; the directory is synced. A name of the archive is never given to
//     two contents.
//  2. The manifest, with all of them, replaces the old one.
//  3. Each file is deleted from the workspace, if it is still the one that
//     was copied.
//
// After a crash the same is done again: after 1 the copies are written again in
// their place, after 2 the entries are found in the manifest, and 3 continues.
func (a Archiving) move(done *Archived) error {
	patterns, err := newGlobs(a.Patterns)
	if err != nil || len(patterns.want) == 0 {
		return err
	}
	root, err := os.OpenRoot(a.Layout.Workspace)
	if err != nil {
		return err
	}
	defer root.Close()
	apart := a.Layout.Apart()
	found, err := patterns.find(root, func(rel string, _ bool) bool { return apart(rel) })
	if err != nil {
		return err
	}
	if a.Visible != nil {
		found.Files = slices.DeleteFunc(found.Files, func(rel string) bool { return !a.Visible(rel) })
	}
	manifest, err := layout.ReadManifest(a.FS, a.Layout.Manifest())
	done.Paths = a.moved(root, manifest)
	if len(found.Files) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	known := manifest.ByArchivePath()
	var files []moving
	for _, name := range found.Files {
		m, err := a.copyFile(root, name, known)
		if err != nil {
			done.fail(name, err)
			continue
		}
		files = append(files, m)
	}
	failpoint.Hit("archive.copied")
	if err := a.record(manifest, known, files); err != nil {
		return fmt.Errorf("write %s, nothing was moved: %w", a.Layout.Manifest(), err)
	}
	failpoint.Hit("archive.recorded")
	for _, m := range files {
		if err := removeUnchanged(root, m.entry.SourcePath, m.info); err != nil {
			done.fail(m.entry.SourcePath, err)
			continue
		}
		done.Paths = append(done.Paths, m.entry.SourcePath)
		failpoint.Hit("archive.removed")
	}
	return nil
}

// moved are the files that a run which was killed before the checkpoint of the archive has moved.
func (a Archiving) moved(root *os.Root, m layout.Manifest) (paths []string) {
	for _, e := range m.Entries {
		dir := strings.TrimSuffix(e.ArchivePath, "/"+e.SourcePath)
		dir, _, _ = strings.Cut(strings.TrimPrefix(dir, layout.ArchiveName+"/"), "@again")
		if own := dir == a.owner() || dir == a.formerOwner(); !own || e.CodonID != a.CodonID || e.CheckpointSHA != string(a.Checkpoint) {
			continue
		}
		if _, err := root.Lstat(filepath.FromSlash(e.SourcePath)); errors.Is(err, fs.ErrNotExist) && !slices.Contains(paths, e.SourcePath) {
			paths = append(paths, e.SourcePath)
		}
	}
	return paths
}

// owner is the archive's directory of a codon or of a loop, as the compatible system has
// it: loop-0/codon-0. Two owners may have the same: a codon a-0, and the first iteration of
// a loop a. What tells them apart is the manifest, and no name is given to two contents.
func (a Archiving) owner() string {
	name := func(id plan.CodonID) string { return strings.ReplaceAll(plan.SafeFileName(id), "#", "-") }
	if a.Loop == nil {
		return name(a.CodonID)
	}
	loop := name(a.Loop.LoopID)
	if a.LoopEnds {
		return loop + "-loop"
	}
	return loop + "-" + strconv.Itoa(a.Loop.Iteration) + "/" + name(a.CodonID)
}

// formerOwner is owner as it was before: an archive that was interrupted is continued
// under the names that it was begun with.
func (a Archiving) formerOwner() string {
	codon := plan.SafeFileName(a.CodonID)
	if a.Loop == nil {
		return codon
	}
	loop := plan.SafeFileName(a.Loop.LoopID)
	if a.LoopEnds {
		return loop + "@loop"
	}
	return loop + "@" + strconv.Itoa(a.Loop.Iteration) + "/" + codon
}

func (a Archiving) entry(source, archivePath string) layout.Archived {
	e := layout.Archived{SourcePath: source, ArchivePath: archivePath, CodonID: a.CodonID, CheckpointSHA: layout.Orphan, Timestamp: state.At(a.Now)}
	if a.Checkpoint != "" {
		e.CheckpointSHA = string(a.Checkpoint)
	}
	if a.Loop != nil {
		e.LoopContext = &layout.ArchivedIn{LoopID: a.Loop.LoopID, Iteration: a.Loop.Iteration}
	}
	return e
}

// copyFile copies a file to the first of its names in the archive that is
// free, or holds the very same already because a crash came between.
func (a Archiving) copyFile(root *os.Root, name string, known map[string]layout.Archived) (moving, error) {
	if !utf8.ValidString(name) {
		return moving{}, errors.New("its name is not UTF-8, and the manifest could not name it")
	}
	for n := 0; ; n++ {
		dir := path.Join(layout.ArchiveName, a.owner())
		if n == 0 {
			dir = path.Join(layout.ArchiveName, a.formerOwner())
		}
		if n > 1 {
			dir += "@again" + strconv.Itoa(n)
		}
		e := a.entry(name, path.Join(dir, name))
		if _, begun := known[e.ArchivePath]; n == 0 && !begun {
			continue
		}
		target := a.path(e)
		there, err := a.look(root, name, target)
		if err != nil {
			return moving{}, err
		}
		old, taken := known[e.ArchivePath]
		again := taken && there == sameThere && old.CodonID == e.CodonID && old.CheckpointSHA == e.CheckpointSHA
		if there == otherThere || taken && !again {
			continue
		}
		info, err := a.write(root, name, target)
		return moving{e, info}, err
	}
}

// path is where an entry's file is.
func (a Archiving) path(e layout.Archived) string {
	return filepath.Join(a.Layout.Root, filepath.FromSlash(e.ArchivePath))
}

// What is at a name of the archive.
const (
	nothingThere = iota
	sameThere    // a file with the same content
	otherThere   // something else
)

// look compares a file of the workspace with what is at a name of the archive.
func (a Archiving) look(root *os.Root, name, target string) (int, error) {
	info, err := a.FS.Lstat(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nothingThere, nil
	case errors.Is(err, syscall.ENOTDIR): // a file was archived under the name of the directory
		return otherThere, nil
	case err != nil:
		return otherThere, err
	}
	src, srcInfo, err := openRegular(root, name)
	if err != nil {
		return otherThere, err
	}
	defer src.Close()
	if !info.Mode().IsRegular() || info.Size() != srcInfo.Size() {
		return otherThere, nil
	}
	dst, err := a.FS.OpenFile(target, os.O_RDONLY, 0)
	if err != nil {
		return otherThere, err
	}
	defer dst.Close()
	if same, err := vfs.SameBytes(src, dst); err != nil || !same {
		return otherThere, err
	}
	return sameThere, nil
}

// write copies a file of the workspace into the archive, durably, and returns
// what it was when it was copied.
func (a Archiving) write(root *os.Root, name, target string) (fs.FileInfo, error) {
	src, info, err := openRegular(root, name)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	dir := filepath.Dir(target)
	if err := vfs.MkdirAll(a.FS, dir, 0o755); err != nil {
		return nil, err
	}
	temp := filepath.Join(a.Layout.Archive(), layout.Dir+"-copy.tmp")
	if err := a.fill(temp, src, info); err != nil {
		return nil, errors.Join(err, ignoreMissing(a.FS.Remove(temp)))
	}
	if err := a.FS.Rename(temp, target); err != nil {
		return nil, err
	}
	return info, a.FS.SyncDir(dir)
}

// fill writes and syncs a copy of an open file.
func (a Archiving) fill(temp string, src *os.File, info fs.FileInfo) error {
	// A left-over could have another mode.
	if err := ignoreMissing(a.FS.Remove(temp)); err != nil {
		return err
	}
	dst, err := a.FS.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644|info.Mode()&0o111)
	if err != nil {
		return err
	}
	return pour(dst, src, info)
}

// record adds the files to the manifest. It is written even if it names them
// already: it may not be durable yet.
func (a Archiving) record(m layout.Manifest, known map[string]layout.Archived, files []moving) error {
	if len(files) == 0 {
		return nil
	}
	for _, f := range files {
		if _, there := known[f.entry.ArchivePath]; !there {
			m.Entries = append(m.Entries, f.entry)
		}
	}
	data, err := json.Marshal(m, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	return vfs.ReplaceFile(a.FS, a.Layout.Manifest(), append(data, '\n'), 0o644, vfs.Durable)
}

// removeUnchanged deletes a file of the workspace if it is still the one that
// was copied.
func removeUnchanged(root *os.Root, name string, copied fs.FileInfo) error {
	dir, err := openDir(root, path.Dir(name))
	if err != nil {
		return err
	}
	defer dir.Close()
	now, err := dir.Lstat(path.Base(name))
	if err != nil {
		return ignoreMissing(err)
	}
	if !os.SameFile(now, copied) || now.Size() != copied.Size() || !now.ModTime().Equal(copied.ModTime()) {
		return errors.New("it changed while it was archived; the archive has it as it was, and it stays in the workspace")
	}
	return dir.Remove(path.Base(name))
}
