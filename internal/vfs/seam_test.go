package vfs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Where what must not be lost is kept, and from where: every file of these
// packages writes through FS.
var behindTheSeam = []string{"recovery", "recovery/datalist", "state", "state/journal", "state/snapshot", "checkpoint", "checkpoint/diff", "checkpoint/match", "checkpoint/packdb", "checkpoint/packindex", "checkpoint/remote", "checkpoint/repair", "checkpoint/restore", "checkpoint/scan", "checkpoint/worktree", "recovery/execution", "recovery/finding", "recovery/githistory", "recovery/hankweave", "recovery/integrity", "recovery/layout", "recovery/load", "recovery/lock"}

// pure packages do not even read past the seam.
var pure = []string{"state", "state/journal", "state/snapshot"}

// exceptions are the calls that change a disk past the seam, by file, function
// and call. Files that end in * are all of one kind.
var exceptions = map[string]string{
	"recovery/lock/lock.go recreateOnce os.Mkdir":                 "the folder that is locked must be a real one",
	"recovery/layout/meta.go LinkData os.Remove":                  "the link to the data lies in the workspace",
	"recovery/layout/meta.go LinkData os.Symlink":                 "the link to the data lies in the workspace",
	"recovery/create.go makeWorkspace os.MkdirAll":                "the workspace itself",
	"recovery/execution/movedirs.go restoreEmptyDirs os.OpenRoot": "empty folders of the workspace",
	"recovery/execution/movedirs.go conflictingDirs os.OpenRoot":  "folders of the workspace are looked at",
	"recovery/execution/late.go changedFiles os.OpenRoot":         "files of the workspace are looked at",
	"recovery/execution/private.go hiddenPrivate os.OpenRoot":     "files of the workspace are looked at",
	"recovery/view.go Unreadable os.OpenRoot":                     "files of the workspace are looked at",
	"recovery/integrity/monitor.go RestoreModes os.Chmod":         "a mode that is put back holds nothing; if it cannot be, what needs the folder fails",
	"recovery/discard.go Discard os.Rename":                       "a whole execution is thrown away, its lock with it",
	"recovery/discard.go finishDiscard os.RemoveAll":              "a whole execution is thrown away",
	"recovery/discard.go finishDiscard os.Remove":                 "a whole execution is thrown away",
	"checkpoint/remote/copy.go openOther os.Remove":               "an export's new repository, which is not the execution's",
	"checkpoint/remote/copy.go openOther os.MkdirAll":             "an export's new repository, which is not the execution's",
	"checkpoint/scan/scan_*":                                      "the workspace is read relative to open directories",
	"checkpoint/restore/*":                                        "the workspace is written relative to open directories; a crash of it is attacked by tests of its own",
	"checkpoint/worktree/workspace_*":                             "the workspace is opened component by component",
}

var (
	writesOS   = regexp.MustCompile(`^(Create|CreateTemp|OpenFile|OpenRoot|OpenInRoot|WriteFile|Rename|Remove|RemoveAll|Mkdir|MkdirAll|MkdirTemp|Link|Symlink|Truncate|Chmod|Chown|Lchown|Chtimes|CopyFS|NewFile)$`)
	readsOS    = regexp.MustCompile(`^(Open|ReadFile|ReadDir|Stat|Lstat|Readlink|DirFS)$`)
	writesUnix = regexp.MustCompile(`^(Open|Creat|Write|Pwrite|Rename|Unlink|Rmdir|Mkdir|Link|Symlink|Mknod|Mkfifo|Fchmod|Chmod|Fchown|Chown|Ftruncate|Truncate|Fsync|Fdatasync|Sync|Syncfs|Utime|Futime|Fallocate|CopyFileRange|Sendfile)[a-z0-9]*$`)
	// other ways to a disk
	doors = []string{"io/ioutil", "github.com/go-git/go-billy/v5/osfs", "github.com/go-git/go-git/v5/storage/filesystem"}
)

func TestNothingGoesPastTheSeam(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	calls := 0
	for _, pkg := range behindTheSeam {
		names, err := filepath.Glob(filepath.Join("..", "..", pkg, "*.go"))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v", pkg, err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			for _, call := range past(t, name, slices.Contains(pure, pkg)) {
				calls++
				call = pkg + "/" + filepath.Base(name) + " " + call
				allowed := false
				for e := range exceptions {
					prefix, open := strings.CutSuffix(e, "*")
					if call == e || open && strings.HasPrefix(call, prefix) {
						used[e], allowed = true, true
					}
				}
				if !allowed {
					t.Errorf("%s: it goes past vfs.FS, so that no test can crash or fail it", call)
				}
			}
		}
	}
	for e := range exceptions {
		if !used[e] {
			t.Errorf("the exception %q is needed no more", e)
		}
	}
	if calls < len(exceptions) {
		t.Errorf("only %d calls were found", calls)
	}
}

// past lists what a file does with a disk past the seam, as "function call".
func past(t *testing.T, name string, reads bool) (found []string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return pastIn(t, name, text, reads)
}

func pastIn(t *testing.T, name string, text []byte, reads bool) (found []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	imports := map[string]string{}
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		as := path[strings.LastIndex(path, "/")+1:]
		if spec.Name != nil {
			as = spec.Name.Name
		}
		imports[as] = path
		if slices.Contains(doors, path) || as == "." {
			found = append(found, "imports "+path)
		}
	}
	for _, decl := range file.Decls {
		within := "(no function)"
		if f, ok := decl.(*ast.FuncDecl); ok {
			within = f.Name.Name
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := sel.X.(*ast.Ident)
			if !ok {
				return true
			}
			does := false
			switch imports[x.Name] {
			case "os":
				does = writesOS.MatchString(sel.Sel.Name) || reads && readsOS.MatchString(sel.Sel.Name)
			case "golang.org/x/sys/unix", "syscall":
				does = writesUnix.MatchString(sel.Sel.Name)
			}
			if does {
				found = append(found, within+" "+x.Name+"."+sel.Sel.Name)
			}
			return true
		})
	}
	return found
}

// What the test above looks for is found.
func TestTheSeamIsWatched(t *testing.T) {
	t.Parallel()
	const text = `package x
import ("os"; sys "golang.org/x/sys/unix"; "io/ioutil")
var open = os.OpenFile
func (t T) f() { defer sys.Unlinkat(0, "", 0); g(os.Rename); _ = os.ErrNotExist; os.ReadFile("") }
`
	want := []string{"imports io/ioutil", "(no function) os.OpenFile", "f sys.Unlinkat", "f os.Rename"}
	if got := pastIn(t, "x.go", []byte(text), false); !slices.Equal(got, want) {
		t.Errorf("found %q", got)
	}
	if got := pastIn(t, "x.go", []byte(text), true); !slices.Equal(got, append(want, "f os.ReadFile")) {
		t.Errorf("found %q", got)
	}
}
