package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// aCommand is a command of hank's about an execution, not between backquotes and not
// the end of a shell line.
var aCommand = regexp.MustCompile("(?:^|[^`])\\bhank (?:run|resume|retry|rollback|stop|skip|status|show|log|events|checkpoints|diff|restore|land|cost|doctor|gc|plan)\\b")

// mentions are parts of texts that name a command and do not advise it.
var mentions = []string{
	"by hank gc",
	"so hank stop and hank skip will not work",
	"hank run began a codon again",
	"and hank run tried it again",
	"(--workspace of hank run)",
	"hank land needs one that is",
	"hank land does not touch it",
	"no hank checkpoints found",
}

// unmarked finds the texts of a Go file that advise a command without backquotes.
// A literal that is a command, or begins with its name, is none.
func unmarked(name string, source []byte) ([]string, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var found []string
	ast.Inspect(file, func(n ast.Node) bool {
		if field, ok := n.(*ast.Field); ok && field.Tag != nil {
			return false
		}
		e, ok := n.(ast.Expr)
		if !ok {
			return true
		}
		s, ok := spell(e)
		if !ok {
			return true
		}
		text := s.text
		for _, m := range mentions {
			text = strings.ReplaceAll(text, m, "")
		}
		text = strings.ReplaceAll(text, "&& hank ", "&& `hank ") // what advice.Quote marks
		if !strings.HasPrefix(text, "hank ") && aCommand.MatchString(text) {
			found = append(found, files.Position(e.Pos()).String()+": "+s.text)
		}
		return false
	})
	return found, nil
}

// Only cmd/hank knows how the execution is named where a text is read, and writes
// the commands in its own texts as they are printed.
func TestMessagesMarkTheCommandsThatTheyAdvise(t *testing.T) {
	t.Parallel()
	tree := os.DirFS("../..")
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || slices.Contains(skipped, d.Name()) || slices.Contains(skipped, name) || name == "cmd" || name == "internal/advice"):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		source, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		found, err := unmarked(name, source)
		for _, f := range found {
			t.Errorf("%s\nput the command between backquotes, see package advice; a mere mention goes into the list of them", f)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestACommandIsUnmarkedWhereATextAdvisesIt(t *testing.T) {
	t.Parallel()
	const source = "package p\n\n// see: hank doctor\nvar x = []string{\"hank run --keep-tree\", \"mkdir x && hank run\", \"see: `hank doctor`\", \"removed by hank gc\",\n" +
		"\t\"see: hank doctor\", \"run \" + \"hank gc again\", \"thank running\"}\n"
	found, err := unmarked("p.go", []byte(source))
	if want := []string{"p.go:5:2: see: hank doctor", "p.go:5:22: run hank gc again"}; err != nil || !slices.Equal(found, want) {
		t.Errorf("%q, %v; want %q", found, err, want)
	}
}
