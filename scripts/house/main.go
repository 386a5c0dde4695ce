// Command house prints the size of each package and fails for one that has
// become too large for a reader.
//
//	go run ./scripts/house
//
// Counted are files and lines without tests, for all platforms. A package has at
// most 4,000 lines and 30 files; cmd/hank may have more files, one or two for
// each command. A package that was larger when the limit was set is listed with
// the size that it had then: it may shrink, not grow, and leaves the list when it
// is within the limit.
//
// The exit status is 1 if a package is too large or the list is out of date.
package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

const (
	maxLines = 4000
	maxFiles = 30
)

// manyFiles are the packages whose number of files is not limited.
var manyFiles = map[string]bool{"cmd/hank": true}

// larger are the packages with more than maxLines lines, with the number that each
// may have at most.
var larger = map[string]int{
	"cmd/hank": 4450,
	"plan":     5191,
}

func main() {
	report, wrong, err := check(os.DirFS("."), larger)
	fmt.Print(report)
	if err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(2)
	}
	for _, w := range wrong {
		fmt.Fprintln(os.Stderr, "house:", w)
	}
	if len(wrong) > 0 {
		os.Exit(1)
	}
}

// A size is what is counted of a package.
type size struct{ files, lines int }

// check counts the packages of a source tree and compares them with the limits.
func check(tree fs.FS, larger map[string]int) (report string, wrong []string, err error) {
	sizes, err := count(tree)
	if err != nil {
		return "", nil, err
	}
	names := slices.SortedFunc(maps.Keys(sizes), func(a, b string) int {
		if sizes[a].lines != sizes[b].lines {
			return sizes[b].lines - sizes[a].lines
		}
		return strings.Compare(a, b)
	})
	var out strings.Builder
	fmt.Fprintf(&out, "%7s %7s  %s\n", "lines", "files", "package")
	for _, name := range names {
		s, limit := sizes[name], maxLines
		note := ""
		if bound, ok := larger[name]; ok {
			limit, note = bound, fmt.Sprintf("  (at most %d)", bound)
			if s.lines <= maxLines {
				wrong = append(wrong, fmt.Sprintf("%s has %d lines, within the limit of %d: remove it from the list of larger packages", name, s.lines, maxLines))
			}
		}
		fmt.Fprintf(&out, "%7d %7d  %s%s\n", s.lines, s.files, name, note)
		if s.lines > limit {
			wrong = append(wrong, fmt.Sprintf("%s has %d lines, more than %d: move a part of it into a package of its own", name, s.lines, limit))
		}
		if s.files > maxFiles && !manyFiles[name] {
			wrong = append(wrong, fmt.Sprintf("%s has %d files, more than %d: move a part of it into a package of its own", name, s.files, maxFiles))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(larger)) {
		if _, ok := sizes[name]; !ok {
			wrong = append(wrong, fmt.Sprintf("%s is in the list of larger packages and does not exist", name))
		}
	}
	return out.String(), wrong, nil
}

// count counts the Go files of each directory, without tests and test data.
func count(tree fs.FS) (map[string]size, error) {
	sizes := map[string]size{}
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != "." && (strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"bin", "fixtures", "node_modules", "testdata"}, d.Name())) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		dir := path.Dir(name)
		s := sizes[dir]
		sizes[dir] = size{s.files + 1, s.lines + bytes.Count(text, []byte("\n"))}
		return nil
	})
	return sizes, err
}
