// Command house measures each package, and the transition path, and fails for one that a
// reader cannot hold in the head.
//
//	go run ./scripts/house                  sizes and arrows of all packages, and the transition path
//	go run ./scripts/house arrows PACKAGE   the files of one, and the arrows that lead up
//	go run ./scripts/house exports          exported names that only tests use, or nobody
//
// Counted are files and lines without tests, for all systems. A package has at
// most 4,000 lines and 30 files; cmd/hank may have more files, one or two for
// each command.
//
// An arrow leads from a file to another one of its package that declares a constant,
// variable, type, function or method which the first uses, on this system. The files are
// laid out on floors, each above what it uses, so that as few arrows as possible lead up
// from a lower floor to a higher one. At most a tenth of the arrows of a package may; one
// may in any case.
//
// The transition path are the files that docs/reading.md names. Together they have at
// most 4,000 lines of code: without blank lines and those that have only a comment.
//
// A package that was over a limit when it was set is listed with the figure that it had
// then: it may shrink, not grow, and leaves the list when it is within the limit. The
// exported names that only tests use, or nobody, are counted together, and their number
// may not grow either.
//
// The exit status is 1 if a package or the path is over a limit, or a list is out of date.
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
var larger = map[string]int{}

// tangled are the packages with more arrows up than mayClimb allows, with the number that
// each may have at most.
var tangled = map[string]int{}

// mayClimb is how many of the arrows of a package may lead up.
func mayClimb(arrows int) int { return max(1, arrows/10) }

func main() {
	wrong, err := run(os.Args[1:])
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

func run(args []string) (wrong []string, err error) {
	switch {
	case len(args) == 0:
		return all()
	case len(args) == 2 && args[0] == "arrows":
		return nil, printArrows(path.Clean(args[1]))
	case len(args) == 1 && args[0] == "exports":
		return nil, printExports()
	}
	return nil, fmt.Errorf("usage: go run ./scripts/house [arrows PACKAGE | exports]")
}

func all() (wrong []string, err error) {
	sizes, err := count(os.DirFS("."))
	if err != nil {
		return nil, err
	}
	h, err := load(".")
	if err != nil {
		return nil, err
	}
	needless, err := h.needless(".")
	if err != nil {
		return nil, err
	}
	report, wrong := check(sizes, h.climbs(), larger, tangled)
	onPath, longPath, err := measurePath(os.DirFS("."))
	fmt.Print(report, onPath)
	return slices.Concat(wrong, longPath, checkExports(needless, mostNeedless)), err
}

func printArrows(name string) error {
	h, err := load(".")
	if err != nil {
		return err
	}
	at := slices.IndexFunc(h.pkgs, func(p *pkg) bool { return p.name == name })
	if at < 0 {
		return fmt.Errorf("there is no package %s", name)
	}
	names := h.arrows(h.pkgs[at])
	order, up := climbing(sorted(names))
	fmt.Println("from the ground up:", strings.Join(order, " "))
	fmt.Printf("%d of %d arrows lead up:\n", len(up), len(names))
	for _, a := range up {
		slices.Sort(names[a])
		fmt.Printf("  %s -> %s  %s\n", a.from, a.to, strings.Join(names[a], " "))
	}
	return nil
}

func printExports() error {
	h, err := load(".")
	if err != nil {
		return err
	}
	list, err := h.needless(".")
	for _, e := range list {
		fmt.Println(e)
	}
	fmt.Print(byPackage(list))
	return err
}

// A size is what is counted of a package.
type size struct{ files, lines int }

// check compares the packages with the limits.
func check(sizes map[string]size, climbs map[string]climb, larger, tangled map[string]int) (report string, wrong []string) {
	names := slices.SortedFunc(maps.Keys(sizes), func(a, b string) int {
		if sizes[a].lines != sizes[b].lines {
			return sizes[b].lines - sizes[a].lines
		}
		return strings.Compare(a, b)
	})
	var out strings.Builder
	fmt.Fprintf(&out, "%7s %7s %7s %7s  %s\n", "lines", "files", "arrows", "up", "package")
	for _, name := range names {
		s, c := sizes[name], climbs[name]
		var notes []string
		limit := maxLines
		if bound, ok := larger[name]; ok {
			limit, notes = bound, append(notes, fmt.Sprintf("at most %d lines", bound))
			if s.lines <= maxLines {
				wrong = append(wrong, fmt.Sprintf("%s has %d lines, within the limit of %d: remove it from the list of larger packages", name, s.lines, maxLines))
			}
		}
		if s.lines > limit {
			wrong = append(wrong, fmt.Sprintf("%s has %d lines, more than %d: move a part of it into a package of its own", name, s.lines, limit))
		}
		if s.files > maxFiles && !manyFiles[name] {
			wrong = append(wrong, fmt.Sprintf("%s has %d files, more than %d: move a part of it into a package of its own", name, s.files, maxFiles))
		}
		limit = mayClimb(c.all)
		if bound, ok := tangled[name]; ok {
			if c.up <= limit {
				wrong = append(wrong, fmt.Sprintf("%s has %d of %d arrows up, within the limit: remove it from the list of tangled packages", name, c.up, c.all))
			}
			limit, notes = bound, append(notes, fmt.Sprintf("at most %d arrows up", bound))
		}
		if c.up > limit {
			wrong = append(wrong, fmt.Sprintf("%s has %d of %d arrows up, more than %d: move declarations to the files that use them (go run ./scripts/house arrows %s)", name, c.up, c.all, limit, name))
		}
		note := ""
		if len(notes) > 0 {
			note = "  (" + strings.Join(notes, ", ") + ")"
		}
		fmt.Fprintf(&out, "%7d %7d %7d %7d  %s%s\n", s.lines, s.files, c.all, c.up, name, note)
	}
	return out.String(), slices.Concat(wrong, gone(sizes, larger, "larger"), gone(sizes, tangled, "tangled"))
}

// gone reports the packages of a list that do not exist.
func gone(sizes map[string]size, list map[string]int, what string) (wrong []string) {
	for _, name := range slices.Sorted(maps.Keys(list)) {
		if _, ok := sizes[name]; !ok {
			wrong = append(wrong, fmt.Sprintf("%s is in the list of %s packages and does not exist", name, what))
		}
	}
	return wrong
}

// count counts the Go files of each directory, without tests and test data.
func count(tree fs.FS) (map[string]size, error) {
	sizes := map[string]size{}
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if isSkipped(name, d) {
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

// isSkipped reports whether a directory has no packages of hank.
func isSkipped(name string, d fs.DirEntry) bool {
	return name != "." && (strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"bin", "fixtures", "node_modules", "testdata"}, d.Name()))
}
