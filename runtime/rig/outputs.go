package rig

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hank/internal/failpoint"
	"hank/internal/vfs"
	"hank/plan"
	"hank/runtime/keeper"
)

// Outputs copies the results of a codon that has done its work out of the
// workspace, after its checks.
type Outputs struct {
	Workspace string // absolute
	Dir       string // where results go, absolute; empty: none, and only the checks run
	Overwrite bool   // replace what has another content instead of taking another name
	Codon     *plan.Codon
	CodonID   plan.CodonID
	Environ   []string // the whole environment of the checks
	Attempt   string
	Writable  []string              // what its checks may change; nil is anything
	Apart     func(rel string) bool // as in rigging
	Start     starter               // nil is the keeper
	Now       func() time.Time      // nil is time.Now
	// Note takes rig.output events of the checks; the goroutine that calls run
	// calls it, and no other.
	Note   func(eventType string, data any)
	Killed func(keeper.Exit) // as in rigging
}

// copied is what run has done.
type copied struct {
	Files []copiedFile
	// Skipped are links and special files that a pattern gave: none is
	// followed or copied. Unmatched are patterns that gave nothing.
	Skipped, Unmatched []string
}

// copiedFile is one result.
type copiedFile struct {
	From string // in the workspace
	To   string // below the output directory; another name than From after a conflict
	Kept bool   // the same content was there already
}

// Renamed is how many files have got another name than their own, or had it already, and the
// first of them.
func (c copied) Renamed() (n int, first copiedFile) {
	for _, f := range slices.Backward(c.Files) {
		if f.To != f.From {
			n, first = n+1, f
		}
	}
	return n, first
}

// Run takes the groups of outputFiles in order. A group's beforeCopy commands run first,
// also where there is no output directory: whether they are to then, the caller
// decides. Then what its patterns give is
// copied, with its path. The first failure ends it: a *Failure of a check,
// or an error that names the file.
func (o Outputs) Run(ctx context.Context) (copied, error) {
	var done copied
	for i, group := range o.Codon.OutputFiles {
		for j, check := range group.BeforeCopy {
			if err := o.check(ctx, i, j, check); err != nil {
				return done, err
			}
		}
		if o.Dir == "" {
			continue
		}
		if err := o.copyGroup(ctx, group.Copy, &done); err != nil {
			return done, fmt.Errorf("copy the outputs of codon %q to %s: %w", o.CodonID, o.Dir, err)
		}
	}
	return done, nil
}

func (o Outputs) check(ctx context.Context, group, index int, check plan.Rig) error {
	if check.Command == nil {
		return nil // hank.json allows commands only
	}
	c := commander{
		environ: o.Environ, workspace: o.Workspace, attempt: o.Attempt, writable: o.Writable, start: o.Start, killed: o.Killed, every: sampleEvery,
		emit: func(index int, s sample) { o.Note("rig.output", rigOutput{o.CodonID, s.Stream, s.Line, index}) },
	}
	f := c.run(ctx, index, *check.Command, o.Workspace)
	if f == nil || check.AllowFailure && !f.final() {
		return nil
	}
	f.Message = fmt.Sprintf("check %d of output group %d of codon %q: %s", index+1, group+1, o.CodonID, f.Message)
	return f
}

func (o Outputs) copyGroup(ctx context.Context, patterns []string, done *copied) error {
	found, unmatched, err := findOutputs(o.Workspace, o.isApart, patterns)
	if err != nil {
		return err
	}
	done.Skipped = append(done.Skipped, found.Skipped...)
	done.Unmatched = append(done.Unmatched, unmatched...)
	if len(found.Files) == 0 {
		return nil
	}
	if err := os.MkdirAll(o.Dir, 0o777); err != nil {
		return err
	}
	from, err := os.OpenRoot(o.Workspace)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenRoot(o.Dir)
	if err != nil {
		return err
	}
	defer to.Close()
	for _, name := range found.Files {
		if err := ctx.Err(); err != nil {
			return err
		}
		file, err := o.copyFile(from, to, name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		done.Files = append(done.Files, file)
	}
	return o.syncDirs(done.Files)
}

// syncDirs makes the names of new results durable.
func (o Outputs) syncDirs(files []copiedFile) error {
	synced := map[string]bool{}
	for _, f := range files {
		for dir := path.Dir(f.To); !f.Kept && !synced[dir]; dir = path.Dir(dir) {
			synced[dir] = true
			if err := vfs.OS.SyncDir(filepath.Join(o.Dir, filepath.FromSlash(dir))); err != nil {
				return err
			}
		}
	}
	return nil
}

// inside is the output directory's path in the workspace, for those who put it
// there; else empty. Results are not results of themselves.
func (o Outputs) inside() string {
	rel, err := filepath.Rel(o.Workspace, o.Dir)
	if err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	return filepath.ToSlash(rel)
}

// isApart reports whether nothing at a path in the workspace is a result.
func (o Outputs) isApart(rel string, _ bool) bool {
	return rel == o.inside() || o.Apart != nil && o.Apart(rel)
}

// findOutputs lists what patterns give, less what leaveOut reports, and the
// patterns that give nothing.
func findOutputs(workspace string, leaveOut func(rel string, isDir bool) bool, patterns []string) (m matched, unmatched []string, err error) {
	g, err := newGlobs(patterns)
	if err != nil {
		return m, nil, err
	}
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return m, nil, err
	}
	defer root.Close()
	if m, err = g.find(root, leaveOut); err != nil {
		return m, nil, err
	}
	for _, p := range g.want {
		gives := func(name string) bool { return fits(p, name) }
		if !slices.ContainsFunc(m.Files, gives) && !slices.ContainsFunc(m.Skipped, gives) {
			unmatched = append(unmatched, p)
		}
	}
	return m, unmatched, nil
}

// copyFile copies one file:
//
//  1. If a file with the same content has its name, or a name that a conflict
//     has given, nothing is done: a codon that runs again makes no second copy.
//  2. The directory for it is made. Links that the user has put into the output
//     directory are followed as long as they stay in it.
//  3. The content is written under a temporary name in that directory, synced.
//  4. To overwrite, the temporary name is renamed over the old one; else it is
//     linked under the first name that is free, which cannot replace anything.
//
// A crash leaves whole files, and perhaps the temporary name.
func (o Outputs) copyFile(from, to *os.Root, name string) (copiedFile, error) {
	there, err := alreadyThere(from, to, name, o.Overwrite)
	if err != nil || there != "" {
		return copiedFile{name, there, true}, err
	}
	dir := path.Dir(name)
	if err := to.MkdirAll(dir, 0o777); err != nil {
		return copiedFile{}, err
	}
	temp := path.Join(dir, tempName())
	if err := copyContent(from, name, to, temp); err != nil {
		return copiedFile{}, errors.Join(err, removeIfThere(to, temp))
	}
	failpoint.Hit("output.written")
	as, err := o.publish(to, temp, name)
	return copiedFile{name, as, false}, errors.Join(err, removeIfThere(to, temp))
}

// alreadyThere returns the name under which a result is in the output directory
// already, or nothing. Who overwrites cares for its own name only.
func alreadyThere(from, to *os.Root, name string, ownName bool) (string, error) {
	names := []string{name}
	if !ownName {
		others, err := conflictsOf(to, name)
		if err != nil {
			return "", err
		}
		names = append(names, others...)
	}
	for _, as := range names {
		same, err := sameContent(from, name, to, as)
		if same || err != nil {
			return as, err
		}
	}
	return "", nil
}

// conflictsOf lists the names that conflicts have given to a file.
func conflictsOf(to *os.Root, name string) ([]string, error) {
	dir, err := to.Open(path.Dir(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	all, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, n := range all {
		if other := path.Join(path.Dir(name), n); isConflictOf(name, other) {
			found = append(found, other)
		}
	}
	slices.Sort(found)
	return found, nil
}

// OutputTemp begins the names of results that are being written.
const OutputTemp = ".hankweave-output-"

func tempName() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return OutputTemp + hex.EncodeToString(b[:])
}

func removeIfThere(root *os.Root, name string) error { return ignoreMissing(root.Remove(name)) }

// copyContent copies a regular file of the workspace into a new file, and
// syncs it. It fails if the file changes meanwhile.
func copyContent(from *os.Root, name string, to *os.Root, temp string) error {
	src, info, err := openRegular(from, name)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := to.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666|info.Mode()&0o111)
	if err != nil {
		return err
	}
	return pour(dst, src, info)
}

// mostConflicts is how many names are tried for one file.
const mostConflicts = 100

// publish gives the temporary file its name.
func (o Outputs) publish(to *os.Root, temp, name string) (string, error) {
	if o.Overwrite {
		return name, to.Rename(temp, name)
	}
	now := time.Now
	if o.Now != nil {
		now = o.Now
	}
	seconds := now().Unix()
	for n := 0; n <= mostConflicts; n++ {
		as := conflictName(name, n, seconds)
		if err := linkOrRename(to, temp, as); !errors.Is(err, fs.ErrExist) {
			return as, err
		}
	}
	return "", fmt.Errorf("%d other files are in its place: empty the output directory or use --overwrite-output", mostConflicts)
}

// linkOrRename gives a file a name that nothing has, fs.ErrExist if something
// has it. Where there are no hard links, the look and the rename are two steps.
func linkOrRename(root *os.Root, temp, as string) error {
	err := root.Link(temp, as)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, err := root.Lstat(as); err == nil {
		return fs.ErrExist
	}
	return root.Rename(temp, as)
}

// conflictName is the name of a file for which n other names are taken:
// report_1_1767225600.md.
func conflictName(name string, n int, seconds int64) string {
	if n == 0 {
		return name
	}
	stem, ext := splitExt(name)
	return fmt.Sprintf("%s_%d_%d%s", stem, n, seconds, ext)
}

// isConflictOf reports whether conflictName can have made other from name.
func isConflictOf(name, other string) bool {
	stem, ext := splitExt(name)
	rest, ok := strings.CutPrefix(other, stem+"_")
	if !ok {
		return false
	}
	if rest, ok = strings.CutSuffix(rest, ext); !ok {
		return false
	}
	n, seconds, ok := strings.Cut(rest, "_")
	return ok && isNumber(n) && isNumber(seconds)
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// splitExt splits off the extension. A hidden file's name is none.
func splitExt(name string) (stem, ext string) {
	ext = path.Ext(name)
	if ext == path.Base(name) {
		ext = ""
	}
	return strings.TrimSuffix(name, ext), ext
}

// sameContent compares a file of the workspace with one that may be in the
// output directory.
func sameContent(from *os.Root, name string, to *os.Root, as string) (bool, error) {
	info, err := to.Lstat(as)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil || !info.Mode().IsRegular() {
		return false, err
	}
	src, srcInfo, err := openRegular(from, name)
	if err != nil {
		return false, err
	}
	defer src.Close()
	if srcInfo.Size() != info.Size() {
		return false, nil
	}
	dst, err := to.OpenFile(as, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return false, err
	}
	defer dst.Close()
	return vfs.SameBytes(src, dst)
}
