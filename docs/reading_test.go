package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hank/internal/short"
)

// What the reading order names is there: files, declarations, tests, failpoints.
func TestReadingOrderNamesWhatIsThere(t *testing.T) {
	t.Parallel()
	text, file, rows := read(t, "reading.md"), "", 0
	for line := range strings.Lines(text) {
		cells := strings.Split(line, "|")
		if len(cells) != 7 || !strings.Contains(cells[5], "`") {
			continue
		}
		rows++
		if m := code.FindStringSubmatch(cells[1]); m != nil {
			file = read(t, filepath.Join(root, m[1]))
		}
		names := code.FindAllStringSubmatch(cells[2], -1)
		if len(names) == 0 {
			t.Errorf("%s names nothing to read", cells[1])
		}
		for _, m := range names {
			text, name := file, m[1]
			if elsewhere, declaration, is := strings.Cut(m[1], ":"); is {
				text, name = read(t, filepath.Join(root, elsewhere)), declaration
			}
			if !regexp.MustCompile(`(?m)^(func (\([^)]*\) )?|type |var )` + name + `\b|^\t` + name + `\s+(=|struct|interface|func|\[|\*|[\w.]+( =| //|$))`).MatchString(text) {
				t.Errorf("%s: there is no %s", cells[1], m[1])
			}
		}
		for _, m := range code.FindAllStringSubmatch(cells[5], -1) {
			if !isThere(t, m[1]) {
				t.Errorf("%s: %s is no test: name package.Test, or script/NAME for a script of cmd/hank", cells[1], m[1])
			}
		}
	}
	if rows < 15 {
		t.Errorf("reading.md has only %d rows", rows)
	}
	for _, m := range regexp.MustCompile("`([\\w/]+\\.go):(\\w+)`").FindAllStringSubmatch(text, -1) {
		if !regexp.MustCompile(`(?m)^(func (\([^)]*\) )?|var |type )` + m[2] + `\b`).MatchString(read(t, filepath.Join(root, m[1]))) {
			t.Errorf("%s has no %s", m[1], m[2])
		}
	}
}

// Every failpoint that the pages name is in the code.
func TestFailpointsThatPagesNameExist(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, dir := range []string{"checkpoint", "recovery", "runtime", "state", "internal"} {
		for _, pattern := range []string{"*.go", "*/*.go"} {
			files, err := filepath.Glob(filepath.Join(root, dir, pattern))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				for _, m := range regexp.MustCompile(`failpoint\.Hit\("([a-z.]+)"\)`).FindAllStringSubmatch(read(t, f), -1) {
					known[m[1]] = true
				}
			}
		}
	}
	found := 0
	for _, page := range []string{"reading.md", "../CONTRIBUTING.md"} {
		for _, m := range regexp.MustCompile("(?:`|HANK_FAILPOINT=)((?:checkpoint|journal|pack|ref|snapshot|transition|move|restore)\\.[a-z.]+)").FindAllStringSubmatch(read(t, page), -1) {
			if found++; !known[m[1]] {
				t.Errorf("%s: there is no failpoint %s", page, m[1])
			}
		}
	}
	if found < 12 {
		t.Errorf("only %d failpoints were found", found)
	}
}

// A failpoint on the path is named on the page, or in a comment of its file.
func TestFailpointsOnThePathAreNamed(t *testing.T) {
	t.Parallel()
	page, found := read(t, "reading.md"), 0
	path, _, _ := strings.Cut(page, "## Beside the path")
	for _, name := range regexp.MustCompile("`(\\w+(?:/\\w+)+\\.go)[:`]").FindAllStringSubmatch(path, -1) {
		file := read(t, filepath.Join(root, name[1]))
		for _, m := range regexp.MustCompile(`failpoint\.Hit\("([a-z.]+)"\)`).FindAllStringSubmatch(file, -1) {
			if found++; !strings.Contains(page, m[1]) && !regexp.MustCompile(`(?m)^//.*\b`+regexp.QuoteMeta(m[1])+`\b`).MatchString(file) {
				t.Errorf("%s: failpoint %s is named nowhere", name[1], m[1])
			}
		}
	}
	if found < 15 {
		t.Errorf("only %d failpoints were found", found)
	}
}

// Tests and commands that CONTRIBUTING.md names exist.
func TestContributingNamesWhatIsThere(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	text, tests := read(t, "../CONTRIBUTING.md"), ""
	for _, pattern := range []string{"*/*_test.go", "*/*/*_test.go", "*/*/*/*_test.go"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			tests += read(t, f)
		}
	}
	for _, name := range regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(text, -1) {
		if !strings.Contains(tests, "func "+name+"(") {
			t.Errorf("there is no test %s", name)
		}
	}
	for _, name := range regexp.MustCompile(`\b(?:scripts|cmd|runtime|internal|docs|fixtures)/[\w./]*\w`).FindAllString(text, -1) {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Errorf("there is no %s", name)
		}
	}
}
