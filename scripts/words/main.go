// Command words reports phrases that hank's messages, help and documents do not
// use, with the file, the line and what to write instead.
//
//	go run ./scripts/words              every phrase that is left, and the number in each package and document
//	go run ./scripts/words ./runtime    only those of one directory
//	go run ./scripts/words -comments    those in comments, too; they never fail
//	go run ./scripts/words -update      lower the numbers of open.txt
//
// Read are the string literals of the program's Go files (import paths and struct
// tags excepted) and the prose of README.md and docs: text in backquotes and in
// blocks of code is quoted, not written.
//
// The directories and documents in open.txt still have as many phrases as it says.
// More fail, and so does any phrase elsewhere: the list only becomes shorter. When
// text moves to another package, its number moves along.
//
// The exit status is 1 if a place has too many phrases.
package main

import (
	"cmp"
	_ "embed"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// openFile lists the places that are not clean yet: one a line, with the number
// of phrases that it may have at most.
const openFile = "scripts/words/open.txt"

func main() {
	comments := flag.Bool("comments", false, "report comments, too")
	update := flag.Bool("update", false, "lower the numbers of "+openFile)
	flag.Parse()
	if err := run(os.DirFS("."), flag.Args(), *comments, *update); err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(1)
	}
}

func run(tree fs.FS, only []string, comments, update bool) error {
	text, err := fs.ReadFile(tree, openFile)
	if err != nil {
		return fmt.Errorf("%w (run this command in the root of the repository)", err)
	}
	open, err := parseOpen(string(text))
	if err != nil {
		return err
	}
	found, err := search(tree, comments)
	if err != nil {
		return err
	}
	counts := count(found)
	if update {
		return os.WriteFile(openFile, []byte(lowered(counts, open)), 0o644)
	}
	for _, f := range found {
		if wanted(f.place(), only) {
			fmt.Println(f)
		}
	}
	report(counts, open)
	if wrong := exceeded(counts, open); len(wrong) > 0 {
		return fmt.Errorf("words that hank does not use (go run ./scripts/words DIR lists those of one place, and what to write instead):\n%s", strings.Join(wrong, "\n"))
	}
	return nil
}

// A finding is a phrase at a place of a file.
type finding struct {
	file    string
	line    int
	text    string // as it is written
	instead string
	comment bool
}

// place is the package, or the document, that a finding counts for.
func (f finding) place() string {
	if strings.HasSuffix(f.file, ".md") {
		return f.file
	}
	return path.Dir(f.file)
}

func (f finding) String() string {
	where := ""
	if f.comment {
		where = " (comment)"
	}
	return fmt.Sprintf("%s:%d: %q%s: %s", f.file, f.line, f.text, where, f.instead)
}

// wanted reports whether a place is one of those asked for: itself, or below one
// that ends in /....
func wanted(place string, only []string) bool {
	if len(only) == 0 {
		return true
	}
	return slices.ContainsFunc(only, func(o string) bool {
		o = path.Clean(o)
		if base, ok := strings.CutSuffix(o, "/..."); ok {
			return place == base || strings.HasPrefix(place, base+"/")
		}
		return place == o
	})
}

func count(found []finding) map[string]int {
	counts := map[string]int{}
	for _, f := range found {
		if !f.comment {
			counts[f.place()]++
		}
	}
	return counts
}

// report prints the number of phrases of each place that has any.
func report(counts, open map[string]int) {
	places := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(counts[b]-counts[a], strings.Compare(a, b))
	})
	total := 0
	for _, p := range places {
		fmt.Printf("%5d of at most %d  %s\n", counts[p], open[p], p)
		total += counts[p]
	}
	fmt.Printf("%5d left\n", total)
}

// exceeded names the places with more phrases than they may have.
func exceeded(counts, open map[string]int) []string {
	var wrong []string
	for _, p := range slices.Sorted(maps.Keys(counts)) {
		if counts[p] > open[p] {
			wrong = append(wrong, fmt.Sprintf("%s has %d, at most %d are allowed", p, counts[p], open[p]))
		}
	}
	return wrong
}

// lowered is the text of open.txt with no number higher than it was and none
// higher than needed.
func lowered(counts, open map[string]int) string {
	var out strings.Builder
	for _, p := range slices.Sorted(maps.Keys(open)) {
		if n := min(counts[p], open[p]); n > 0 {
			fmt.Fprintf(&out, "%d %s\n", n, p)
		}
	}
	return out.String()
}

func parseOpen(text string) (map[string]int, error) {
	open := map[string]int{}
	for line := range strings.Lines(text) {
		number, place, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || place == "" {
			return nil, fmt.Errorf("%s: %q is not a number and a place", openFile, line)
		}
		open[place] = n
	}
	return open, nil
}
