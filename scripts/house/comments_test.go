package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// Renaming leaves no old name behind in a comment.
func TestCommentsNameWhatIsThere(t *testing.T) {
	wrong, err := staleNames(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range wrong {
		t.Error(w)
	}
}

func TestAStaleNameIsReported(t *testing.T) {
	wrong, err := staleNames(fstest.MapFS{
		"a/a.go": {Data: []byte("package a\n\n// Old is f.\nfunc F() {}\n\n// F was oldName: see G, b.OtherName and x.Y.\nvar V = 1\n\n" +
			"// A kind is new.\ntype kind int\n\n// The words of JSON.\nvar w = \"jsonName\" // jsonName\n\n//go:noinline\nfunc g() {}\n")},
		"b/b.go": {Data: []byte("package b\n\n// G is seen: See F, and see that.\nfunc G() {}\n")},
	})
	want := []string{
		"a/a.go:3: the comment of F begins with Old",
		"a/a.go:6: the comment of V begins with F",
		"a/a.go:6: there is no oldName",
		"a/a.go:6: the package has no G",
		"b/b.go:3: the package has no F",
	}
	slices.Sort(want)
	if err != nil || !slices.Equal(wrong, want) {
		t.Errorf("reported: %s, %v", strings.Join(wrong, "\n"), err)
	}
}

// ofOthers are names in comments that are those of others.
var ofOthers = []string{"DeepSeek", "FlushFileBuffers", "GiB", "JavaScript", "ModelInfo", "OpenRouter", "PyPI", "TestMine", "uXXXX", "xAI"}

var (
	words = regexp.MustCompile(`\w+`)
	// oneName is a name of more than one word that is not qualified, and pointer one that a
	// reader is sent to, in the same package.
	oneName = regexp.MustCompile(`(?:^|[^.\w])(\w*[a-z][A-Z]\w*)`)
	pointer = regexp.MustCompile(`\b[Ss]ee (\w*[A-Z]\w*)(?:[^./\w]|[.:]\W|[.:]?$)`)
)

// staleNames reports, of all files but tests, each comment of a declaration that neither
// begins with its name nor with an article, each name of several words that stands in no
// code, and each that a comment points to and the package does not have.
func staleNames(tree fs.FS) (wrong []string, err error) {
	used := map[string]map[string]bool{"": {}} // in which directory; "": in any, strings too
	fset, files := token.NewFileSet(), map[string]*ast.File{}
	err = fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") {
			if err == nil && d.IsDir() && isSkipped(name, d) {
				return fs.SkipDir
			}
			return err
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		dir := path.Dir(name)
		if used[dir] == nil {
			used[dir] = map[string]bool{}
		}
		var s scanner.Scanner
		s.Init(token.NewFileSet().AddFile(name, -1, len(text)), text, nil, 0)
		for _, tok, lit := s.Scan(); tok != token.EOF; _, tok, lit = s.Scan() {
			if tok == token.IDENT {
				used[dir][lit] = true
			}
			for _, w := range words.FindAllString(lit, -1) {
				used[""][w] = true
			}
		}
		if !strings.HasSuffix(name, "_test.go") {
			files[name], err = parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		}
		return err
	})
	for name, f := range files {
		report := func(at token.Pos, format string, args ...any) {
			wrong = append(wrong, fmt.Sprintf("%s:%d: ", name, fset.Position(at).Line)+fmt.Sprintf(format, args...))
		}
		for _, d := range f.Decls {
			declared, doc := declaration(d)
			first, _, _ := strings.Cut(strings.TrimSpace(doc.Text()), " ")
			if first = strings.TrimRight(first, ",:."); first != "" && first != declared && !slices.Contains([]string{"A", "An", "The"}, first) {
				report(doc.Pos(), "the comment of %s begins with %s", declared, first)
			}
		}
		for _, group := range f.Comments {
			for _, c := range group.List {
				for _, m := range oneName.FindAllStringSubmatch(c.Text, -1) {
					if !used[""][m[1]] && !slices.Contains(ofOthers, m[1]) {
						report(c.Pos(), "there is no %s", m[1])
					}
				}
				for _, m := range pointer.FindAllStringSubmatch(c.Text, -1) {
					if !used[path.Dir(name)][m[1]] {
						report(c.Pos(), "the package has no %s", m[1])
					}
				}
			}
		}
	}
	slices.Sort(wrong)
	return slices.Compact(wrong), err
}

// declaration returns the only name that a declaration gives, and its comment.
func declaration(d ast.Decl) (string, *ast.CommentGroup) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		return d.Name.Name, d.Doc
	case *ast.GenDecl:
		if d.Lparen.IsValid() || len(d.Specs) != 1 {
			break
		}
		switch s := d.Specs[0].(type) {
		case *ast.TypeSpec:
			return s.Name.Name, d.Doc
		case *ast.ValueSpec:
			return s.Names[0].Name, d.Doc
		}
	}
	return "", nil
}
