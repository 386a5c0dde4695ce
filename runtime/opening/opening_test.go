package opening

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryCommandOpensHere: an opening of recovery's that a command calls itself may leave out
// what closes a run that has crashed.
func TestEveryCommandOpensHere(t *testing.T) {
	t.Parallel()
	here := 0
	for _, dir := range []string{"../../cmd", "../../runtime"} {
		err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				pkg, ok := s.X.(*ast.Ident)
				if !ok || pkg.Name != "recovery" || s.Sel.Name != "Open" && s.Sel.Name != "Create" && s.Sel.Name != "Import" {
					return true
				}
				if filepath.Base(filepath.Dir(name)) == "opening" {
					here++
				} else {
					t.Errorf("%s: recovery.%s is called; call that of package opening", set.Position(s.Pos()), s.Sel.Name)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if here != 3 {
		t.Errorf("package opening refers to %d openings of recovery, not 3", here)
	}
}
