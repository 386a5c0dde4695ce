//go:build unix

package modeltest

import (
	"crypto/sha1"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A node is what stands at a path: a file, a link or an empty directory. Folders
// that hold something are not nodes: their content implies them.
type node struct {
	kind string // "file", "link", "folder"; "" is nothing
	text string // of a file its content, of a link its target
	exec bool
}

func (n node) String() string {
	if n.exec {
		return fmt.Sprintf("executable %s %q", n.kind, n.text)
	}
	if n.kind == "" {
		return "nothing"
	}
	return fmt.Sprintf("%s %q", n.kind, n.text)
}

// A tree is a workspace. In doubt holds, for paths of which the documents do not
// say what stands there, what may stand there.
type tree struct {
	nodes map[string]node
	doubt map[string][]node
}

func newTree() tree { return tree{map[string]node{}, map[string][]node{}} }

func (t tree) clone() tree { return tree{maps.Clone(t.nodes), maps.Clone(t.doubt)} }

// unsure puts a path in doubt. No options are any.
func (t tree) unsure(path string, options []node) {
	delete(t.nodes, path)
	t.doubt[path] = options
}

func within(path, folder string) bool {
	return path == folder || folder == "" || strings.HasPrefix(path, folder+"/")
}

// has reports whether anything stands at path or in it, for all that is known.
func (t tree) has(path string) bool {
	for p := range t.nodes {
		if within(p, path) {
			return true
		}
	}
	return false
}

// may reports whether something at path or in it is in doubt.
func (t tree) may(path string) bool {
	for p := range t.doubt {
		if within(p, path) || within(path, p) {
			return true
		}
	}
	return false
}

// leaf reports whether a file or a link stands at path, or where a directory that leads
// to it would be.
func (t tree) leaf(path string) bool {
	for ; path != ""; path = parent(path) {
		if kind := t.nodes[path].kind; kind == "file" || kind == "link" {
			return true
		}
	}
	return false
}

func parent(path string) string {
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		return path[:i]
	}
	return ""
}

// clear removes path and what is in it; the directory that it was in stays.
func (t tree) clear(path string) {
	had, doubtful := t.has(path), false
	for p := range t.nodes {
		if within(p, path) {
			delete(t.nodes, p)
		}
	}
	for p := range t.doubt {
		if within(p, path) {
			delete(t.doubt, p)
			doubtful = true
		}
	}
	up := parent(path)
	switch {
	case up == "" || t.has(up):
	case had:
		t.nodes[up] = node{kind: "folder"}
	case doubtful:
		t.doubt[up] = []node{{}, {kind: "folder"}}
	}
}

// clearCopies removes what the copy of a rig has left that was cut off. No checkpoint has
// it; the next copy and gc remove it: docs/checkpoints.md.
func (t tree) clearCopies() {
	t.clear(".hankweave-rig-new")
	t.clear(".hankweave-rig-old")
}

// way makes the directories that lead to path; a file or link in their place goes.
func (t tree) way(path string) {
	for up := parent(path); up != ""; up = parent(up) {
		delete(t.nodes, up)
		delete(t.doubt, up)
	}
}

func (t tree) put(path string, n node) {
	t.clear(path)
	t.way(path)
	t.nodes[path] = n
}

// each changes what stands at path, or each of what may stand there.
func (t tree) each(path string, change func(node) node) {
	if options, ok := t.doubt[path]; ok {
		options = slices.Clone(options) // none are any, and stay so
		for i, n := range options {
			options[i] = change(n)
		}
		t.unsure(path, options)
		return
	}
	if n := change(t.nodes[path]); n.kind != "" {
		t.nodes[path] = n
	}
}

// An effect is one thing that a script, or a person, does to the workspace.
// lib.sh has a function of the same name.
type effect struct {
	verb string // put, add, del, dir, lnk, exe
	path string
	text string
}

// apply does it. The text may name $n, the number of this start of a codon.
func (e effect) apply(t tree, n int) {
	text := strings.ReplaceAll(e.text, "$n", fmt.Sprint(n))
	switch e.verb {
	case "put":
		t.put(e.path, node{kind: "file", text: text + "\n"})
	case "lnk":
		t.put(e.path, node{kind: "link", text: text})
	case "del":
		t.clear(e.path)
	case "dir":
		t.way(e.path)
		if t.may(e.path) {
			t.unsure(e.path, nil)
			return
		}
		if now, ok := t.nodes[e.path]; !t.has(e.path) || ok && now.kind != "folder" {
			t.put(e.path, node{kind: "folder"})
		}
	case "add": // to a file; in the place of anything else a new one
		if _, doubtful := t.doubt[e.path]; !doubtful && t.nodes[e.path].kind != "file" {
			t.put(e.path, node{kind: "file", text: text + "\n"})
			return
		}
		t.each(e.path, func(was node) node {
			if was.kind != "file" {
				return node{kind: "file", text: text + "\n"}
			}
			was.text += text + "\n"
			return was
		})
	case "exe":
		t.each(e.path, func(was node) node {
			was.exec = was.exec || was.kind == "file"
			return was
		})
	}
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// String is the effect as a line of shell.
func (e effect) String() string {
	if e.verb == "del" || e.verb == "dir" || e.verb == "exe" {
		return e.verb + " " + quote(e.path)
	}
	return fmt.Sprintf(`%s %s "%s"`, e.verb, quote(e.path), e.text)
}

// library is lib.sh: the effects, and what a script tells the test.
const library = `set -eu
way() {
	case $1 in */*) ;; *) return 0 ;; esac
	_p=; _rest=$1
	while case $_rest in */*) true ;; *) false ;; esac; do
		_p=$_p${_rest%%/*}; _rest=${_rest#*/}
		if [ -L "$_p" ] || { [ -e "$_p" ] && [ ! -d "$_p" ]; }; then rm -f "$_p"; fi
		_p=$_p/
	done
	mkdir -p "${1%/*}"
}
put() { way "$1"; rm -rf "$1"; printf '%s\n' "$2" >"$1"; }
add() { if [ -L "$1" ] || [ ! -f "$1" ]; then put "$1" "$2"; else printf '%s\n' "$2" >>"$1"; fi; }
lnk() { way "$1"; rm -rf "$1"; ln -s "$2" "$1"; }
del() { rm -rf "$1"; }
dir() { way "$1"; if [ -L "$1" ] || [ ! -d "$1" ]; then rm -f "$1"; mkdir "$1"; fi; }
exe() { if [ ! -L "$1" ] && [ -f "$1" ]; then chmod +x "$1"; fi; }
# begin CODON VERSION, over: what the test reads to know what happened.
begin() {
	echo "start $1 $2" >>"$MODEL/log"
	me=$1 n=$(grep -c '^start' "$MODEL/log")
}
over() {
	echo "over $me" >>"$MODEL/log"
	while [ -e "$MODEL/gate.$me" ]; do sleep 0.02; done
	if [ -e "$MODEL/fail.$me" ]; then exit 1; fi
}
`

// rules are the lines of the workspace's .gitignore that the test uses.
var rules = []string{"*.log", "build/", "/k", "d/"}

// ignored reports whether the .gitignore of a tree leaves out what is at path.
func (t tree) ignored(path string, n node) bool {
	for line := range strings.Lines(t.nodes[".gitignore"].text) {
		switch line = strings.TrimSpace(line); line {
		case "*.log":
			if slices.ContainsFunc(strings.Split(path, "/"), func(name string) bool { return strings.HasSuffix(name, ".log") }) {
				return true
			}
		case "/k":
			if within(path, "k") {
				return true
			}
		case "build/", "d/":
			name := strings.TrimSuffix(line, "/")
			if strings.HasPrefix(path, name+"/") || path == name && n.kind == "folder" {
				return true
			}
		}
	}
	return false
}

// visible reports whether the .gitignore of a tree surely leaves in what is at path.
func (t tree) visible(path string, n node) bool {
	_, doubtful := t.doubt[".gitignore"]
	return !doubtful && !t.ignored(path, n)
}

// selects reports whether checkpointedFiles takes path; nil takes everything.
func selects(patterns []string, path string) bool {
	if patterns == nil {
		return true
	}
	for _, p := range patterns {
		switch {
		case strings.HasSuffix(p, "/**"):
			if strings.HasPrefix(path, strings.TrimSuffix(p, "**")) {
				return true
			}
		case strings.HasPrefix(p, "*"): // no slash: in the root only
			if !strings.Contains(path, "/") && strings.HasSuffix(path, p[1:]) {
				return true
			}
		case within(path, p):
			return true
		}
	}
	return false
}

// A manifest is what a git tree lists: mode and name of each file.
type manifest map[string]string

// entry is a node as git lists it.
func (n node) entry() string {
	mode := "100644"
	if n.kind == "link" {
		mode = "120000"
	} else if n.exec {
		mode = "100755"
	}
	return fmt.Sprintf("%s %x", mode, sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(n.text), n.text)))
}

// readTree reads a workspace from the disk.
func readTree(root string) (tree, error) {
	t := newTree()
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || file == root {
			return err
		}
		path := strings.TrimPrefix(file, root+"/")
		info, err := os.Lstat(file)
		if err != nil {
			return err
		}
		delete(t.nodes, parent(path))
		switch {
		case info.IsDir():
			t.nodes[path] = node{kind: "folder"}
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(file)
			if err != nil {
				return err
			}
			t.nodes[path] = node{kind: "link", text: target}
		default:
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			t.nodes[path] = node{"file", string(text), info.Mode()&0o100 != 0}
		}
		return nil
	})
	return t, err
}

// differences says how an observed tree is not as the model has it.
func (t tree) differences(observed tree) []string {
	var all []string
	paths := map[string]bool{}
	for p := range t.nodes {
		paths[p] = true
	}
	for p := range observed.nodes {
		paths[p] = true
	}
	for _, p := range slices.Sorted(maps.Keys(paths)) {
		want, is := t.nodes[p], observed.nodes[p]
		if options, ok := t.doubt[p]; ok {
			if options != nil && !slices.Contains(options, is) && !observed.has(p) {
				all = append(all, fmt.Sprintf("%s is %v, and may be %v", p, is, options))
			}
			continue
		}
		if want == is || (want.kind == "folder" || is.kind == "folder") && t.may(p) {
			continue
		}
		all = append(all, fmt.Sprintf("%s is %v, and must be %v", p, is, want))
	}
	for _, p := range slices.Sorted(maps.Keys(t.doubt)) { // what must be something, and is gone
		if options := t.doubt[p]; options != nil && !observed.has(p) && !slices.Contains(options, node{}) {
			all = append(all, fmt.Sprintf("%s is gone, and may be %v", p, options))
		}
	}
	return all
}
