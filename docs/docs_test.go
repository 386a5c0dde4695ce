// Package docs holds the documentation. Its tests keep it true: what can be
// made from the code is made from it (go test ./docs -update), and what is
// promised must name its place in the code and the test that attacks it.
package docs

import (
	"bytes"
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hank/internal/short"
)

var update = flag.Bool("update", false, "write the generated parts of the documentation anew")

const root = ".."

func read(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The markers around what is generated.
const (
	begin = "<!-- generated: go test ./docs -update -->\n"
	end   = "<!-- end -->\n"
)

// generated compares the generated part of a page with what it must be.
func generated(t *testing.T, page, want string) {
	t.Helper()
	text := read(t, page)
	head, rest, found := strings.Cut(text, begin)
	have, tail, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no generated part", page)
	}
	if have == want {
		return
	}
	if !*update {
		t.Fatalf("%s is not what the code says: go test ./docs -update", page)
	}
	if err := os.WriteFile(page, []byte(head+begin+want+end+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}

// promise is a row of the table in durability.md.
type promise struct {
	what   string
	places []string // file:function
	tests  []string // package.Test

	survived string // what the ledger counts of it
}

var (
	code     = regexp.MustCompile("`([^`]+)`")
	testName = regexp.MustCompile(`^(.+)\.((?:Test|Fuzz)\w+)$`)
)

func promises(t *testing.T) []promise {
	t.Helper()
	var all []promise
	for line := range strings.Lines(read(t, "durability.md")) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) < 5 || !strings.Contains(cells[2], "`") {
			continue
		}
		p := promise{what: strings.TrimSpace(cells[1])}
		if len(cells) > 5 {
			p.survived = strings.TrimSpace(cells[4])
		}
		for _, m := range code.FindAllStringSubmatch(cells[2], -1) {
			p.places = append(p.places, m[1])
		}
		for _, m := range code.FindAllStringSubmatch(cells[3], -1) {
			p.tests = append(p.tests, m[1])
		}
		all = append(all, p)
	}
	if len(all) < 10 {
		t.Fatalf("durability.md has only %d promises", len(all))
	}
	return all
}

func TestAPromiseStandsOnce(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, p := range promises(t) {
		// A row that is written anew keeps its beginning where it is merged twice.
		beginning := p.what[:min(len(p.what), 40)]
		if seen[beginning] {
			t.Errorf("it stands twice: %s", p.what)
		}
		seen[beginning] = true
	}
}

func TestPromisesAreEnforcedWhereTheySay(t *testing.T) {
	t.Parallel()
	for _, p := range promises(t) {
		for _, place := range p.places {
			file, function, ok := strings.Cut(place, ":")
			if !ok {
				t.Errorf("%s: %q is not file:function", p.what, place)
				continue
			}
			text := read(t, filepath.Join(root, file))
			if !regexp.MustCompile(`(?m)^(func (\([^)]*\) )?|var |type )` + regexp.QuoteMeta(function) + `\b`).MatchString(text) {
				t.Errorf("%s: %s has no %s", p.what, file, function)
			}
		}
	}
}

func TestPromisesAreAttackedByTestsThatExist(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for _, p := range promises(t) {
		if len(p.tests) == 0 {
			t.Errorf("%s: no test attacks it", p.what)
		}
		for _, name := range p.tests {
			if !isThere(t, name) {
				t.Errorf("%s: %s is no test: name package.Test, or script/NAME for a script of cmd/hank", p.what, name)
			}
		}
	}
}

// scripts/test runs this one last, with the log of all tests before it.
func TestPromisesAreAttackedByTestsThatRan(t *testing.T) {
	log := os.Getenv("HANK_TEST_LOG")
	if log == "" {
		t.Skip("scripts/test runs this with the log of all tests")
	}
	ran := passed(read(t, log))
	for _, p := range promises(t) {
		for _, name := range p.tests {
			if !ran[name] {
				t.Errorf("%s: %s has not run, or not passed", p.what, name)
			}
		}
	}
	for _, p := range points(t) {
		for _, name := range p.tests {
			if !ran[name] {
				t.Errorf("systems.md: %s: %s has not run, or not passed", p.what, name)
			}
		}
	}
}

func TestEveryExitCodeIsPublished(t *testing.T) {
	t.Parallel()
	said := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\| ([0-9, ]+) \|`).FindAllStringSubmatch(read(t, "command-line.md"), -1) {
		for _, c := range strings.Split(m[1], ",") {
			said[strings.TrimSpace(c)] = true
		}
	}
	codes := regexp.MustCompile(`(?m)^\t\w+ +Code += ([0-9]+)`).FindAllStringSubmatch(read(t, "../runtime/exitcode/exitcode.go"), -1)
	if len(codes) < 14 {
		t.Fatalf("found only %d codes in the code", len(codes))
	}
	for _, m := range codes {
		if !said[m[1]] {
			t.Errorf("command-line.md does not say what %s means", m[1])
		}
		delete(said, m[1])
	}
	for c := range said {
		t.Errorf("command-line.md speaks of code %s, which nothing returns", c)
	}
}

// Every module that the code imports has its reason, and no other.
func TestEveryDependencyHasAReason(t *testing.T) {
	t.Parallel()
	var modules []string
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+\.\S+/\S+) v`).FindAllStringSubmatch(read(t, "../go.mod"), -1) {
		modules = append(modules, m[1])
	}
	used := map[string]bool{"honnef.co/go/tools": true, "golang.org/x/vuln": true, "github.com/itchyny/gojq": true} // the tool lines
	for path := range imports(t) {
		best := ""
		for _, m := range modules {
			if (path == m || strings.HasPrefix(path, m+"/")) && len(m) > len(best) {
				best = m
			}
		}
		if best == "" && strings.Contains(strings.SplitN(path, "/", 2)[0], ".") {
			t.Errorf("%s is in no module of go.mod", path)
		}
		used[best] = true
	}
	delete(used, "")
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(read(t, "dependencies.md"), -1) {
		if !used[m[1]] {
			t.Errorf("dependencies.md gives a reason for %s, which nothing imports", m[1])
		}
		delete(used, m[1])
	}
	for m := range used {
		t.Errorf("dependencies.md gives no reason for %s", m)
	}
}

func imports(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "testdata" || d.Name() == "fixtures") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, i := range f.Imports {
			path, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			all[path] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// pages are all pages of the documentation.
func pages(t testing.TB) []string {
	t.Helper()
	list, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"../README.md", "../CHANGELOG.md", "../CONTRIBUTING.md", "../fixtures/*/README.md"} {
		more, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, more...)
	}
	return list
}

var link = regexp.MustCompile(`\]\(([^)]+)\)`)

func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	for _, page := range pages(t) {
		text := read(t, page)
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			path, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(m[1], "://") {
				continue
			}
			target := page
			if path != "" {
				target = filepath.Join(filepath.Dir(page), path)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %s leads nowhere", page, m[1])
				continue
			}
			if anchor != "" && !slices.Contains(headings(read(t, target)), anchor) {
				t.Errorf("%s: %s leads to no heading", page, m[1])
			}
		}
	}
}

// headings are the anchors of a page, as git forges make them.
func headings(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			var b bytes.Buffer
			for _, r := range strings.ToLower(strings.TrimSpace(title)) {
				switch {
				case r == ' ':
					b.WriteByte('-')
				case r == '-' || r == '_' || 'a' <= r && r <= 'z' || '0' <= r && r <= '9':
					b.WriteRune(r)
				}
			}
			out = append(out, b.String())
		}
	}
	return out
}

// Nothing in the repository leads to the machine that it was written on.
func TestPagesNameNoMachine(t *testing.T) {
	t.Parallel()
	for _, page := range pages(t) {
		for _, bad := range []string{"/work/", "/root/", "/tmp/bash"} {
			if strings.Contains(read(t, page), bad) {
				t.Errorf("%s names %s", page, bad)
			}
		}
	}
}

func row(cells ...string) string { return fmt.Sprintf("| %s |\n", strings.Join(cells, " | ")) }

// A number means one decision. Those of decisions that were withdrawn are missing.
func TestDecisionsAreNumberedInOrder(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("decisions.md")
	if err != nil {
		t.Fatal(err)
	}
	last := 0
	for _, m := range regexp.MustCompile(`(?m)^([0-9]+)\. \*\*`).FindAllSubmatch(text, -1) {
		n, err := strconv.Atoi(string(m[1]))
		if err != nil {
			t.Fatal(err)
		}
		if n <= last {
			t.Errorf("decision %d comes after %d", n, last)
		}
		last = n
	}
	if last < 100 {
		t.Errorf("only %d decisions were found", last)
	}
}
