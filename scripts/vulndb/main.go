// Command vulndb lays out a small vulnerability database for govulncheck: the
// advisories of a clone of github.com/golang/vulndb that are about the modules
// on its standard input, the standard library or the toolchain. See
// scripts/vulncheck.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// advisory is as much of an OSV entry as the index needs.
type advisory struct {
	ID       string   `json:"id"`
	Modified string   `json:"modified"`
	Aliases  []string `json:"aliases,omitempty"`
	Affected []struct {
		Package struct {
			Name string `json:"name"`
		} `json:"package"`
		Ranges []struct {
			Events []struct {
				Fixed string `json:"fixed"`
			} `json:"events"`
		} `json:"ranges"`
	} `json:"affected"`
}

type moduleVuln struct {
	ID       string `json:"id"`
	Modified string `json:"modified"`
	Fixed    string `json:"fixed,omitempty"`
}

type module struct {
	Path  string       `json:"path"`
	Vulns []moduleVuln `json:"vulns"`
}

type vuln struct {
	ID       string   `json:"id"`
	Modified string   `json:"modified"`
	Aliases  []string `json:"aliases,omitempty"`
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: vulndb CLONE DIR DAY <modules")
		os.Exit(2)
	}
	if err := lay(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "vulndb:", err)
		os.Exit(1)
	}
}

func lay(clone, dir, day string) error {
	modules := []*module{{Path: "stdlib"}, {Path: "toolchain"}}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		modules = append(modules, &module{Path: in.Text()})
	}
	files, err := filepath.Glob(filepath.Join(clone, "data", "osv", "*.json"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("%s has no data/osv/*.json: %v", clone, err)
	}
	vulns := []vuln{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var a advisory
		if err := json.Unmarshal(text, &a); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		wanted := false
		for _, m := range modules {
			wanted = m.take(a) || wanted
		}
		if !wanted {
			continue
		}
		vulns = append(vulns, vuln{a.ID, a.Modified, a.Aliases})
		if err := write(dir, filepath.Join("ID", a.ID+".json"), text); err != nil {
			return err
		}
	}
	index := []*module{}
	for _, m := range modules {
		if len(m.Vulns) > 0 {
			index = append(index, m)
		}
	}
	for name, v := range map[string]any{"modules": index, "vulns": vulns, "db": map[string]string{"modified": day + "T00:00:00Z"}} {
		text, err := json.Marshal(v)
		if err != nil {
			return err
		}
		if err := write(dir, filepath.Join("index", name+".json"), text); err != nil {
			return err
		}
	}
	return write(dir, "day", []byte(day+"\n"))
}

// take adds the advisory to the module's, if it is about it.
func (m *module) take(a advisory) bool {
	mine, fixed := false, ""
	for _, affected := range a.Affected {
		if affected.Package.Name != m.Path {
			continue
		}
		mine = true
		for _, r := range affected.Ranges {
			for _, e := range r.Events {
				if e.Fixed != "" {
					fixed = e.Fixed
				}
			}
		}
	}
	if mine {
		m.Vulns = append(m.Vulns, moduleVuln{a.ID, a.Modified, fixed})
	}
	return mine
}

func write(dir, name string, text []byte) error {
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}
