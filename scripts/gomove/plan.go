package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// The plan. See README.md for its lines.
type plan struct {
	root    string
	module  string
	files   map[string]string            // source file -> destination file
	decls   map[string]map[string]string // source file -> declaration -> destination file
	renames map[string]string            // key (pkg.Name, pkg.Type.member) -> new name
	locals  map[string]string
	pkgs    map[string]string // folder -> name
	alias   map[string]string // key -> kind (facade file)
	facade  string            // import path that aliases are put in
	aliasTo map[string]bool
	tofunc  map[string]string // key of a method -> function's name ("" the same)
	imports map[string]string // import path -> name to take where the usual one is in use
	xtest   map[string]bool   // source files that become external tests
	olds    map[string]bool   // folders that something is moved out of or within
	texts   [][3]string       // FILE OLD NEW: replacements in other files
}

func readPlan(root, name string) (*plan, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	p := &plan{root: root, files: map[string]string{}, decls: map[string]map[string]string{}, renames: map[string]string{}, locals: map[string]string{},
		pkgs: map[string]string{}, alias: map[string]string{}, aliasTo: map[string]bool{}, tofunc: map[string]string{}, imports: map[string]string{}, xtest: map[string]bool{}, olds: map[string]bool{}}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, err
	}
	p.module = strings.Fields(string(mod))[1]
	for n, line := range strings.Split(string(text), "\n") {
		line, _, _ = strings.Cut(line, "#")
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		bad := fmt.Errorf("%s:%d: %q", name, n+1, line)
		need := func(k int) bool { return len(f) >= k+1 }
		switch f[0] {
		case "old": // old FOLDER...: packages that take part
			for _, d := range f[1:] {
				p.olds[d] = true
			}
		case "file": // file GLOB DST (folder, or a file's name)
			if !need(2) {
				return nil, bad
			}
			matches, _ := filepath.Glob(filepath.Join(root, f[1]))
			if len(matches) == 0 {
				fmt.Printf("note: %s:%d: nothing matches %s\n", filepath.Base(name), n+1, f[1])
			}
			for _, m := range matches {
				rel, _ := filepath.Rel(root, m)
				if _, had := p.files[rel]; had && strings.ContainsAny(f[1], "*?[") {
					continue // the first line wins over a pattern
				}
				dst := f[2]
				if !strings.HasSuffix(dst, ".go") {
					dst = path.Join(dst, filepath.Base(rel))
				}
				p.files[rel] = dst
				p.olds[path.Dir(rel)] = true
			}
		case "decl": // decl FILE NAME... DSTFILE
			if !need(3) {
				return nil, bad
			}
			if p.decls[f[1]] == nil {
				p.decls[f[1]] = map[string]string{}
			}
			for _, d := range f[2 : len(f)-1] {
				p.decls[f[1]][d] = f[len(f)-1]
			}
			p.olds[path.Dir(f[1])] = true
		case "rename": // rename FOLDER NAME|Type.member NEW
			if !need(3) {
				return nil, bad
			}
			p.renames[p.path(f[1])+"."+f[2]] = f[3]
			p.olds[f[1]] = true
		case "local": // local OLD NEW
			p.locals[f[1]] = f[2]
		case "package": // package FOLDER NAME
			p.pkgs[f[1]] = f[2]
		case "alias": // alias FOLDER NAME...
			for _, d := range f[2:] {
				p.alias[p.path(f[1])+"."+d] = p.path(f[1])
			}
		case "func": // func FOLDER Type.Method [NEW]
			to := ""
			if need(3) {
				to = f[3]
			}
			p.tofunc[p.path(f[1])+"."+f[2]] = to
		case "import": // import FOLDER NAME
			p.imports[p.path(f[1])] = f[2]
		case "xtest":
			for _, d := range f[1:] {
				p.xtest[d] = true
			}
		case "text": // text FILE|OLD|NEW
			parts := strings.SplitN(strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "text")), "|", 3)
			if len(parts) != 3 {
				return nil, bad
			}
			p.texts = append(p.texts, [3]string{parts[0], parts[1], parts[2]})
		default:
			return nil, bad
		}
	}
	return p, nil
}

func (p *plan) path(folder string) string {
	if folder == "." || folder == "" {
		return p.module
	}
	return p.module + "/" + folder
}

func (p *plan) pkgName(folder string) string {
	if n := p.pkgs[folder]; n != "" {
		return n
	}
	return path.Base(folder)
}
