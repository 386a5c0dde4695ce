package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"sort"
	"strings"
)

// report prints how large each package has become.
func (t *tool) report() {
	type size struct{ files, lines, names, tfiles, tlines int }
	sizes := map[string]*size{}
	add := func(name string, text []byte) {
		folder := path.Dir(name)
		if !t.takesPart(folder) {
			return
		}
		s := sizes[folder]
		if s == nil {
			s = &size{}
			sizes[folder] = s
		}
		lines := strings.Count(string(text), "\n")
		if isTest(name) {
			s.tfiles++
			s.tlines += lines
			return
		}
		s.files++
		s.lines += lines
		a, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil {
			return
		}
		for _, d := range a.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && (d.Recv == nil || ast.IsExported(recvName(d))) {
					s.names++
				}
			case *ast.GenDecl:
				for _, sp := range d.Specs {
					switch sp := sp.(type) {
					case *ast.TypeSpec:
						if sp.Name.IsExported() {
							s.names++
						}
					case *ast.ValueSpec:
						for _, n := range sp.Names {
							if n.IsExported() {
								s.names++
							}
						}
					}
				}
			}
		}
	}
	gone := map[string]bool{}
	for _, g := range t.gone {
		gone[g] = true
	}
	for rel, f := range t.files {
		if _, new := t.out[rel]; !new && !gone[rel] {
			add(rel, f.text)
		}
	}
	for dst, text := range t.out {
		add(dst, text)
	}
	var folders []string
	for f := range sizes {
		folders = append(folders, f)
	}
	sort.Strings(folders)
	fmt.Printf("%-40s %5s %6s %8s %6s %6s\n", "package", "files", "lines", "exported", "tests", "lines")
	for _, f := range folders {
		s := sizes[f]
		mark := ""
		if s.files > 30 || s.lines > 4000 {
			mark = "  TOO LARGE"
		}
		fmt.Printf("%-40s %5d %6d %8d %6d %6d%s\n", f, s.files, s.lines, s.names, s.tfiles, s.tlines, mark)
	}
	// exported for tests alone
	var only []string
	for key, users := range t.why {
		d := t.decls[key]
		if len(d) == 0 || ast.IsExported(d[0].name) || isTest(t.defDst(key)) {
			continue
		}
		test := true
		for u := range users {
			test = test && isTest(u)
		}
		if test {
			var us []string
			for u := range users {
				us = append(us, path.Base(path.Dir(u))+"/"+path.Base(u))
			}
			sort.Strings(us)
			only = append(only, fmt.Sprintf("%s (%s)", short(key), strings.Join(us, " ")))
		}
	}
	sort.Strings(only)
	fmt.Printf("%d names are exported for tests only\n", len(only))
	if *ties {
		for _, o := range only {
			fmt.Println("  " + o)
		}
	}
}
