package execution

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"hank/checkpoint"
	"hank/checkpoint/diff"
	"hank/checkpoint/restore"
	"hank/internal/failpoint"
	"hank/recovery/emptydirs"
	"hank/recovery/layout"
)

// anyFile stands for any file in a directory: a rule that hides all of them hides
// the directory.
const anyFile = "hank-any-file"

// dirsMade are the empty directories that the move has made which the target is
// the safety checkpoint of; none if it is of no move.
func (p *MovePlan) dirsMade(l layout.Layout) []string {
	if p.Target.brought == nil || !undoes(p.Kind, p.Paths) {
		return nil
	}
	return dirsOf(l, p.Target.brought.Empty, p.Paths)
}

// undoes reports whether a move may undo another one. Only what the user asks to go back
// to does: what does a codon again, or puts edits back, goes to where the codon began, or
// the workspace was left, and leaves what the user has made since.
func undoes(kind string, paths []string) bool {
	return kind == "rollback" || kind == "undo" || len(paths) > 0
}

// conflictingDirs are the empty directories of the workspace, ignored or not, that a
// move from one tree to another with these empty directories fills, or replaces; and
// those that it takes away because another move has made them.
func conflictingDirs(l layout.Layout, store *checkpoint.Store, from, to checkpoint.SHA, dirs, made []string) ([]string, error) {
	changes, err := diff.Diff(store, from, to)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(l.Workspace)
	if err != nil {
		return nil, fmt.Errorf("the empty directories: %w", err)
	}
	defer root.Close()
	w := dirCollector{root: root, seen: map[string]bool{}}
	for _, c := range changes {
		if c.Kind == diff.Added {
			w.below(c.Path)
			w.above(path.Dir(c.Path))
		}
	}
	for _, name := range dirs {
		w.above(name)
	}
	for _, name := range made {
		w.at(name)
	}
	return w.found, nil
}

// dirCollector collects empty directories. What cannot be looked at is none.
type dirCollector struct {
	root  *os.Root
	seen  map[string]bool
	found []string
}

// above looks at the nearest directory that is there, of a path and those above.
func (w *dirCollector) above(name string) {
	for ; name != "." && !w.seen[name]; name = path.Dir(name) {
		w.seen[name] = true
		fi, err := w.root.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && fi.IsDir() && len(w.names(name, 1)) == 0 {
			w.found = append(w.found, name)
		}
		return
	}
}

// at looks at a directory alone.
func (w *dirCollector) at(name string) {
	if fi, err := w.root.Lstat(name); err == nil && fi.IsDir() && !w.seen[name] && len(w.names(name, 1)) == 0 {
		w.seen[name], w.found = true, append(w.found, name)
	}
}

// below looks at a directory that is where a file is to come.
func (w *dirCollector) below(name string) {
	if fi, err := w.root.Lstat(name); err != nil || !fi.IsDir() {
		return
	}
	names := w.names(name, -1)
	if len(names) == 0 && !w.seen[name] {
		w.seen[name], w.found = true, append(w.found, name)
	}
	for _, in := range names {
		w.below(name + "/" + in)
	}
}

// names are the names in a directory, up to most of them; -1: all.
func (w *dirCollector) names(dir string, most int) []string {
	f, err := w.root.Open(dir)
	if err != nil {
		return []string{"?"} // not known to be empty
	}
	defer f.Close()
	names, _ := f.Readdirnames(most) // none at the end of the directory
	return names
}

// restoreEmptyDirs makes and removes the empty directories of a plan. Doing it twice does
// nothing more; both times it is durable. What the system does not let be made or removed
// is returned.
func (x *Execution) restoreEmptyDirs(p *MovePlan) (refused []restore.Refused, err error) {
	root, err := os.OpenRoot(x.Layout.Workspace)
	if err != nil {
		return nil, fmt.Errorf("the empty directories: %w", err)
	}
	defer root.Close()
	for _, name := range p.remove {
		if stays, why := removeEmpty(root, name, p.create); why != nil {
			refused = append(refused, restore.Refused{Path: stays, Why: fmt.Sprintf(restore.CannotRemoveDir, why)})
		}
	}
	for _, name := range p.create {
		err := failpoint.Refused(x.Layout.Workspace, name)
		if err == nil {
			err = makeEmptyDir(root, name)
		}
		if refusal(err) {
			refused = append(refused, restore.Refused{Path: name, Why: fmt.Sprintf(restore.CannotMakeDir, err)})
		} else if err != nil {
			return nil, fmt.Errorf("the empty directory %s: %w", name, err)
		}
	}
	if len(p.remove)+len(p.create) == 0 {
		return nil, nil
	}
	return refused, restore.Sync(x.Workspace)
}

// removeEmpty removes a directory, and those above it that are empty then. It
// stops at the first that is not, or that is to be there. One that the system does
// not let go is returned.
func removeEmpty(root *os.Root, name string, keep []string) (stays string, why error) {
	for ; name != "." && !slices.Contains(keep, name); name = path.Dir(name) {
		if fi, err := root.Lstat(name); err != nil || !fi.IsDir() {
			return "", nil
		}
		err := failpoint.Refused(root.Name(), name)
		if err == nil {
			err = root.Remove(name)
		}
		if w := (dirCollector{root: root}); refusal(err) && len(w.names(name, 1)) == 0 {
			if at := (*fs.PathError)(nil); errors.As(err, &at) {
				err = at.Err
			}
			return name, err
		}
		if err != nil {
			return "", nil
		}
	}
	return "", nil
}

// makeEmptyDir makes a directory and those above it. Where something else has a
// name on the way, which is then in no checkpoint's way, it stays.
func makeEmptyDir(root *os.Root, name string) error {
	at := ""
	for part := range strings.SplitSeq(name, "/") {
		at = path.Join(at, part)
		err := root.Mkdir(at, 0o755)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if fi, err := root.Lstat(at); err != nil || !fi.IsDir() {
			return err
		}
	}
	return nil
}

// dirsOf are those of the directories that a move of paths is about: not those of
// the execution itself.
func dirsOf(l layout.Layout, dirs, paths []string) []string {
	return slices.DeleteFunc(slices.Clone(emptydirs.Within(dirs, paths)), l.Apart())
}
