package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A pkg is a package of hank for this system, type-checked, without its tests.
type pkg struct {
	name    string // its directory, as in "state/journal"
	files   []*ast.File
	types   *types.Package
	info    *types.Info
	ignored []string // the paths of its files for other systems
}

// A house is all packages of hank, each after those that it imports.
type house struct {
	fset *token.FileSet
	pkgs []*pkg
	all  map[string]*types.Package // by import path, with those of other modules
}

// load type-checks the packages below root. Those of other modules come from the build
// cache.
func load(root string) (*house, error) {
	type listed struct {
		ImportPath, Dir, Export string
		GoFiles, IgnoredGoFiles []string
		Module                  *struct{ Main bool }
	}
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,IgnoredGoFiles,Module", "./...")
	cmd.Dir = root
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, complaints.String())
	}
	exports := map[string]string{}
	var own []listed
	for d := json.NewDecoder(&out); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if exports[p.ImportPath] = p.Export; p.Module != nil && p.Module.Main {
			own = append(own, p)
		}
	}
	h := &house{fset: token.NewFileSet(), all: map[string]*types.Package{}}
	others := importer.ForCompiler(h.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, p := range own {
		_, name, _ := strings.Cut(p.ImportPath, "/")
		next := &pkg{name: name, info: &types.Info{Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}}
		for _, file := range p.GoFiles {
			f, err := parser.ParseFile(h.fset, filepath.Join(p.Dir, file), nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			next.files = append(next.files, f)
		}
		for _, file := range p.IgnoredGoFiles {
			next.ignored = append(next.ignored, filepath.Join(p.Dir, file))
		}
		var err error
		config := types.Config{Importer: imports{h, others}}
		if next.types, err = config.Check(p.ImportPath, h.fset, next.files, next.info); err != nil {
			return nil, err
		}
		h.pkgs = append(h.pkgs, next)
		h.all[p.ImportPath] = next.types
	}
	return h, nil
}

// imports finds the packages of hank among those that are checked already, so that a name
// is one object wherever it is used.
type imports struct {
	house  *house
	others types.Importer
}

func (i imports) Import(path string) (*types.Package, error) {
	if p := i.house.all[path]; p != nil {
		return p, nil
	}
	p, err := i.others.Import(path)
	if err == nil {
		i.house.all[path] = p
	}
	return p, err
}

// file is the name of the file that a position is in.
func (h *house) file(at token.Pos) string { return filepath.Base(h.fset.Position(at).Filename) }
