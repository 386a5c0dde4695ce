package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// audited are the directories whose exported names must have a user in another package.
var audited = []string{"checkpoint", "recovery", "runtime", "plan", "state"}

// mostNeedless is how many names needless lists on Linux; other systems have fewer. It
// may shrink, not grow.
const mostNeedless = 24

// An exported name that no other package of the program uses.
type exported struct {
	pkg, name string // "state/journal", "Journal.Sync"
	where     string // file:line
	tests     bool   // a test of another package has the name
}

func (e exported) String() string {
	note := ""
	if e.tests {
		note = "  (tests of other packages use it)"
	}
	return fmt.Sprintf("%s: %s.%s%s", e.where, e.pkg, e.name, note)
}

// needless lists the exported constants, variables, types, functions and methods of the
// audited packages that no other package uses. Tests are no users. Passed over are
//   - types that a declaration which is used mentions: their values get out,
//   - constants of such a type, because an enumeration is complete, and types of errors,
//   - methods that make a type implement an interface of any package that is imported, or
//     that have the name of one which is called through an interface,
//   - methods that have a name which a template of HTML mentions: a template can only call
//     what is exported,
//   - packages of tests, which are those in a directory named internal, and those that
//     import testing: users have them.
func (h *house) needless(root string) ([]exported, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	used := map[types.Object]bool{}
	for _, p := range h.pkgs {
		for _, object := range p.info.Uses {
			if object.Pkg() != nil && object.Pkg() != p.types {
				used[origin(object)] = true
			}
		}
	}
	elsewhere, err := h.selectors(root)
	if err != nil {
		return nil, err
	}
	interfaces, called := h.interfaces(), map[string]bool{}
	for _, p := range h.pkgs {
		for _, object := range p.info.Uses {
			if f, ok := object.(*types.Func); ok && f.Signature().Recv() != nil && !isMethod(f) {
				called[f.Name()] = true
			}
		}
	}
	if err := inTemplates(root, called); err != nil {
		return nil, err
	}
	var list []exported
	for _, p := range h.pkgs {
		if !isAudited(p.name) || isOfTests(p.types) {
			continue
		}
		mentioned := map[types.Object]bool{}
		var unused []types.Object
		look := func(o types.Object) {
			switch {
			case !o.Exported():
			case used[o] || elsewhere.program[path.Base(p.name)+"."+o.Name()]:
				mention(o.Type(), mentioned)
			default:
				unused = append(unused, o)
			}
		}
		for _, name := range p.types.Scope().Names() {
			o := p.types.Scope().Lookup(name)
			look(o)
			named, ok := o.Type().(*types.Named)
			if _, isType := o.(*types.TypeName); !isType || !ok || named.Obj() != o {
				continue
			}
			for m := range named.Methods() {
				if !satisfies(named, m, interfaces) && !elsewhere.methods[m.Name()] && !called[m.Name()] {
					look(m)
				}
			}
		}
		for _, o := range unused {
			if mentioned[o] || isMember(o, used, mentioned) || isError(o) {
				continue
			}
			at := h.fset.Position(o.Pos())
			file, _ := filepath.Rel(root, at.Filename)
			list = append(list, exported{p.name, qualified(o), fmt.Sprintf("%s:%d", file, at.Line),
				elsewhere.tests[path.Base(p.name)+"."+o.Name()] || elsewhere.testMethods[o.Name()] && isMethod(o)})
		}
	}
	slices.SortFunc(list, func(a, b exported) int { return cmp.Or(strings.Compare(a.pkg, b.pkg), strings.Compare(a.name, b.name)) })
	return list, nil
}

// isOfTests reports whether a package is one for tests.
func isOfTests(p *types.Package) bool {
	return slices.ContainsFunc(p.Imports(), func(i *types.Package) bool { return i.Path() == "testing" })
}

// isMember reports whether an object is a constant of a type that others use.
func isMember(o types.Object, used, mentioned map[types.Object]bool) bool {
	_, isConst := o.(*types.Const)
	t, ok := o.Type().(*types.Named)
	return isConst && ok && (used[t.Obj()] || mentioned[t.Obj()])
}

func isError(o types.Object) bool {
	_, isType := o.(*types.TypeName)
	is := types.Universe.Lookup("error").Type().Underlying().(*types.Interface)
	return isType && (types.Implements(o.Type(), is) || types.Implements(types.NewPointer(o.Type()), is))
}

func isAudited(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	return slices.Contains(audited, first) && !strings.Contains(name, "/internal/")
}

// origin is the declaration that an instance of a generic one comes from.
func origin(o types.Object) types.Object {
	switch o := o.(type) {
	case *types.Func:
		return o.Origin()
	case *types.Var:
		return o.Origin()
	}
	return o
}

// isMethod reports whether an object is a method that is declared by itself: those of
// interfaces are not.
func isMethod(o types.Object) bool {
	f, ok := o.(*types.Func)
	return ok && f.Signature().Recv() != nil && !types.IsInterface(f.Signature().Recv().Type())
}

// qualified is a name with that of its receiver.
func qualified(o types.Object) string {
	if !isMethod(o) {
		return o.Name()
	}
	t := o.(*types.Func).Signature().Recv().Type()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	return t.(*types.Named).Obj().Name() + "." + o.Name()
}

// mention adds the named types that a type is made of, by which its values get out of a
// package.
func mention(t types.Type, found map[types.Object]bool) {
	switch t := t.(type) {
	case *types.Alias:
		mention(types.Unalias(t), found)
	case *types.Named:
		if found[t.Obj()] {
			return
		}
		found[t.Obj()] = true
		for a := range t.TypeArgs().Types() {
			mention(a, found)
		}
		mention(t.Underlying(), found)
	case *types.Pointer:
		mention(t.Elem(), found)
	case *types.Slice:
		mention(t.Elem(), found)
	case *types.Array:
		mention(t.Elem(), found)
	case *types.Chan:
		mention(t.Elem(), found)
	case *types.Map:
		mention(t.Key(), found)
		mention(t.Elem(), found)
	case *types.Signature:
		mention(t.Params(), found)
		mention(t.Results(), found)
	case *types.Tuple:
		for v := range t.Variables() {
			mention(v.Type(), found)
		}
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() {
				mention(f.Type(), found)
			}
		}
	case *types.Interface:
		for m := range t.Methods() {
			mention(m.Type(), found)
		}
	}
}

// interfaces lists those of all packages, by the names of their methods.
func (h *house) interfaces() map[string][]*types.Interface {
	byMethod := map[string][]*types.Interface{}
	add := func(t types.Type) {
		i, ok := t.Underlying().(*types.Interface)
		if !ok {
			return
		}
		for m := range i.Methods() {
			byMethod[m.Name()] = append(byMethod[m.Name()], i)
		}
	}
	add(types.Universe.Lookup("error").Type())
	seen := map[*types.Package]bool{}
	var visit func(p *types.Package)
	visit = func(p *types.Package) {
		if seen[p] {
			return
		}
		seen[p] = true
		for _, name := range p.Scope().Names() {
			if t, ok := p.Scope().Lookup(name).(*types.TypeName); ok {
				add(t.Type())
			}
		}
		for _, i := range p.Imports() {
			visit(i)
		}
	}
	for _, p := range h.all {
		visit(p)
	}
	// package errors has its interfaces in the bodies of functions
	for _, name := range []string{"Is", "As", "Unwrap"} {
		byMethod[name] = append(byMethod[name], nil)
	}
	return byMethod
}

func satisfies(t *types.Named, m *types.Func, interfaces map[string][]*types.Interface) bool {
	return slices.ContainsFunc(interfaces[m.Name()], func(i *types.Interface) bool {
		return i == nil || types.Implements(t, i) || types.Implements(types.NewPointer(t), i)
	})
}

// selected are the names behind a dot, in files that are not type-checked.
type selected struct {
	program, methods   map[string]bool // of files for other systems: "pkg.Name", and any name
	tests, testMethods map[string]bool // of tests
}

// selectors reads the files for other systems and the tests below root.
func (h *house) selectors(root string) (selected, error) {
	s := selected{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}}
	read := func(name string, full, short map[string]bool) error {
		file, err := parser.ParseFile(h.fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if x, ok := n.(*ast.SelectorExpr); ok {
				short[x.Sel.Name] = true
				if of, ok := x.X.(*ast.Ident); ok {
					full[of.Name+"."+x.Sel.Name] = true
				}
			}
			return true
		})
		return nil
	}
	for _, p := range h.pkgs {
		for _, name := range p.ignored {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			if err := read(name, s.program, s.methods); err != nil {
				return s, err
			}
		}
	}
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && isSkipped(name, d):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, "_test.go") && !strings.Contains(name, "/internal/"):
			return nil
		case strings.HasSuffix(name, ".go"):
			return read(filepath.Join(root, name), s.tests, s.testMethods)
		}
		return nil
	})
	return s, err
}

// checkExports compares a list that needless has made with the limit.
func checkExports(list []exported, limit int) (wrong []string) {
	switch n := len(list); {
	case n > limit:
		wrong = append(wrong, fmt.Sprintf("%d exported names have no user in another package, more than %d: unexport what you have added (go run ./scripts/house exports)", n, limit))
	case n < limit && runtime.GOOS == "linux":
		wrong = append(wrong, fmt.Sprintf("%d exported names have no user in another package: lower mostNeedless from %d", n, limit))
	}
	return wrong
}

// byPackage counts a list.
func byPackage(list []exported) string {
	n := map[string]int{}
	for _, e := range list {
		n[e.pkg]++
	}
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(n)) {
		fmt.Fprintf(&out, "%7d  %s\n", n[name], name)
	}
	fmt.Fprintf(&out, "%7d  together\n", len(list))
	return out.String()
}

// mentionedField is a field or method in a template.
var mentionedField = regexp.MustCompile(`\.([A-Z]\w*)`)

// inTemplates adds the names that templates mention.
func inTemplates(root string, names map[string]bool) error {
	files, err := filepath.Glob(filepath.Join(root, "runtime/web/page/templates/*.html"))
	if err != nil {
		return err
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for _, m := range mentionedField.FindAllStringSubmatch(string(text), -1) {
			names[m[1]] = true
		}
	}
	return nil
}
