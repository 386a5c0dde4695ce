package rig

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/bmatcuk/doublestar/v4"

	"hank/internal/pattern"
	"hank/recovery/layout"
)

// globs are the patterns of a codon, in the dialect of checkpointedFiles:
// doublestar's *, **, ?, [...] and {a,b} over paths with slashes relative to
// the workspace; a pattern without a slash fits in the workspace's own directory
// alone; one that fits a directory gives all that is in it; one after ! takes
// away what the others give.
type globs struct {
	want, except []string
}

// newGlobs reads patterns.
func newGlobs(patterns []string) (globs, error) {
	var g globs
	for _, p := range patterns {
		plain, taken := strings.CutPrefix(p, "!")
		clean := path.Clean(plain)
		if plain == "" || strings.HasPrefix(plain, "/") || clean == ".." || strings.HasPrefix(clean, "../") || !pattern.Valid(clean) {
			return globs{}, fmt.Errorf("%q is not a pattern of files in the workspace", p)
		}
		if clean == "." {
			clean = "**"
		}
		if taken {
			g.except = append(g.except, clean)
		} else {
			g.want = append(g.want, clean)
		}
	}
	return g, nil
}

// fits reports whether a pattern gives a path, or a directory that it is in.
func fits(pattern, rel string) bool {
	return doublestar.MatchUnvalidated(pattern, rel) || doublestar.MatchUnvalidated(pattern+"/**", rel)
}

func anyFits(patterns []string, rel string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return fits(p, rel) })
}

// matches reports whether the patterns give a file.
func (g globs) matches(rel string) bool { return anyFits(g.want, rel) && !anyFits(g.except, rel) }

// reaches reports whether something below a directory may match; a directory that
// cannot is not read.
func (g globs) reaches(dir string) bool {
	return !anyFits(g.except, dir) && slices.ContainsFunc(g.want, func(p string) bool {
		return strings.Contains(p, "**") || strings.Count(p, "/") > strings.Count(dir, "/") || fits(p, dir)
	})
}

// bases are the directories, or the files, below which matches are.
func (g globs) bases() []string {
	var bases []string
	for _, p := range g.want {
		if base, rest := doublestar.SplitPattern(p); strings.ContainsAny(rest, `*?[]{}\\`) {
			p = base
		}
		bases = append(bases, path.Clean(p))
	}
	slices.Sort(bases)
	var outer []string
	for _, b := range slices.Compact(bases) {
		inside := func(o string) bool { return o == "." || strings.HasPrefix(b, o+"/") }
		if !slices.ContainsFunc(outer, inside) {
			outer = append(outer, b)
		}
	}
	return outer
}

// matched is what patterns found, sorted.
type matched struct {
	Files   []string // regular files
	Skipped []string // links and special files: they are neither followed nor copied
}

// find lists what the patterns give. Protected names are never among it. A
// path for which ignored holds, or a directory with all that is in it, is left
// out; nil ignores nothing.
func (g globs) find(root *os.Root, ignored func(rel string, dir bool) bool) (matched, error) {
	var m matched
	visit := func(rel string, e fs.DirEntry) (bool, error) {
		switch {
		case layout.Protected(rel), ignored != nil && ignored(rel, e.IsDir()):
			return false, nil
		case e.IsDir():
			return g.reaches(rel), nil
		case e.Type().IsRegular():
			if g.matches(rel) {
				m.Files = append(m.Files, rel)
			}
		case g.matches(rel), g.reaches(rel) && leadsToDir(root, rel):
			m.Skipped = append(m.Skipped, rel)
		}
		return false, nil
	}
	for _, base := range g.bases() {
		if err := findBelow(root, base, visit); err != nil {
			return matched{}, err
		}
	}
	slices.Sort(m.Files)
	slices.Sort(m.Skipped)
	m.Files, m.Skipped = slices.Compact(m.Files), slices.Compact(m.Skipped)
	return m, nil
}

// leadsToDir reports whether something that is no directory itself leads to
// one, so that files after it are missed.
func leadsToDir(root *os.Root, rel string) bool {
	info, err := os.Stat(filepath.Join(root.Name(), filepath.FromSlash(rel)))
	return err == nil && info.IsDir()
}

// findBelow visits one path and what is below it. The directories above it are
// visited first, as a walk from the workspace's own directory would have done.
func findBelow(root *os.Root, base string, visit func(string, fs.DirEntry) (bool, error)) error {
	if base == "." {
		return walkDir(root, ".", visit)
	}
	for i, c := range base {
		if c != '/' {
			continue
		}
		if descend, err := visitAt(root, base[:i], visit); err != nil || !descend {
			return err
		}
	}
	if descend, err := visitAt(root, base, visit); err != nil || !descend {
		return err
	}
	return walkDir(root, base, visit)
}

func visitAt(root *os.Root, rel string, visit func(string, fs.DirEntry) (bool, error)) (descend bool, err error) {
	info, err := root.Lstat(rel)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENAMETOOLONG) { // no file can have the name
		return false, nil
	}
	if err != nil {
		return false, err
	}
	descend, err = visit(rel, fs.FileInfoToDirEntry(info))
	return descend && info.IsDir(), err
}
