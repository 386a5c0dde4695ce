package docs

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A pkg is one of hank's packages, without its tests, for all platforms.
type pkg struct {
	doc     string
	imports map[string]bool // of hank's packages
	goGit   bool            // it imports go-git
	http    bool            // it imports net/http
}

// packages reads the packages below root: the first sentence of what each says of
// itself, and its import clauses. Nothing is built. The names are without the module's.
func packages(t testing.TB) map[string]*pkg {
	t.Helper()
	all := map[string]*pkg{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != root && (strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"bin", "fixtures", "node_modules", "testdata"}, d.Name())) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(name))
		if err != nil {
			return err
		}
		dir = filepath.ToSlash(dir)
		if all[dir] == nil {
			all[dir] = &pkg{imports: map[string]bool{}}
		}
		all[dir].add(t, dir, file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (p *pkg) add(t testing.TB, dir string, file *ast.File) {
	t.Helper()
	if p.doc == "" && file.Doc != nil {
		sentence := new(doc.Package).Synopsis(file.Doc.Text())
		for _, kind := range []string{"Package ", "Command "} {
			sentence = strings.TrimPrefix(sentence, kind+path.Base(dir)+" ")
		}
		p.doc = sentence
	}
	for _, i := range file.Imports {
		name, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(name, "github.com/go-git/") {
			p.goGit = true
		}
		p.http = p.http || name == "net/http" || strings.HasPrefix(name, "net/http/")
		if inner, ok := strings.CutPrefix(name, "hank/"); ok {
			p.imports[inner] = true
		}
	}
}

// reach is what a package imports, directly or not.
func reach(all map[string]*pkg, from string, seen map[string]bool) map[string]bool {
	if all[from] == nil {
		return seen
	}
	for name := range all[from].imports {
		if !seen[name] {
			seen[name] = true
			reach(all, name, seen)
		}
	}
	return seen
}

// needed are the imports that no other import of the package implies.
func needed(all map[string]*pkg, from string) []string {
	implied := map[string]bool{}
	for name := range all[from].imports {
		maps.Copy(implied, reach(all, name, map[string]bool{}))
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(all[from].imports)) {
		if !implied[name] {
			out = append(out, name)
		}
	}
	return out
}

// diagram draws the packages of the program by mermaid, importers above what they
// import, grouped by their first directory.
func diagram(all map[string]*pkg, program []string) string {
	var out strings.Builder
	out.WriteString("```mermaid\nflowchart TD\n")
	node := strings.NewReplacer("/", "_").Replace
	group := ""
	for _, name := range program {
		if g, _, _ := strings.Cut(name, "/"); g != group {
			if group != "" {
				out.WriteString("    end\n")
			}
			group = g
			out.WriteString("    subgraph " + group + "_tree [\"" + group + "\"]\n")
		}
		out.WriteString("        " + node(name) + "[\"" + name + "\"]\n")
	}
	out.WriteString("    end\n")
	for _, name := range program {
		if to := needed(all, name); len(to) > 0 {
			for i := range to {
				to[i] = node(to[i])
			}
			out.WriteString("    " + node(name) + " --> " + strings.Join(to, " & ") + "\n")
		}
	}
	return out.String() + "```\n"
}

func packageTable(all map[string]*pkg, names []string) string {
	var out strings.Builder
	out.WriteString(row("package", "what it is") + "|---|---|\n")
	for _, name := range names {
		out.WriteString(row("`"+name+"`", all[name].doc))
	}
	return out.String()
}

func TestArchitectureIsDrawnFromTheImports(t *testing.T) {
	t.Parallel()
	all := packages(t)
	const top = "cmd/hank"
	in := reach(all, top, map[string]bool{top: true})
	var program, others []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		switch {
		case in[name]:
			program = append(program, name)
		default:
			others = append(others, name)
		}
		if all[name].doc == "" {
			t.Errorf("%s has no package comment", name)
		}
	}
	generated(t, "architecture.md", "\n## Diagram\n\n"+diagram(all, program)+
		"\n## Packages of the program\n\n"+packageTable(all, program)+
		"\n## Packages for tests, and commands for those who work on hank\n\n"+packageTable(all, others)+"\n")
}

// layers are the directories of the program with those that each may import.
var layers = map[string][]string{
	"cmd":        {"runtime", "recovery", "checkpoint", "state", "plan", "internal"},
	"runtime":    {"recovery", "checkpoint", "state", "plan", "internal"},
	"recovery":   {"checkpoint", "state", "plan", "internal"},
	"checkpoint": {"internal"},
	"state":      {"plan", "internal"},
	"plan":       {"internal"},
	"internal":   nil,
}

func TestNoPackageImportsALayerAboveIt(t *testing.T) {
	t.Parallel()
	all := packages(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		own, _, _ := strings.Cut(name, "/")
		allowed, ok := layers[own]
		if !ok {
			continue // docs, scripts
		}
		for i := range all[name].imports {
			if layer, _, _ := strings.Cut(i, "/"); layer != own && !slices.Contains(allowed, layer) {
				t.Errorf("%s imports %s", name, i)
			}
		}
	}
}

// Only checkpoint knows the library that reads and writes git's formats. Tests may use it
// elsewhere: what judges a store has to read it in another way than the store does.
func TestOnlyCheckpointImportsGoGit(t *testing.T) {
	t.Parallel()
	all := packages(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name].goGit && name != "checkpoint" && !strings.HasPrefix(name, "checkpoint/") {
			t.Errorf("%s imports go-git: let checkpoint have a function or a type for it", name)
		}
	}
	if !all["checkpoint/packdb"].goGit {
		t.Error("the import of go-git by checkpoint/packdb is not noticed")
	}
}

// hank is no server, and sends nothing but what a hank's sentinels ask their models: no other
// package speaks HTTP, except the model server of the tests and the bench of the viewers, which the
// program does not import.
func TestNothingSpeaksHTTP(t *testing.T) {
	t.Parallel()
	all := packages(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name].http && !slices.Contains([]string{"internal/modelserver", "runtime/sentinel/provider", "runtime/web", "runtime/web/guard", "scripts/bench/viewers"}, name) {
			t.Errorf("%s imports net/http", name)
		}
	}
	if reach(all, "cmd/hank", map[string]bool{})["internal/modelserver"] {
		t.Error("the program imports the model server of the tests")
	}
	if !all["internal/modelserver"].http {
		t.Error("the import of net/http by internal/modelserver is not noticed")
	}
}
