package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
)

// docs rewrites what names places: docs/durability.md and the other pages, the
// list of faults, the scripts, and the seam test; and moves test data.
func (t *tool) docs() {
	if *dry {
		return
	}
	t.testdata()
	pages, _ := filepath.Glob(filepath.Join(t.root, "docs", "*.md"))
	pages = append(pages, filepath.Join(t.root, "README.md"))
	for _, p := range pages {
		if path.Base(p) != "ledger.md" { // the ledger says what was
			t.rewrite(p, t.page)
		}
	}
	t.rewrite(filepath.Join(t.root, "scripts", "prove"), t.script)
	t.rewrite(filepath.Join(t.root, "scripts", "test"), t.script)
	t.rewrite(filepath.Join(t.root, "scripts", "faults", "faults.txt"), t.faults)
	t.rewrite(filepath.Join(t.root, "internal", "vfs", "seam_test.go"), t.seam)
	for _, x := range t.plan.texts {
		t.rewrite(filepath.Join(t.root, x[0]), func(s string) string {
			if !strings.Contains(s, x[1]) {
				t.problem("%s has no %q", x[0], x[1])
			}
			return strings.ReplaceAll(s, x[1], x[2])
		})
	}
}

func (t *tool) rewrite(name string, fn func(string) string) {
	text, err := os.ReadFile(name)
	if err != nil {
		return
	}
	if s := fn(string(text)); s != string(text) {
		fi, _ := os.Stat(name)
		check(os.WriteFile(name, []byte(s), fi.Mode()))
	}
}

// inFile finds a declaration of a name in a file.
func (t *tool) inFile(rel, name string) (key string, d *decl) {
	for _, member := range []bool{false, true} {
		var keys []string
		for k := range t.decls {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		for _, k := range keys {
			for _, d := range t.decls[k] {
				if d.f.rel == rel && d.name == name && (d.parent != "") == member {
					return k, d
				}
			}
		}
	}
	return "", nil
}

// testFolder returns where a test of an old package is now.
func (t *tool) testFolder(folder, name string) string {
	for _, suffix := range []string{"", "_test"} {
		if dst := t.defDst(t.plan.path(folder) + suffix + "." + name); dst != "" {
			return path.Dir(dst)
		}
	}
	return ""
}

var (
	placeName = regexp.MustCompile(`\b([a-z][\w/]*/\w+\.go):(\w+)`)
	fileName  = regexp.MustCompile(`\b([a-z][\w/]*/\w+\.go)\b`)
	testNames = regexp.MustCompile("`([a-z][\\w/]*)\\.((?:Test|Fuzz|Benchmark)\\w+)`")
)

func (t *tool) page(s string) string {
	s = placeName.ReplaceAllStringFunc(s, func(m string) string {
		g := placeName.FindStringSubmatch(m)
		f := t.files[g[1]]
		if f == nil || !f.old {
			return m
		}
		key, d := t.inFile(g[1], g[2])
		if d == nil {
			t.problem("docs: %s is not there", m)
			return m
		}
		return f.dstAt(d.off) + ":" + t.newName(key)
	})
	s = testNames.ReplaceAllStringFunc(s, func(m string) string {
		g := testNames.FindStringSubmatch(m)
		if !t.plan.olds[g[1]] {
			return m
		}
		if to := t.testFolder(g[1], g[2]); to != "" {
			return "`" + to + "." + g[2] + "`"
		}
		return m
	})
	return t.paths(s)
}

// paths replaces names of files that were moved.
func (t *tool) paths(s string) string {
	return fileName.ReplaceAllStringFunc(s, func(m string) string {
		if f := t.files[m]; f != nil && f.old {
			return t.fileDst(f)
		}
		return m
	})
}

// fileDst is where most of a file went.
func (t *tool) fileDst(f *file) string {
	if d := t.plan.files[f.rel]; d != "" {
		return d
	}
	return f.rel
}

// foldersOf returns the folders with tests of an old package that match a pattern.
func (t *tool) foldersOf(folder, pattern string) []string {
	rx, err := regexp.Compile(pattern)
	if err != nil {
		t.problem("pattern %s: %v", pattern, err)
		return nil
	}
	seen := map[string]bool{}
	for _, ds := range t.decls {
		d := ds[0]
		if d.kind == "func" && d.f.folder == folder && (strings.HasPrefix(d.name, "Test") || strings.HasPrefix(d.name, "Fuzz")) && isTest(d.f.rel) && rx.MatchString(d.name) {
			seen[path.Dir(d.f.dstAt(d.off))] = true
		}
	}
	var out []string
	for f := range seen {
		out = append(out, "./"+f)
	}
	sort.Strings(out)
	return out
}

func (t *tool) script(s string) string {
	lines := strings.Split(s, "\n")
	quoted := regexp.MustCompile(`'([^']*(?:Test|Fuzz)[^']*)'`)
	for i, l := range lines {
		for folder := range t.plan.olds {
			pkg := regexp.MustCompile(` \./` + regexp.QuoteMeta(folder) + `( |$)`)
			q := quoted.FindStringSubmatch(l)
			if q == nil || !pkg.MatchString(l) {
				continue
			}
			to := t.foldersOf(folder, q[1])
			if len(to) == 1 {
				lines[i] = pkg.ReplaceAllString(l, " "+to[0]+"$1")
			} else if len(to) > 1 {
				t.problem("script: tests of %s are in %v", l, to)
			}
		}
	}
	return t.paths(strings.Join(lines, "\n"))
}

func (t *tool) faults(s string) string {
	lines := strings.Split(s, "\n")
	for i := 0; i < len(lines); i++ {
		if !strings.HasPrefix(lines[i], "== ") {
			continue
		}
		fields := strings.Fields(lines[i])
		if len(fields) != 5 {
			continue
		}
		from, to := i+1, i+1
		for to < len(lines) && len(lines[to]) > 0 && (lines[to][0] == '-' || lines[to][0] == '+') {
			to++
		}
		if f := t.files[fields[2]]; f != nil {
			old := ""
			for _, l := range lines[from:to] {
				if l[0] == '-' {
					old += l[1:] + "\n"
				}
			}
			at := strings.Index(string(f.text), old)
			if at < 0 || strings.Count(string(f.text), old) != 1 {
				fmt.Printf("note: fault %s: its lines stand %d times in %s\n", fields[1], strings.Count(string(f.text), old), f.rel)
			} else {
				fields[2] = f.dstAt(at + strings.IndexFunc(old, func(r rune) bool { return r != '\t' && r != '\n' }))
				text := t.render(f, at, at+len(old), false)
				swap := map[string]string{}
				for _, e := range f.edits {
					if e.off >= at && e.end <= at+len(old) && e.end > e.off {
						swap[string(f.text[e.off:e.end])] = e.text()
					}
				}
				var out []string
				for l := range strings.Lines(text) {
					out = append(out, "-"+strings.TrimSuffix(l, "\n"))
				}
				for _, l := range lines[from:to] {
					if l[0] == '+' {
						out = append(out, "+"+t.swapped(l[1:], swap, f))
					}
				}
				lines = slices.Replace(lines, from, to, out...)
			}
		}
		if folder := strings.TrimPrefix(fields[3], "./"); t.plan.olds[folder] {
			if fs := t.foldersOf(folder, fields[4]); len(fs) > 0 {
				fields[3] = strings.Join(fs, ",")
			} else {
				t.problem("fault %s: no test matches", fields[1])
			}
		}
		lines[i] = strings.Join(fields, " ")
	}
	return strings.Join(lines, "\n")
}

var chain = regexp.MustCompile(`[A-Za-z_][\w.]*`)

// swapped renames in a line what was renamed in the lines that it replaces; what
// those have not is looked up among the package's names.
func (t *tool) swapped(l string, swap map[string]string, f *file) string {
	return chain.ReplaceAllStringFunc(l, func(w string) string {
		if n, ok := swap[w]; ok {
			return n
		}
		parts := strings.Split(w, ".")
		for i, p := range parts {
			if n, ok := swap[p]; ok {
				parts[i] = n
			} else if i > 0 {
				for key := range t.decls {
					d := t.decls[key][0]
					if d.name == p && d.parent != "" && t.export[key] && d.f.folder == f.folder && !t.tofunc[key] {
						parts[i] = t.newName(key)
					}
				}
			}
		}
		return strings.Join(parts, ".")
	})
}

func (t *tool) seam(s string) string {
	// the packages
	var add []string
	for dst := range t.out {
		folder := path.Dir(dst)
		if !isTest(dst) && !strings.Contains(folder, "internal") && t.takesPart(folder) && !t.plan.olds[folder] && !slices.Contains(add, folder) {
			add = append(add, folder)
		}
	}
	sort.Strings(add)
	list := regexp.MustCompile(`var behindTheSeam = \[\]string\{([^}]*)\}`)
	s = list.ReplaceAllStringFunc(s, func(m string) string {
		in := list.FindStringSubmatch(m)[1]
		for _, a := range add {
			if parent := strings.SplitN(a, "/", 2)[0]; strings.Contains(in, fmt.Sprintf("%q", parent)) && !strings.Contains(in, fmt.Sprintf("%q", a)) {
				in += fmt.Sprintf(", %q", a)
			}
		}
		return "var behindTheSeam = []string{" + in + "}"
	})
	one := regexp.MustCompile(`(?m)^\t"([\w/]+\.go) (\S+) ([^"]+)":( +)(.*)\n`)
	s = one.ReplaceAllStringFunc(s, func(m string) string {
		g := one.FindStringSubmatch(m)
		f := t.files[g[1]]
		if f == nil || !f.old {
			return m
		}
		key, d := t.inFile(g[1], g[2])
		if d == nil {
			return m
		}
		return fmt.Sprintf("\t\"%s %s %s\": %s\n", f.dstAt(d.off), t.newName(key), g[3], g[5])
	})
	many := regexp.MustCompile(`(?m)^\t"([\w/]+/)(\w+)\*":( +)(.*)\n`)
	s = many.ReplaceAllStringFunc(s, func(m string) string {
		g := many.FindStringSubmatch(m)
		var to []string
		for rel, f := range t.files {
			if f.old && strings.HasPrefix(rel, g[1]+g[2]) && !isTest(rel) {
				for _, c := range f.chunks {
					if d := path.Dir(c.dst); strings.HasPrefix(path.Base(c.dst), g[2]) && !slices.Contains(to, d) {
						to = append(to, d)
					}
				}
			}
		}
		if len(to) == 0 {
			return m
		}
		sort.Strings(to)
		out := ""
		for _, d := range to {
			out += fmt.Sprintf("\t\"%s/%s*\": %s\n", d, g[2], g[4])
		}
		return out
	})
	return gofmted(s)
}

// testdata moves the data of fuzzers and of rapid.
func (t *tool) testdata() {
	for folder := range t.plan.olds {
		for _, kind := range []string{"fuzz", "rapid"} {
			dirs, _ := filepath.Glob(filepath.Join(t.root, folder, "testdata", kind, "*"))
			for _, d := range dirs {
				to := t.testFolder(folder, filepath.Base(d))
				if to == "" || to == folder {
					continue
				}
				dst := filepath.Join(t.root, to, "testdata", kind)
				check(os.MkdirAll(dst, 0o755))
				check(os.Rename(d, filepath.Join(dst, filepath.Base(d))))
			}
		}
	}
}
