// Gomove moves files and declarations of a module between packages by a plan:
// it exports the names that become used across packages, qualifies references,
// turns methods of types that stay elsewhere into functions, and rewrites
// imports. See README.md.
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"unicode"

	"golang.org/x/tools/go/packages"
)

type imp struct {
	name, path string // name as it is written; "" if not
	blank      bool
}

type file struct {
	rel     string
	folder  string
	text    []byte
	ast     *ast.File
	tok     *token.File // of the private parse
	old     bool        // in a package that takes part
	pkg     string      // of the package clause
	imports []imp
	bodyAt  int // offset behind the imports
	pkgAt   int // offset of the package keyword
	pkgEnd  int
	build   string
	chunks  []*chunk
	edits   []*edit
	uses    []pkguse
	sorted  bool
}

type chunk struct {
	f          *file
	start, end int
	names      []string
	keyword    string // for a spec that is taken out of a group
	holes      []*chunk
	dst        string
	empty      bool // a group all of whose specs went
}

type edit struct {
	off, end int
	text     func() string
}

type pkguse struct {
	off  int
	name string // as used in the file
	path string
}

type ref struct {
	f        *file
	off, end int
	key      string
	def      bool
	pkgLevel bool
	scope    *types.Scope
	pos      token.Pos
	expr     *span // of a method expression
	value    *methodValue
}

// methodValue is a method that is used without being called.
type methodValue struct {
	off, end, xoff, xend int
	sig                  *types.Signature
	way                  []string
}

// closure returns a function literal that calls the function that a method became.
func (t *tool) closure(f *file, name string, v *methodValue) string {
	plain := func(p *types.Package) string { return p.Name() }
	x := t.render(f, v.xoff, v.xend, true)
	for _, w := range v.way {
		n, key, _ := strings.Cut(w, "\x00")
		if key != "" {
			n = t.newName(key)
		}
		x += "." + n
	}
	var params, args []string
	for i := range v.sig.Params().Len() {
		p := v.sig.Params().At(i)
		n := p.Name()
		if n == "" || n == "_" {
			n = fmt.Sprintf("p%d", i)
		}
		params = append(params, n+" "+types.TypeString(p.Type(), plain))
		args = append(args, n)
		if i == 0 && p.Type().String() == "context.Context" {
			args = append(args, x)
		} else if i == 0 {
			args = append([]string{x}, args...)
		}
	}
	if len(args) == 0 {
		args = []string{x}
	}
	result, ret := "", ""
	switch n := v.sig.Results().Len(); {
	case n == 1:
		result, ret = " "+types.TypeString(v.sig.Results().At(0).Type(), plain), "return "
	case n > 1:
		result, ret = " "+types.TypeString(v.sig.Results(), plain), "return "
	}
	return fmt.Sprintf("func(%s)%s { %s%s(%s) }", strings.Join(params, ", "), result, ret, name, strings.Join(args, ", "))
}

type span struct{ off, end int }

type call struct {
	f             *file
	key           string
	off, end      int // X.Sel
	xoff, xend    int
	lparen        int
	nargs         int
	arg0End       int
	ctxFirst      bool
	path          []string // keys of embedded fields
	ptrRecv, xptr bool
	scope         *types.Scope
	pos           token.Pos
	needParen     bool
}

type unkeyed struct {
	f      *file
	offs   []int
	keys   []string
	names  []string
	typKey string
}

type decl struct {
	key    string
	f      *file
	off    int
	recv   string // for methods: key of type
	fd     *ast.FuncDecl
	name   string
	kind   string // func method type var const field
	embed  string
	parent string // for fields: owner type key
}

type tool struct {
	plan    *plan
	root    string
	files   map[string]*file
	fset    *token.FileSet
	byPos   map[string]string // rel:off -> key
	decls   map[string][]*decl
	embeds  map[string]string // key of an embedded field -> key of the type
	refs    []*ref
	calls   []*call
	unk     []*unkeyed
	locals  map[string][]*ref
	union   map[string]string
	tofunc  map[string]bool
	export  map[string]bool
	why     map[string]map[string]bool // exported key -> using packages
	renloc  map[string]bool
	xt      map[string]bool // dst files that are external tests
	done    map[string]bool // files whose references are known
	fail    int
	newImps map[string]map[string]string // dst -> path -> name
	out     map[string][]byte
	gone    []string
	told    map[string]bool
}

var (
	dry   = flag.Bool("dry", false, "write nothing")
	self  = flag.Bool("self", false, "look at the old packages only, not at who imports them")
	quick = flag.Bool("quick", false, "linux only")
	ties  = flag.Bool("ties", false, "print every name that ties two packages")
	root  = flag.String("dir", ".", "the module")
)

func main() {
	flag.Parse()
	abs, _ := filepath.Abs(*root)
	p, err := readPlan(abs, flag.Arg(0))
	check(err)
	t := &tool{plan: p, root: abs, files: map[string]*file{}, fset: token.NewFileSet(), byPos: map[string]string{}, decls: map[string][]*decl{},
		embeds: map[string]string{}, locals: map[string][]*ref{}, union: map[string]string{}, tofunc: map[string]bool{}, export: map[string]bool{},
		why: map[string]map[string]bool{}, renloc: map[string]bool{}, xt: map[string]bool{}, done: map[string]bool{}, newImps: map[string]map[string]string{}}
	t.parse()
	t.load()
	t.decide()
	t.checkNames()
	t.makeEdits()
	t.write()
	t.docs()
	t.report()
	if t.fail > 0 {
		fmt.Printf("%d problems\n", t.fail)
		os.Exit(1)
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "gomove:", err)
		os.Exit(2)
	}
}

func (t *tool) problem(format string, a ...any) {
	s := fmt.Sprintf("PROBLEM "+format+"\n", a...)
	if t.told == nil {
		t.told = map[string]bool{}
	}
	if !t.told[s] {
		t.told[s] = true
		t.fail++
		fmt.Print(s)
	}
}

// parse reads every Go file of the module, and what the old packages declare.
func (t *tool) parse() {
	err := filepath.WalkDir(t.root, func(name string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			if n := e.Name(); name != t.root && (strings.HasPrefix(n, ".") || n == "testdata" || n == "node_modules" || n == "fixtures") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		rel, _ := filepath.Rel(t.root, name)
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		f := &file{rel: rel, folder: path.Dir(rel), text: text}
		if f.ast, err = parser.ParseFile(t.fset, name, text, parser.ParseComments|parser.SkipObjectResolution); err != nil {
			return err
		}
		f.tok = t.fset.File(f.ast.FileStart)
		f.pkg = f.ast.Name.Name
		f.old = t.plan.olds[f.folder]
		f.pkgAt, f.pkgEnd = f.off(f.ast.Package), f.off(f.ast.Name.End())
		f.bodyAt = f.pkgEnd
		for _, d := range f.ast.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
				f.bodyAt = f.off(g.End())
			}
		}
		for _, c := range f.ast.Comments {
			for _, l := range c.List {
				if c.Pos() < f.ast.Package && strings.HasPrefix(l.Text, "//go:build") {
					f.build = l.Text
				}
			}
		}
		for _, s := range f.ast.Imports {
			i := imp{path: strings.Trim(s.Path.Value, `"`)}
			if s.Name != nil {
				i.name = s.Name.Name
				i.blank = i.name == "_"
			}
			f.imports = append(f.imports, i)
		}
		t.files[rel] = f
		t.cut(f)
		if f.old {
			t.declare(f)
		}
		return nil
	})
	check(err)
}

func (f *file) off(p token.Pos) int { return f.tok.Offset(p) }

// cut makes the chunks of a file.
func (t *tool) cut(f *file) {
	dst := f.rel
	if d := t.plan.files[f.rel]; d != "" {
		dst = d
	}
	per := t.plan.decls[f.rel]
	used := map[string]bool{}
	at := f.bodyAt
	for _, d := range f.ast.Decls {
		g, _ := d.(*ast.GenDecl)
		if g != nil && g.Tok == token.IMPORT {
			continue
		}
		c := &chunk{f: f, start: at, end: f.lineEnd(f.off(d.End())), dst: dst}
		at = c.end
		f.chunks = append(f.chunks, c)
		if fd, ok := d.(*ast.FuncDecl); ok {
			n := fd.Name.Name
			if fd.Recv != nil {
				n = recvName(fd) + "." + n
			}
			c.names = []string{n}
			if to := per[n]; to != "" {
				c.dst = to
				used[n] = true
			}
			continue
		}
		for i, s := range g.Specs {
			var names []string
			implicit := false
			switch s := s.(type) {
			case *ast.TypeSpec:
				names = []string{s.Name.Name}
			case *ast.ValueSpec:
				for _, n := range s.Names {
					names = append(names, n.Name)
				}
				implicit = g.Tok == token.CONST && (len(s.Values) == 0 || strings.Contains(string(f.text[f.off(s.Pos()):f.off(s.End())]), "iota"))
			}
			c.names = append(c.names, names...)
			to := ""
			for _, n := range names {
				if per[n] != "" {
					to = per[n]
					used[n] = true
				}
			}
			if to == "" || to == dst {
				continue
			}
			if !g.Lparen.IsValid() {
				c.dst = to
				continue
			}
			if implicit {
				// All of the group goes.
				c.dst = to
				continue
			}
			start := f.off(s.Pos())
			if doc := docOf(s); doc != nil {
				start = f.off(doc.Pos())
			}
			// from the beginning of its line
			for start > 0 && f.text[start-1] != '\n' {
				start--
			}
			sub := &chunk{f: f, start: start, end: f.lineEnd(f.off(s.End())), names: names, keyword: g.Tok.String(), dst: to}
			_ = i
			c.holes = append(c.holes, sub)
		}
		if len(c.holes) > 0 && len(c.holes) == len(g.Specs) {
			c.empty = true
		}
	}
	if n := len(f.chunks); n > 0 {
		f.chunks[n-1].end = len(f.text)
	}
	for n := range per {
		if !used[n] {
			t.problem("%s declares no %s", f.rel, n)
		}
	}
}

func docOf(s ast.Spec) *ast.CommentGroup {
	switch s := s.(type) {
	case *ast.TypeSpec:
		return s.Doc
	case *ast.ValueSpec:
		return s.Doc
	}
	return nil
}

func (f *file) lineEnd(off int) int {
	for off < len(f.text) && f.text[off] != '\n' {
		off++
	}
	return min(off+1, len(f.text))
}

func recvName(fd *ast.FuncDecl) string {
	x := fd.Recv.List[0].Type
	for {
		switch y := x.(type) {
		case *ast.StarExpr:
			x = y.X
		case *ast.ParenExpr:
			x = y.X
		case *ast.IndexExpr:
			x = y.X
		case *ast.IndexListExpr:
			x = y.X
		case *ast.Ident:
			return y.Name
		default:
			return "?"
		}
	}
}

func (f *file) chunkAt(off int) *chunk {
	for _, c := range f.chunks {
		if off >= c.start && off < c.end || off == len(f.text) && c.end == off {
			for _, h := range c.holes {
				if off >= h.start && off < h.end {
					return h
				}
			}
			return c
		}
	}
	return nil
}

func (f *file) dstAt(off int) string {
	if c := f.chunkAt(off); c != nil {
		return c.dst
	}
	return f.rel
}

// declare indexes what a file of an old package declares.
func (t *tool) declare(f *file) {
	pk := t.pkgPath(f)
	add := func(key string, id *ast.Ident, kind string, d *decl) {
		if d == nil {
			d = &decl{}
		}
		d.key, d.f, d.off, d.name, d.kind = key, f, f.off(id.Pos()), id.Name, kind
		t.byPos[fmt.Sprintf("%s:%d", f.rel, d.off)] = key
		t.decls[key] = append(t.decls[key], d)
	}
	var fields func(prefix string, x ast.Node)
	fields = func(prefix string, x ast.Node) {
		if x == nil {
			return
		}
		ast.Inspect(x, func(n ast.Node) bool {
			var list *ast.FieldList
			switch n := n.(type) {
			case *ast.FuncType, *ast.FuncLit:
				return false
			case *ast.StructType:
				list = n.Fields
			case *ast.InterfaceType:
				list = n.Methods
			default:
				return true
			}
			for _, fl := range list.List {
				if len(fl.Names) == 0 {
					x := fl.Type
					if st, ok := x.(*ast.StarExpr); ok {
						x = st.X
					}
					if id, ok := x.(*ast.Ident); ok { // the field has the name of the type
						t.byPos[fmt.Sprintf("%s:%d", f.rel, f.off(id.Pos()))] = pk + "." + id.Name
					}
				}
				for _, id := range fl.Names {
					add(prefix+"."+id.Name, id, "field", &decl{parent: prefix})
				}
				if len(fl.Names) > 0 {
					fields(prefix+"."+fl.Names[0].Name, fl.Type)
				}
			}
			return false
		})
	}
	for _, d := range f.ast.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				if d.Name.Name == "init" || d.Name.Name == "_" {
					continue
				}
				add(pk+"."+d.Name.Name, d.Name, "func", &decl{fd: d})
				continue
			}
			ty := pk + "." + recvName(d)
			add(ty+"."+d.Name.Name, d.Name, "method", &decl{fd: d, recv: ty, parent: ty})
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					add(pk+"."+s.Name.Name, s.Name, "type", nil)
					fields(pk+"."+s.Name.Name, s.Type)
				case *ast.ValueSpec:
					for _, id := range s.Names {
						if id.Name == "_" {
							continue
						}
						add(pk+"."+id.Name, id, d.Tok.String(), nil)
						if s.Type != nil {
							fields(pk+"."+id.Name, s.Type)
						}
						for _, v := range s.Values {
							fields(pk+"."+id.Name, v)
						}
					}
				}
			}
		}
	}
}

func (t *tool) pkgPath(f *file) string {
	p := t.plan.path(f.folder)
	if strings.HasSuffix(f.pkg, "_test") {
		p += "_test"
	}
	return p
}

// load type-checks the module for each system and collects references.
func (t *tool) load() {
	systems := []string{"linux/amd64", "darwin/arm64", "windows/amd64"}
	if *quick {
		systems = systems[:1]
	}
	for _, s := range systems {
		t.loadFor(s, false)
	}
	if !*quick {
		// What none of them has: the rest is checked from the source alone.
		left := false
		for _, f := range t.files {
			if f.old && !t.done[f.rel] && f.build != "//go:build ignore" {
				left = true
			}
		}
		if left {
			t.loadFor("linux/arm64", true)
			t.loadFor("linux/riscv64", true)
			t.loadFor("freebsd/amd64", true)
		}
	}
	for rel, f := range t.files {
		if f.old && !t.done[rel] {
			fmt.Printf("note: %s was seen by no type checker\n", rel)
		}
	}
}

func (t *tool) loadFor(system string, onlyOld bool) {
	osName, arch, _ := strings.Cut(system, "/")
	mode := packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedTypesSizes
	var patterns []string
	want := map[string]bool{}
	for d := range t.plan.olds {
		want[t.plan.path(d)] = true
	}
	folders := map[string]bool{}
	for _, f := range t.files {
		if f.old {
			folders[f.folder] = true
		}
		for _, i := range f.imports {
			if want[i.path] && !*self && f.build != "//go:build ignore" {
				folders[f.folder] = true
			}
		}
	}
	for d := range folders {
		patterns = append(patterns, "./"+d)
	}
	if onlyOld {
		mode |= packages.NeedDeps
		patterns = nil
		for d := range t.plan.olds {
			patterns = append(patterns, "./"+d)
		}
	} else {
		mode |= packages.NeedExportFile
	}
	fset := token.NewFileSet()
	cfg := &packages.Config{Mode: mode, Dir: t.root, Tests: !onlyOld, Fset: fset,
		Env: append(os.Environ(), "GOOS="+osName, "GOARCH="+arch, "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")}
	pkgs, err := packages.Load(cfg, patterns...)
	check(err)
	// test variants first: they have all files
	sort.SliceStable(pkgs, func(i, j int) bool { return len(pkgs[i].Syntax) > len(pkgs[j].Syntax) })
	seen := 0
	for _, p := range pkgs {
		if strings.HasSuffix(p.ID, ".test") {
			continue
		}
		for _, e := range p.Errors {
			if !onlyOld {
				t.problem("%s: %v", system, e)
			}
		}
		for i, a := range p.Syntax {
			name := p.CompiledGoFiles[i]
			rel, err := filepath.Rel(t.root, name)
			if err != nil || t.files[rel] == nil || t.done[rel] {
				continue
			}
			t.done[rel] = true
			seen++
			c := &collector{t: t, f: t.files[rel], fset: fset, p: p, info: p.TypesInfo}
			c.file(a)
		}
	}
	for _, p := range pkgs {
		t.interfaces(p, fset)
	}
	fmt.Printf("%s: %d files\n", system, seen)
}

type collector struct {
	t     *tool
	f     *file
	fset  *token.FileSet
	p     *packages.Package
	info  *types.Info
	stack []ast.Node
}

func (t *tool) keyAt(fset *token.FileSet, pos token.Pos) (key string, local bool) {
	if !pos.IsValid() {
		return "", false
	}
	at := fset.Position(pos)
	rel, err := filepath.Rel(t.root, at.Filename)
	if err != nil {
		return "", false
	}
	f := t.files[rel]
	if f == nil {
		return "", false
	}
	if at.Line > f.tok.LineCount() {
		return "", false
	}
	off := f.tok.Offset(f.tok.LineStart(at.Line)) + at.Column - 1
	at2 := fmt.Sprintf("%s:%d", rel, off)
	if key := t.byPos[at2]; key != "" {
		return key, false
	}
	return at2, true
}

func origin(o types.Object) types.Object {
	switch o := o.(type) {
	case *types.Var:
		return o.Origin()
	case *types.Func:
		return o.Origin()
	}
	return o
}

func (c *collector) off(p token.Pos) int { return c.fset.Position(p).Offset }

func isPkgLevel(o types.Object) bool {
	return o.Pkg() != nil && o.Parent() == o.Pkg().Scope()
}

func (c *collector) file(a *ast.File) {
	handled := map[*ast.Ident]bool{}
	inner := func(pos token.Pos) *types.Scope {
		return c.p.Types.Scope().Innermost(pos)
	}
	var fn []*ast.FuncDecl
	_ = fn
	ast.Inspect(a, func(n ast.Node) bool {
		if n == nil {
			c.stack = c.stack[:len(c.stack)-1]
			return true
		}
		c.stack = append(c.stack, n)
		switch n := n.(type) {
		case *ast.ImportSpec:
			return true
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok {
				if pn, ok := c.info.Uses[x].(*types.PkgName); ok {
					handled[x], handled[n.Sel] = true, true
					if o := c.info.Uses[n.Sel]; o != nil {
						key, local := c.t.keyAt(c.fset, origin(o).Pos())
						if key != "" && !local {
							c.t.refs = append(c.t.refs, &ref{f: c.f, off: c.off(n.Pos()), end: c.off(n.End()), key: key, pkgLevel: true, scope: inner(n.Pos()), pos: n.Pos()})
							return true
						}
					}
					c.f.uses = append(c.f.uses, pkguse{c.off(x.Pos()), x.Name, pn.Imported().Path()})
					return true
				}
			}
			sel := c.info.Selections[n]
			if sel == nil {
				return true
			}
			key, local := c.t.keyAt(c.fset, origin(sel.Obj()).Pos())
			if key == "" || local {
				return true
			}
			handled[n.Sel] = true
			// implicit embedded fields on the way
			var way []string
			ty := sel.Recv()
			for _, i := range sel.Index()[:len(sel.Index())-1] {
				if ptr, ok := ty.Underlying().(*types.Pointer); ok {
					ty = ptr.Elem()
				}
				st, ok := ty.Underlying().(*types.Struct)
				if !ok {
					break
				}
				fl := st.Field(i)
				way = append(way, fl.Name()+"\x00"+c.t.typeKeyOf(c.fset, fl.Type()))
				ty = fl.Type()
			}
			if _, isFunc := sel.Obj().(*types.Func); isFunc && sel.Kind() == types.MethodVal {
				r := &ref{f: c.f, off: c.off(n.Sel.Pos()), end: c.off(n.Sel.End()), key: key, scope: inner(n.Pos()), pos: n.Pos()}
				parent := c.stack[len(c.stack)-2]
				if ce, ok := parent.(*ast.CallExpr); ok && ce.Fun == n {
					fnc := sel.Obj().(*types.Func)
					sig := fnc.Type().(*types.Signature)
					k := &call{f: c.f, key: key, off: c.off(n.Pos()), end: c.off(n.End()), xoff: c.off(n.X.Pos()), xend: c.off(n.X.End()), lparen: c.off(ce.Lparen), nargs: len(ce.Args), path: way, scope: r.scope, pos: n.Pos()}
					if len(ce.Args) > 0 {
						k.arg0End = c.off(ce.Args[0].End())
					}
					if sig.Params().Len() > 0 && sig.Params().At(0).Type().String() == "context.Context" {
						k.ctxFirst = true
					}
					if sig.Recv() != nil {
						_, k.ptrRecv = sig.Recv().Type().(*types.Pointer)
					}
					if len(way) == 0 {
						_, k.xptr = c.info.TypeOf(n.X).Underlying().(*types.Pointer)
					} else {
						_, k.xptr = ty.Underlying().(*types.Pointer)
					}
					c.t.calls = append(c.t.calls, k)
					r.end = -r.end // belongs to a call
				} else {
					r.value = &methodValue{off: c.off(n.Pos()), end: c.off(n.End()), xoff: c.off(n.X.Pos()), xend: c.off(n.X.End()), sig: sel.Obj().Type().(*types.Signature), way: way}
				}
				c.t.refs = append(c.t.refs, r)
				return true
			}
			if sel.Kind() == types.MethodExpr {
				c.t.refs = append(c.t.refs, &ref{expr: &span{c.off(n.Pos()), c.off(n.End())}, f: c.f, off: c.off(n.Sel.Pos()), end: c.off(n.Sel.End()), key: key, scope: inner(n.Pos()), pos: n.Pos()})
				return true
			}
			c.t.refs = append(c.t.refs, &ref{f: c.f, off: c.off(n.Sel.Pos()), end: c.off(n.Sel.End()), key: key, scope: inner(n.Pos()), pos: n.Pos()})
			return true
		case *ast.CompositeLit:
			c.literal(n)
		case *ast.Ident:
			if handled[n] || n.Name == "_" {
				return true
			}
			o := c.info.Uses[n]
			def := false
			if o == nil {
				o = c.info.Defs[n]
				def = true
			}
			if o == nil { // the symbol of a type switch
				if key, local := c.t.keyAt(c.fset, n.Pos()); local && c.t.plan.locals[n.Name] != "" {
					c.t.locals[key] = append(c.t.locals[key], &ref{f: c.f, off: c.off(n.Pos()), end: c.off(n.End()), key: key, pos: n.Pos()})
				}
				return true
			}
			if _, ok := o.(*types.PkgName); ok {
				return true
			}
			key, local := c.t.keyAt(c.fset, origin(o).Pos())
			if key == "" {
				return true
			}
			r := &ref{f: c.f, off: c.off(n.Pos()), end: c.off(n.End()), key: key, def: def, scope: inner(n.Pos()), pos: n.Pos()}
			if local {
				if c.t.plan.locals[n.Name] != "" {
					c.t.locals[key] = append(c.t.locals[key], r)
				}
				return true
			}
			if v, ok := o.(*types.Var); ok && v.Embedded() && def {
				return true
			}
			if v, ok := o.(*types.Var); ok && v.Embedded() {
				// a key of a literal: the field's name is the type's
				c.t.refs = append(c.t.refs, r)
				return true
			}
			r.pkgLevel = isPkgLevel(origin(o))
			c.t.refs = append(c.t.refs, r)
		}
		return true
	})
}

// typeKeyOf returns the key of a named type of the old packages.
func (t *tool) typeKeyOf(fset *token.FileSet, ty types.Type) string {
	if p, ok := ty.(*types.Pointer); ok {
		ty = p.Elem()
	}
	if n, ok := types.Unalias(ty).(*types.Named); ok {
		if key, local := t.keyAt(fset, n.Origin().Obj().Pos()); !local {
			return key
		}
	}
	return ""
}

func (c *collector) literal(n *ast.CompositeLit) {
	if len(n.Elts) == 0 {
		return
	}
	if _, ok := n.Elts[0].(*ast.KeyValueExpr); ok {
		return
	}
	ty := c.info.TypeOf(n)
	if ty == nil {
		return
	}
	if p, ok := ty.Underlying().(*types.Pointer); ok {
		ty = p.Elem()
	}
	st, ok := ty.Underlying().(*types.Struct)
	if !ok {
		return
	}
	key := c.t.typeKeyOf(c.fset, ty)
	if key == "" {
		return
	}
	u := &unkeyed{f: c.f, typKey: key}
	for i, e := range n.Elts {
		fl := st.Field(i)
		k, local := c.t.keyAt(c.fset, fl.Origin().Pos())
		if local {
			k = ""
		}
		if fl.Embedded() {
			k = c.t.typeKeyOf(c.fset, fl.Type())
		}
		u.offs = append(u.offs, c.off(e.Pos()))
		u.keys = append(u.keys, k)
		u.names = append(u.names, fl.Name())
	}
	c.t.unk = append(c.t.unk, u)
}

// interfaces ties methods that must have the same name.
func (t *tool) interfaces(p *packages.Package, fset *token.FileSet) {
	if !t.plan.olds[strings.TrimPrefix(strings.TrimPrefix(p.PkgPath, t.plan.module), "/")] {
		return
	}
	var ifaces []*types.Interface
	var named []types.Type
	for _, o := range p.TypesInfo.Defs {
		tn, ok := o.(*types.TypeName)
		if !ok || tn.IsAlias() {
			continue
		}
		if _, ok := tn.Type().(*types.TypeParam); ok {
			continue
		}
		named = append(named, tn.Type())
	}
	for _, tv := range p.TypesInfo.Types {
		if !tv.IsType() {
			continue
		}
		if i, ok := tv.Type.Underlying().(*types.Interface); ok {
			for m := range i.Methods() {
				if !m.Exported() {
					ifaces = append(ifaces, i)
					break
				}
			}
		}
	}
	for _, i := range ifaces {
		for _, n := range named {
			if nn, ok := n.(*types.Named); ok && nn.TypeParams().Len() > 0 {
				continue
			}
			var on types.Type = n
			if !types.Implements(n, i) {
				on = types.NewPointer(n)
				if !types.Implements(on, i) {
					continue
				}
			}
			ms := types.NewMethodSet(on)
			for m := range i.Methods() {
				a, la := t.keyAt(fset, m.Origin().Pos())
				s := ms.Lookup(m.Pkg(), m.Name())
				if s == nil {
					continue
				}
				b, lb := t.keyAt(fset, origin(s.Obj()).Pos())
				if a == "" || b == "" || la || lb {
					continue
				}
				t.unite(a, b)
			}
		}
	}
}

func (t *tool) find(k string) string {
	for t.union[k] != "" && t.union[k] != k {
		k = t.union[k]
	}
	return k
}

func (t *tool) unite(a, b string) {
	a, b = t.find(a), t.find(b)
	if a != b {
		t.union[a] = b
	}
}

// place is where code is: a package, with its external tests apart.
type place struct {
	folder string
	ext    bool
}

func (t *tool) placeOfDst(dst string) place {
	return place{path.Dir(dst), t.xt[dst]}
}

func (t *tool) placeAt(f *file, off int) place { return t.placeOfDst(f.dstAt(off)) }

func (t *tool) defPlace(key string) (place, bool) {
	d := t.decls[key]
	if len(d) == 0 {
		return place{}, false
	}
	first := t.placeAt(d[0].f, d[0].off)
	return first, true
}

func (t *tool) defDst(key string) string {
	d := t.decls[key]
	if len(d) == 0 {
		return ""
	}
	return d[0].f.dstAt(d[0].off)
}

// decide finds which methods become functions, which tests external ones, and
// which names exported.
func (t *tool) decide() {
	for key, ds := range t.decls {
		for _, d := range ds[1:] {
			if path.Dir(d.f.dstAt(d.off)) != path.Dir(ds[0].f.dstAt(ds[0].off)) {
				t.problem("%s goes to %s and to %s", key, ds[0].f.dstAt(ds[0].off), d.f.dstAt(d.off))
			}
		}
		for _, d := range ds {
			if d.kind != "method" {
				continue
			}
			ty := t.decls[d.recv]
			if len(ty) == 0 {
				continue
			}
			_, explicit := t.plan.tofunc[key]
			if explicit || path.Dir(t.defDst(d.recv)) != path.Dir(d.f.dstAt(d.off)) {
				t.tofunc[key] = true
			}
		}
	}
	for key := range t.plan.tofunc {
		if len(t.decls[key]) == 0 {
			t.problem("there is no method %s", key)
		}
	}
	for _, r := range t.refs {
		if r.end < 0 { // a call of a method
			r.end = -r.end
			if t.tofunc[r.key] {
				r.end = 0 // the call does it
			}
		} else if r.expr != nil && t.tofunc[r.key] {
			r.off, r.end, r.pkgLevel = r.expr.off, r.expr.end, true
		} else if r.value != nil && t.tofunc[r.key] {
			r.off, r.end, r.pkgLevel = r.value.off, r.value.end, true
		} else if t.tofunc[r.key] && !r.def {
			t.problem("%s:%s is used as a value and becomes a function", t.where(r.f, r.off), short(r.key))
		}
	}
	for rel := range t.files {
		f := t.files[rel]
		if strings.HasSuffix(f.pkg, "_test") {
			for _, c := range f.chunks {
				t.xt[c.dst] = true
			}
		}
		if t.plan.xtest[rel] {
			for _, c := range f.chunks {
				t.xt[c.dst] = true
			}
		}
	}
	t.externals()
	t.exports()
}

func (t *tool) where(f *file, off int) string {
	return fmt.Sprintf("%s:%d", f.rel, f.tok.Line(f.tok.Pos(off)))
}

func short(key string) string {
	return key[strings.LastIndex(key, "/")+1:]
}

// each calls fn for every use of a name at a place.
func (t *tool) each(fn func(f *file, off int, key string, sel bool)) {
	for _, r := range t.refs {
		if !r.def && r.end != 0 {
			fn(r.f, r.off, r.key, !r.pkgLevel)
		}
	}
	for _, c := range t.calls {
		if t.tofunc[c.key] {
			fn(c.f, c.off, c.key, false)
			for _, w := range c.path {
				if _, k, _ := strings.Cut(w, "\x00"); k != "" {
					fn(c.f, c.off, k, true)
				}
			}
		}
	}
	for _, u := range t.unk {
		from := t.placeAt(u.f, u.offs[0]).folder
		if d, ok := t.defPlace(u.typKey); ok && d != t.placeAt(u.f, u.offs[0]) && from != "" {
			for i, k := range u.keys {
				if k != "" {
					fn(u.f, u.offs[i], k, true)
				}
			}
		}
	}
}

func isTest(dst string) bool { return strings.HasSuffix(dst, "_test.go") }

// graph returns the imports among folders that the module's product code has.
func (t *tool) graph() map[string]map[string][]string {
	g := map[string]map[string][]string{}
	add := func(a, b, why string) {
		if a == b {
			return
		}
		if g[a] == nil {
			g[a] = map[string][]string{}
		}
		g[a][b] = append(g[a][b], why)
	}
	t.each(func(f *file, off int, key string, sel bool) {
		dst := f.dstAt(off)
		if isTest(dst) || sel {
			return
		}
		d := t.defDst(key)
		if d == "" || isTest(d) {
			return
		}
		to := path.Dir(d)
		if q, viaAlias := t.viaAlias(key, path.Dir(dst)); viaAlias {
			to = q
		}
		add(path.Dir(dst), to, short(key)+" "+path.Base(dst))
	})
	for key, facade := range t.plan.alias {
		if d := t.defDst(key); d != "" {
			add(strings.TrimPrefix(facade, t.plan.module+"/"), path.Dir(d), "alias")
		}
	}
	for _, f := range t.files {
		for _, u := range f.uses {
			dst := f.dstAt(u.off)
			if to, ok := strings.CutPrefix(u.path, t.plan.module+"/"); ok && !isTest(dst) {
				add(path.Dir(dst), to, u.path)
			}
		}
	}
	return g
}

// viaAlias returns the facade that code in a folder takes a name from.
func (t *tool) viaAlias(key, folder string) (string, bool) {
	facade := t.plan.alias[key]
	if facade == "" {
		return "", false
	}
	facade = strings.TrimPrefix(facade, t.plan.module+"/")
	if strings.HasPrefix(folder+"/", facade+"/") && folder != facade {
		return "", false
	}
	if path.Dir(t.defDst(key)) == facade {
		return "", false
	}
	return facade, true
}

func reach(g map[string]map[string][]string, from string) map[string]bool {
	seen := map[string]bool{from: true}
	todo := []string{from}
	for len(todo) > 0 {
		at := todo[0]
		todo = todo[1:]
		for to := range g[at] {
			if !seen[to] {
				seen[to] = true
				todo = append(todo, to)
			}
		}
	}
	return seen
}

func (t *tool) externals() {
	g := t.graph()
	t.cycles(g)
	reached := map[string]map[string]bool{}
	for {
		changed := false
		mark := func(dst, why string) {
			if !t.xt[dst] && isTest(dst) {
				t.xt[dst], changed = true, true
				fmt.Printf("external test: %s (%s)\n", dst, why)
			}
		}
		look := func(dst, to, why string) {
			folder := path.Dir(dst)
			if to == folder || !isTest(dst) || t.xt[dst] {
				return
			}
			if reached[to] == nil {
				reached[to] = reach(g, to)
			}
			if reached[to][folder] {
				mark(dst, why)
			}
		}
		t.each(func(f *file, off int, key string, sel bool) {
			dst := f.dstAt(off)
			d := t.defDst(key)
			if !isTest(dst) || d == "" || sel {
				return
			}
			if q, ok := t.viaAlias(key, path.Dir(dst)); ok {
				look(dst, q, short(key))
				return
			}
			look(dst, path.Dir(d), short(key))
			if path.Dir(d) == path.Dir(dst) && isTest(d) && t.xt[d] {
				mark(dst, short(key))
			}
		})
		for _, f := range t.files {
			for _, u := range f.uses {
				if to, ok := strings.CutPrefix(u.path, t.plan.module+"/"); ok {
					look(f.dstAt(u.off), to, u.path)
				}
			}
		}
		if !changed {
			return
		}
	}
}

func (t *tool) cycles(g map[string]map[string][]string) {
	var folders []string
	for a := range g {
		folders = append(folders, a)
	}
	sort.Strings(folders)
	if *ties {
		for _, a := range folders {
			var bs []string
			for b := range g[a] {
				bs = append(bs, b)
			}
			sort.Strings(bs)
			for _, b := range bs {
				if t.takesPart(a) && t.takesPart(b) {
					fmt.Printf("tie %s -> %s: %s\n", a, b, few(g[a][b], 400))
				}
			}
		}
	}
	for _, a := range folders {
		var bs []string
		for b := range g[a] {
			bs = append(bs, b)
		}
		sort.Strings(bs)
		for _, b := range bs {
			if reach(g, b)[a] {
				t.problem("circle: %s -> %s: %s", a, b, few(g[a][b], 12))
			}
		}
	}
}

func (t *tool) takesPart(folder string) bool {
	for o := range t.plan.olds {
		if folder == o || strings.HasPrefix(folder, o+"/") {
			return true
		}
	}
	return false
}

func few(list []string, n int) string {
	seen := map[string]int{}
	var out []string
	for _, s := range list {
		if seen[s]++; seen[s] == 1 {
			out = append(out, s)
		}
	}
	sort.Strings(out)
	if len(out) > n {
		return strings.Join(out[:n], ", ") + fmt.Sprintf(" and %d more", len(out)-n)
	}
	return strings.Join(out, ", ")
}

func (t *tool) exports() {
	t.each(func(f *file, off int, key string, sel bool) {
		dst := f.dstAt(off)
		use := t.placeOfDst(dst)
		def, ok := t.defPlace(key)
		if !ok {
			return
		}
		if q, via := t.viaAlias(key, use.folder); via {
			_ = q
			t.need(key, dst)
			return
		}
		if use == def {
			return
		}
		d := t.defDst(key)
		if isTest(d) && (use.folder != def.folder || def.ext && !use.ext) {
			t.problem("%s uses %s of the test %s", dst, short(key), d)
		}
		t.need(key, dst)
	})
	for key := range t.plan.alias {
		if len(t.decls[key]) == 0 {
			t.problem("alias: there is no %s", key)
		}
		t.need(key, "alias")
	}
	// unions
	groups := map[string][]string{}
	for k := range t.union {
		r := t.find(k)
		groups[r] = append(groups[r], k)
	}
	for r, ks := range groups {
		ks = append(ks, r)
		any := false
		folder := ""
		for _, k := range ks {
			if t.export[k] {
				any = true
			}
			d, ok := t.defPlace(k)
			if ok && folder != "" && folder != d.folder {
				any = true
			}
			if ok {
				folder = d.folder
			}
		}
		if any {
			for _, k := range ks {
				t.need(k, "interface")
			}
		}
	}
}

func (t *tool) need(key, dst string) {
	d := t.decls[key]
	if len(d) == 0 {
		return
	}
	t.export[key] = true
	if t.why[key] == nil {
		t.why[key] = map[string]bool{}
	}
	t.why[key][dst] = true
}

func exported(name string) string {
	r := []rune(name)
	n := 0
	for n < len(r) && !unicode.IsUpper(r[n]) && r[n] != '_' {
		n++
	}
	switch string(r[:n]) {
	case "id", "fs", "sha", "crc", "json":
		return strings.ToUpper(string(r[:n])) + string(r[n:])
	}
	r[0] = unicode.ToUpper(r[0])
	return string(r)
}

func (t *tool) newName(key string) string {
	d := t.decls[key]
	if len(d) == 0 {
		return key[strings.LastIndex(key, ".")+1:]
	}
	if n := t.plan.renames[key]; n != "" {
		return n
	}
	if n := t.plan.tofunc[key]; n != "" {
		if t.export[key] {
			return exported(n)
		}
		return n
	}
	// one renamed renames what must have the same name
	if t.export[key] {
		return exported(d[0].name)
	}
	return d[0].name
}

// checkNames looks for names that are taken.
func (t *tool) checkNames() {
	for key := range t.plan.renames {
		if len(t.decls[key]) == 0 {
			t.problem("rename: there is no %s", key)
		}
	}
	taken := map[string]string{}
	var keys []string
	for key := range t.decls {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	for _, key := range keys {
		d := t.decls[key][0]
		at, _ := t.defPlace(key)
		in := fmt.Sprint(at.folder, at.ext)
		if d.parent != "" && !t.tofunc[key] {
			in = d.parent
		}
		in += "." + t.newName(key)
		if o := taken[in]; o != "" && o != key {
			t.problem("%s and %s are both %s", short(o), short(key), in)
		}
		taken[in] = key
	}
}

func taken(scope *types.Scope, pos token.Pos, name string) types.Object {
	if scope == nil {
		return nil
	}
	_, o := scope.LookupParent(name, pos)
	if o == nil || o.Pkg() == nil || isPkgLevel(o) {
		return nil
	}
	if _, ok := o.(*types.PkgName); ok {
		return nil
	}
	return o
}

// qualifier returns what stands before a name of a folder, with the dot.
func (t *tool) qualifier(dst, folder string) string {
	p := t.plan.path(folder)
	m := t.newImps[dst]
	if m == nil {
		m = map[string]string{}
		t.newImps[dst] = m
	}
	if m[p] == "" {
		name := t.plan.pkgName(folder)
		if n := t.plan.imports[p]; n != "" {
			name = n
		}
		m[p] = name
	}
	return m[p] + "."
}

func (t *tool) fixLocal(f *file, off int, scope *types.Scope, pos token.Pos, name string) {
	o := taken(scope, pos, name)
	if o == nil {
		return
	}
	if t.plan.locals[name] == "" {
		t.problem("%s: %q is a local name there (local %s NEW)", t.where(f, off), name, name)
		return
	}
	// find it among the locals of this file
	for key, list := range t.locals {
		if list[0].f != f {
			continue
		}
		for _, r := range list {
			if r.key == key && r.pos == o.Pos() || r.def && r.pos == o.Pos() {
				t.renloc[key] = true
				return
			}
		}
	}
	t.problem("%s: the local %q was not found", t.where(f, off), name)
}

func (f *file) edit(off, end int, text func() string) {
	f.edits = append(f.edits, &edit{off, end, text})
}

// name returns how a place writes a package-level name.
func (t *tool) name(f *file, off int, key string, scope *types.Scope, pos token.Pos) string {
	dst := f.dstAt(off)
	use := t.placeOfDst(dst)
	def, _ := t.defPlace(key)
	n := t.newName(key)
	if q, via := t.viaAlias(key, use.folder); via {
		if q == use.folder && !use.ext {
			return n
		}
		qual := t.qualifier(dst, q)
		t.fixLocal(f, off, scope, pos, strings.TrimSuffix(qual, "."))
		return qual + n
	}
	if use == def {
		if d := t.decls[key]; len(d) > 0 && d[0].name != n {
			t.fixLocal(f, off, scope, pos, n)
		}
		return n
	}
	qual := t.qualifier(dst, def.folder)
	t.fixLocal(f, off, scope, pos, strings.TrimSuffix(qual, "."))
	return qual + n
}

func (t *tool) makeEdits() {
	for _, r := range t.refs {
		if r.end == 0 {
			continue
		}
		r := r
		var text string
		if r.pkgLevel && !r.def {
			text = t.name(r.f, r.off, r.key, r.scope, r.pos)
		} else {
			text = t.newName(r.key)
		}
		if r.value != nil && t.tofunc[r.key] {
			name := text
			r.f.edit(r.off, r.end, func() string { return t.closure(r.f, name, r.value) })
			continue
		}
		if string(r.f.text[r.off:r.end]) != text {
			r.f.edit(r.off, r.end, func() string { return text })
		}
	}
	for _, k := range t.calls {
		if !t.tofunc[k.key] {
			continue
		}
		k := k
		name := t.name(k.f, k.off, k.key, k.scope, k.pos)
		x := func() string {
			s := t.render(k.f, k.xoff, k.xend, true)
			for _, w := range k.path {
				n, key, _ := strings.Cut(w, "\x00")
				if key != "" {
					n = t.newName(key)
				}
				s += "." + n
			}
			switch {
			case k.ptrRecv && !k.xptr:
				s = "&" + s
			case !k.ptrRecv && k.xptr:
				s = "*" + s
			}
			return s
		}
		k.f.edit(k.off, k.end, func() string { return name })
		if k.ctxFirst && k.nargs > 0 {
			k.f.edit(k.arg0End, k.arg0End, func() string { return ", " + x() })
		} else {
			k.f.edit(k.lparen, k.lparen+1, func() string {
				if k.nargs > 0 {
					return "(" + x() + ", "
				}
				return "(" + x()
			})
		}
	}
	for key := range t.tofunc {
		for _, d := range t.decls[key] {
			t.functionOf(d)
		}
	}
	for _, u := range t.unk {
		if d, ok := t.defPlace(u.typKey); !ok || d == t.placeAt(u.f, u.offs[0]) {
			continue
		}
		for i, off := range u.offs {
			n := u.names[i]
			if u.keys[i] != "" {
				n = t.newName(u.keys[i])
			}
			u.f.edit(off, off, func() string { return n + ": " })
		}
	}
	for key := range t.renloc {
		for _, r := range t.locals[key] {
			old := string(r.f.text[r.off:r.end])
			r.f.edit(r.off, r.end, func() string { return t.plan.locals[old] })
		}
	}
	t.comments()
}

func (t *tool) functionOf(d *decl) {
	f, fd := d.f, d.fd
	r := fd.Recv.List[0]
	f.edit(f.off(fd.Recv.Pos()), f.off(fd.Name.Pos()), func() string { return "" })
	recv := func() string {
		s := t.render(f, f.off(r.Pos()), f.off(r.End()), true)
		if len(r.Names) == 0 {
			s = "_ " + s
		}
		return s
	}
	params := fd.Type.Params
	if len(params.List) > 0 && len(params.List[0].Names) <= 1 {
		first := params.List[0]
		if s, ok := first.Type.(*ast.SelectorExpr); ok && s.Sel.Name == "Context" {
			if len(first.Names) == 0 {
				f.edit(f.off(first.Pos()), f.off(first.Pos()), func() string { return "_ " })
			}
			f.edit(f.off(first.End()), f.off(first.End()), func() string { return ", " + recv() })
			return
		}
	}
	for _, p := range params.List { // all have a name, or none
		if len(p.Names) == 0 {
			f.edit(f.off(p.Pos()), f.off(p.Pos()), func() string { return "_ " })
		}
	}
	f.edit(f.off(params.Opening), f.off(params.Opening)+1, func() string {
		if len(params.List) > 0 {
			return "(" + recv() + ", "
		}
		return "(" + recv()
	})
}

var word = regexp.MustCompile(`[A-Za-z_]\w*`)

// comments renames in comments what was renamed.
func (t *tool) comments() {
	names := map[string]map[string]string{} // old package -> old -> new
	for key, ds := range t.decls {
		d := ds[0]
		n := t.newName(key)
		pk := t.pkgPath(d.f)
		if names[pk] == nil {
			names[pk] = map[string]string{}
		}
		if o, ok := names[pk][d.name]; ok && o != n {
			names[pk][d.name] = "\x00" // ambiguous
			continue
		}
		names[pk][d.name] = n
	}
	for _, f := range t.files {
		if !f.old {
			continue
		}
		own := map[int]string{} // offset of a doc comment's first word
		for _, d := range f.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Doc != nil {
					k := t.pkgPath(f) + "." + d.Name.Name
					if d.Recv != nil {
						k = t.pkgPath(f) + "." + recvName(d) + "." + d.Name.Name
					}
					own[f.off(d.Doc.Pos())+3] = k
				}
			case *ast.GenDecl:
				if d.Doc != nil && len(d.Specs) == 1 {
					own[f.off(d.Doc.Pos())+3] = t.pkgPath(f) + "." + specName(d.Specs[0])
				}
				for _, s := range d.Specs {
					if c := docOf(s); c != nil {
						own[f.off(c.Pos())+3] = t.pkgPath(f) + "." + specName(s)
					}
				}
			}
		}
		m := names[t.pkgPath(f)]
		for _, g := range f.ast.Comments {
			for _, c := range g.List {
				at := f.off(c.Pos())
				for _, loc := range word.FindAllStringIndex(c.Text, -1) {
					w := c.Text[loc[0]:loc[1]]
					n := m[w]
					k := own[at+loc[0]]
					first := k != "" && strings.HasSuffix(k, "."+w)
					if first {
						n = t.newName(k)
					}
					if n == "" || n == w || n == "\x00" {
						continue
					}
					if !first && !strings.ContainsFunc(w[1:], unicode.IsUpper) {
						continue
					}
					if i := at + loc[0]; i > 0 && (f.text[i-1] == '-' || f.text[i-1] == '"' || f.text[i-1] == '/' && i > at+2) {
						continue
					}
					f.edit(at+loc[0], at+loc[1], func() string { return n })
				}
			}
		}
	}
}

func specName(s ast.Spec) string {
	switch s := s.(type) {
	case *ast.TypeSpec:
		return s.Name.Name
	case *ast.ValueSpec:
		return s.Names[0].Name
	}
	return ""
}

// render returns the text of a range with its edits. A part is a range that is
// moved by an edit: what is put in before it is not of it.
func (t *tool) render(f *file, a, b int, part bool) string {
	if !f.sorted {
		sort.SliceStable(f.edits, func(i, j int) bool {
			x, y := f.edits[i], f.edits[j]
			if x.off != y.off {
				return x.off < y.off
			}
			if (x.off == x.end) != (y.off == y.end) {
				return x.off == x.end
			}
			return x.end > y.end
		})
		f.sorted = true
	}
	var out strings.Builder
	at := a
	i := sort.Search(len(f.edits), func(i int) bool { return f.edits[i].off >= a })
	for ; i < len(f.edits); i++ {
		e := f.edits[i]
		if e.off >= b {
			break
		}
		if e.off < at || e.end > b || part && e.off == a && e.end == e.off {
			continue
		}
		out.Write(f.text[at:e.off])
		out.WriteString(e.text())
		at = e.end
	}
	if at < b {
		out.Write(f.text[at:b])
	}
	return out.String()
}

// write makes the files.
func (t *tool) write() {
	type part struct {
		f *file
		c *chunk
	}
	dsts := map[string][]part{}
	var rels []string
	for rel := range t.files {
		rels = append(rels, rel)
	}
	sort.Strings(rels)
	for _, rel := range rels {
		f := t.files[rel]
		for _, c := range f.chunks {
			if !c.empty {
				dsts[c.dst] = append(dsts[c.dst], part{f, c})
			}
			for _, h := range c.holes {
				dsts[h.dst] = append(dsts[h.dst], part{f, h})
			}
		}
		if len(f.chunks) == 0 {
			to := f.rel
			if d := t.plan.files[rel]; d != "" {
				to = d
			}
			dsts[to] = append(dsts[to], part{f, nil})
		}
	}
	top := map[place]map[string]bool{} // names of each package level
	for _, f := range t.files {
		for _, c := range f.chunks {
			for _, c := range append(c.holes, c) {
				for _, n := range c.names {
					if strings.Contains(n, ".") && !t.tofunc[t.pkgPath(f)+"."+n] {
						continue
					}
					if f.old {
						n = t.newName(t.pkgPath(f) + "." + n)
					}
					at := t.placeOfDst(c.dst)
					if top[at] == nil {
						top[at] = map[string]bool{}
					}
					top[at][n] = true
				}
			}
		}
	}
	for dst, m := range t.newImps {
		for _, n := range m {
			if top[t.placeOfDst(dst)][n] {
				t.problem("%s imports %s, a name of its package", dst, n)
			}
		}
	}
	out := map[string][]byte{}
	for dst, parts := range dsts {
		// who brings the header
		var head *file
		for _, p := range parts {
			if t.plan.files[p.f.rel] == dst || p.f.rel == dst {
				head = p.f
				break
			}
		}
		changed := t.xt[dst] && !strings.HasSuffix(parts[0].f.pkg, "_test")
		for _, p := range parts {
			changed = changed || p.f.rel != dst || len(p.f.edits) > 0
		}
		if head != nil {
			all := head.chunks
			n := 0
			for _, p := range parts {
				if p.f == head {
					n++
				}
			}
			changed = changed || n != len(all) && len(all) > 0
		}
		if !changed {
			continue
		}
		var b strings.Builder
		pkg := t.plan.pkgName(path.Dir(dst))
		if path.Dir(dst) == "cmd/hank" || head != nil && path.Dir(head.rel) == path.Dir(dst) {
			pkg = strings.TrimSuffix(parts[0].f.pkg, "_test")
		}
		if t.xt[dst] {
			pkg += "_test"
		}
		if head != nil && (path.Dir(head.rel) == path.Dir(dst) || head.ast.Doc == nil) {
			b.WriteString(t.render(head, 0, head.pkgAt, false))
		} else {
			build := parts[0].f.build
			if head != nil {
				build = head.build
			}
			if build != "" {
				b.WriteString(build + "\n\n")
			}
		}
		b.WriteString("package " + pkg + "\n\n")
		imps := map[string]string{} // name -> spec
		var order []string
		addImp := func(name, p string, explicit bool) {
			spec := fmt.Sprintf("%q", p)
			if explicit {
				spec = name + " " + spec
			}
			if o, ok := imps[name]; ok && name != "_" {
				if !strings.HasSuffix(o, fmt.Sprintf("%q", p)) {
					t.problem("%s imports %s and %s under one name", dst, o, spec)
				}
				return
			}
			if name != "_" {
				imps[name] = spec
			}
			order = append(order, spec)
		}
		files := map[*file]bool{}
		var body strings.Builder
		for _, p := range parts {
			f := p.f
			if p.c == nil {
				body.Write(f.text[f.bodyAt:])
				for _, i := range f.imports {
					addImp(i.name, i.path, i.name != "")
				}
				continue
			}
			files[f] = true
			for _, u := range f.uses {
				if f.chunkAt(u.off) != p.c {
					continue
				}
				explicit := false
				for _, i := range f.imports {
					if i.path == u.path && i.name == u.name {
						explicit = true
					}
				}
				addImp(u.name, u.path, explicit)
			}
			if p.c.keyword != "" {
				body.WriteString("\n")
				s := strings.TrimRight(t.render(f, p.c.start, p.c.end, false), "\n")
				// the keyword goes before the name, behind the comment
				lines := strings.Split(s, "\n")
				for i, l := range lines {
					if l = strings.TrimLeft(l, "\t"); !strings.HasPrefix(l, "//") {
						lines[i] = p.c.keyword + " " + l
						break
					}
				}
				body.WriteString(strings.Join(lines, "\n") + "\n")
				continue
			}
			at := p.c.start
			for _, h := range p.c.holes {
				body.WriteString(t.render(f, at, h.start, false))
				at = h.end
			}
			s := t.render(f, at, p.c.end, false)
			if body.Len() > 0 && !strings.HasSuffix(body.String(), "\n\n") && !strings.HasPrefix(s, "\n") {
				body.WriteString("\n")
			}
			body.WriteString(s)
		}
		for f := range files {
			for _, i := range f.imports {
				if i.blank && (f == head) {
					addImp("_", i.path, true)
				}
			}
		}
		var news []string
		for p := range t.newImps[dst] {
			news = append(news, p)
		}
		sort.Strings(news)
		for _, p := range news {
			name := t.newImps[dst][p]
			addImp(name, p, name != t.plan.pkgName(strings.TrimPrefix(p, t.plan.module+"/")))
		}
		b.WriteString(importBlock(order, t.plan.module))
		b.WriteString(body.String())
		src, err := format.Source([]byte(b.String()))
		if err != nil {
			t.problem("%s: %v", dst, err)
			src = []byte(b.String())
		}
		out[dst] = src
	}
	for facade, text := range t.aliases() {
		src, err := format.Source([]byte(text))
		if err != nil {
			t.problem("%s: %v", facade, err)
			src = []byte(text)
		}
		out[facade+"/aliases.go"] = src
	}
	t.out = out
	for rel := range t.files {
		if _, stays := dsts[rel]; !stays {
			t.gone = append(t.gone, rel)
		}
	}
	if *dry {
		return
	}
	for dst, src := range out {
		check(os.MkdirAll(filepath.Join(t.root, path.Dir(dst)), 0o755))
		check(os.WriteFile(filepath.Join(t.root, dst), src, 0o644))
	}
	for _, rel := range t.gone {
		check(os.Remove(filepath.Join(t.root, rel)))
	}
}

func gofmted(s string) string {
	if b, err := format.Source([]byte(s)); err == nil {
		return string(b)
	}
	return s
}

func importBlock(specs []string, module string) string {
	if len(specs) == 0 {
		return ""
	}
	groups := make([][]string, 3)
	for _, s := range specs {
		p := strings.Trim(s[strings.Index(s, `"`):], `"`)
		g := 0
		if p == module || strings.HasPrefix(p, module+"/") {
			g = 2
		} else if strings.Contains(strings.SplitN(p, "/", 2)[0], ".") {
			g = 1
		}
		groups[g] = append(groups[g], s)
	}
	if len(specs) == 1 {
		return "import " + specs[0] + "\n"
	}
	var b strings.Builder
	b.WriteString("import (\n")
	first := true
	for _, g := range groups {
		if len(g) == 0 {
			continue
		}
		if !first {
			b.WriteString("\n")
		}
		first = false
		sort.Slice(g, func(i, j int) bool { return g[i][strings.Index(g[i], `"`):] < g[j][strings.Index(g[j], `"`):] })
		for _, s := range g {
			b.WriteString("\t" + s + "\n")
		}
	}
	b.WriteString(")\n")
	return b.String()
}

// aliases makes the files of the facades.
func (t *tool) aliases() map[string]string {
	by := map[string][]string{}
	for key, facade := range t.plan.alias {
		by[facade] = append(by[facade], key)
	}
	out := map[string]string{}
	for facade, keys := range by {
		folder := strings.TrimPrefix(facade, t.plan.module+"/")
		sort.Strings(keys)
		lines := map[string][]string{}
		imps := map[string]bool{}
		for _, key := range keys {
			d := t.decls[key]
			if len(d) == 0 || path.Dir(t.defDst(key)) == folder {
				continue
			}
			from := path.Dir(t.defDst(key))
			n := t.newName(key)
			imps[fmt.Sprintf("%q", t.plan.path(from))] = true
			if d[0].kind == "func" {
				t.problem("alias: %s is a function", short(key))
			}
			lines[d[0].kind] = append(lines[d[0].kind], fmt.Sprintf("%s = %s.%s", n, t.plan.pkgName(from), n))
		}
		var specs []string
		for i := range imps {
			specs = append(specs, i)
		}
		var b strings.Builder
		b.WriteString("package " + t.plan.pkgName(folder) + "\n\n" + importBlock(specs, t.plan.module) + "\n")
		doc := map[string]string{"type": "// What the packages below declare and callers of this one speak of."}
		for _, kind := range []string{"type", "const", "var"} {
			if len(lines[kind]) > 0 {
				if doc[kind] != "" {
					b.WriteString(doc[kind] + "\n")
				}
				b.WriteString(kind + " (\n\t" + strings.Join(lines[kind], "\n\t") + "\n)\n\n")
			}
		}
		out[folder] = b.String()
	}
	return out
}
