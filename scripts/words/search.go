package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// skipped are directories whose texts users do not see: test data, packages for
// tests, and tools for those who work on hank.
var skipped = []string{"bin", "fixtures", "node_modules", "scripts", "testdata",
	"checkpoint/internal", "internal/hankweave", "internal/modeltest", "runtime/internal"}

// history are documents that quote what was: they are not rewritten.
var history = []string{"docs/ledger.md", "CHANGELOG.md"}

// search finds the phrases of all texts.
func search(tree fs.FS, comments bool) ([]finding, error) {
	var found []finding
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != "." && (strings.HasPrefix(d.Name(), ".") || slices.Contains(skipped, d.Name()) || slices.Contains(skipped, name)) {
				return fs.SkipDir
			}
			return nil
		}
		var read func(name string, text []byte, comments bool) ([]finding, error)
		switch {
		case strings.HasSuffix(name, "_test.go"), slices.Contains(history, name):
			return nil
		case path.Ext(name) == ".go":
			read = literals
		case path.Ext(name) == ".md":
			read = prose
		default:
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		more, err := read(name, text, comments)
		found = append(found, more...)
		return err
	})
	return found, err
}

// literals finds the phrases in the string literals of a Go file, and in its
// comments if they are asked for.
func literals(name string, text []byte, comments bool) ([]finding, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var found []finding
	note := func(s spelled, comment bool) {
		for _, m := range matches(s.text) {
			found = append(found, finding{name, s.line(files, m.offset), m.text, m.instead, comment})
		}
	}
	tags := map[ast.Expr]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			if n.Tag != nil {
				tags[n.Tag] = true
			}
		case ast.Expr:
			if s, ok := spell(n); ok {
				if !tags[n] {
					note(s, false)
				}
				return false
			}
		}
		return true
	})
	if comments {
		for _, group := range file.Comments {
			for _, c := range group.List {
				note(spelled{c.Text, []piece{{0, c.Pos(), true}}}, true)
			}
		}
	}
	return found, nil
}

// spelled is a text that is written as one literal, or as several joined by +.
type spelled struct {
	text   string
	pieces []piece
}

// A piece is a literal of a text.
type piece struct {
	offset int
	at     token.Pos
	raw    bool // its line breaks are those of the file
}

// line is the line of the file with this offset of the text.
func (s spelled) line(files *token.FileSet, offset int) int {
	p := s.pieces[0]
	for _, next := range s.pieces[1:] {
		if next.offset <= offset {
			p = next
		}
	}
	line := files.Position(p.at).Line
	if p.raw {
		line += strings.Count(s.text[p.offset:offset], "\n")
	}
	return line
}

// spell returns the text of an expression that is nothing but string literals.
func spell(e ast.Expr) (spelled, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return spelled{text, []piece{{0, e.Pos(), e.Value[0] == '`'}}}, e.Kind == token.STRING && err == nil
	case *ast.ParenExpr:
		return spell(e.X)
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return spelled{}, false
		}
		x, isText := spell(e.X)
		y, isTextToo := spell(e.Y)
		if !isText || !isTextToo {
			return spelled{}, false
		}
		for _, p := range y.pieces {
			x.pieces = append(x.pieces, piece{p.offset + len(x.text), p.at, p.raw})
		}
		x.text += y.text
		return x, true
	}
	return spelled{}, false
}

// quoted is what a document shows and does not write: code, comments, addresses.
var quoted = regexp.MustCompile("(?s)```.*?```|<!--.*?-->|`[^`\n]*`|\\]\\([^)\n]*\\)")

// prose finds the phrases in the text of a document.
func prose(name string, text []byte, _ bool) ([]finding, error) {
	plain := quoted.ReplaceAllStringFunc(string(text), func(s string) string {
		return regexp.MustCompile(`[^\n]`).ReplaceAllString(s, "\x00") // of the same length, and no part of a phrase
	})
	var found []finding
	for _, m := range matches(plain) {
		found = append(found, finding{file: name, line: 1 + strings.Count(plain[:m.offset], "\n"), text: m.text, instead: m.instead})
	}
	return found, nil
}
