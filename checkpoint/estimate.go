package checkpoint

import (
	"cmp"
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"hank/internal/vfs"
)

// Size is what a first checkpoint would hold.
type Size struct {
	Files   int
	Bytes   int64
	Largest []SizedFolder // the ten largest folders, by bytes
}

// SizedFolder is a folder with all below it.
type SizedFolder struct {
	Path   string
	Files  int
	Bytes  int64
	Ignore string // the line for .gitignore that leaves it out
}

// largestShown is how many folders an estimate names.
const largestShown = 10

// Estimate counts what a selection would take, without reading a file. Of the
// two upper levels of folders it names the largest.
func Estimate(w *Workspace, sel Selection) (Size, error) {
	var size Size
	folders := map[string]*SizedFolder{}
	err := visible(context.Background(), w, sel, func(path string, bytes int64) {
		size.Files++
		size.Bytes += bytes
		parts := strings.SplitN(path, "/", 3)
		for depth := 1; depth < len(parts); depth++ {
			name := strings.Join(parts[:depth], "/")
			f := folders[name]
			if f == nil {
				f = &SizedFolder{Path: name, Ignore: "/" + name + "/"}
				folders[name] = f
			}
			f.Files++
			f.Bytes += bytes
		}
	})
	for _, f := range folders {
		size.Largest = append(size.Largest, *f)
	}
	slices.SortFunc(size.Largest, func(a, b SizedFolder) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Path, b.Path))
	})
	size.Largest = size.Largest[:min(largestShown, len(size.Largest))]
	return size, err
}

// visible calls fn for each file that is not ignored. It follows the same
// rules as the scan, one folder after the other.
func visible(ctx context.Context, w *Workspace, sel Selection, fn func(path string, bytes int64)) error {
	x := newSelector(sel, nil)
	rules := map[string]*ignoreRules{}
	return filepath.WalkDir(w.Path(), func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // it cannot be looked at: the scan says so
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		path, err := filepath.Rel(w.Path(), name)
		if err != nil {
			return err
		}
		path = filepath.ToSlash(path)
		if path == "." {
			path = ""
		} else if neverRecorded(e.Name()) || x.never[path] || ignoredBy(rules, path, e.Name(), e.IsDir()) {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if e.IsDir() {
			if r := rulesIn(name, path); r != nil {
				rules[path] = r
			}
			return nil
		}
		if fi, err := e.Info(); err == nil && fi.Mode().IsRegular() && x.takes(path) {
			fn(path, fi.Size())
		}
		return nil
	})
}

func ignoredBy(rules map[string]*ignoreRules, path, name string, isDir bool) bool {
	for dir := path; dir != ""; {
		dir = parent(dir)
		if r := rules[dir]; r != nil {
			if v := r.match(path, name, isDir); v != undecided {
				return v == ignored
			}
		}
	}
	return false
}

// rulesIn reads the .gitignore of a folder, if it has one.
func rulesIn(folder, path string) *ignoreRules {
	text, err := vfs.ReadFile(vfs.OS, filepath.Join(folder, ".gitignore"))
	if err != nil {
		return nil
	}
	if path != "" {
		path += "/"
	}
	rules := parseIgnore(path, text)
	return &rules
}
