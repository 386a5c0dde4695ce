package race

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each test that leaves out cases with the race detector is one of those that
// scripts/test runs without it.
func TestAllCasesAreRunWithoutTheDetector(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("../../scripts/test")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`(?m)^many='(.*)'$`).FindSubmatch(script)
	packages := regexp.MustCompile(`(?m)^of_many=\((.*)\)$`).FindSubmatch(script)
	whole := regexp.MustCompile(`(?m)^plain=\((.*)\)$`).FindSubmatch(script)
	if names == nil || packages == nil || whole == nil {
		t.Fatal("scripts/test does not say which tests have many cases")
	}
	listed, thinned := regexp.MustCompile(string(names[1])), 0
	err = filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || !mentionsStep(f) || !strings.HasPrefix(f.Name.Name, "Test") {
				continue
			}
			thinned++
			dir := "./" + filepath.ToSlash(strings.TrimPrefix(filepath.Dir(path), filepath.Clean("../..")+string(filepath.Separator)))
			in := func(list []byte) bool { return strings.Contains(" "+string(list)+" ", " "+dir+" ") }
			if !in(whole[1]) && !(in(packages[1]) && listed.MatchString(f.Name.Name)) {
				t.Errorf("%s: scripts/test does not run %s of %s without the race detector", path, f.Name.Name, dir)
			}
		}
		return nil
	})
	if err != nil || thinned == 0 {
		t.Errorf("%d tests leave out cases: %v", thinned, err)
	}
}

// mentionsStep reports whether a function uses race.Step or race.Without.
func mentionsStep(f *ast.FuncDecl) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if ok && (s.Sel.Name == "Step" || s.Sel.Name == "Without") {
			x, isName := s.X.(*ast.Ident)
			found = found || isName && x.Name == "race"
		}
		return true
	})
	return found
}
