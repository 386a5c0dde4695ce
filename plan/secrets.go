package plan

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"hank/internal/secret"
	"hank/plan/jsonshape"
)

// secrets warns of keys in the texts of a hank, and of files with secrets among
// those that it copies: all of them are stored with every execution, and what
// is copied into the workspace is in its checkpoints.
func (l *loader) secrets(name string, inHank map[string]int) {
	for pointer, start := range inHank {
		l.warnOfSecret(l.hank.doc, start, pointer)
	}
	for _, file := range slices.Sorted(maps.Keys(l.files)) {
		if f := l.files[file]; f.ok && file != name && secret.First(f.text) >= 0 {
			l.warnOfSecret(&jsonshape.Document{File: file, Data: []byte(f.text)}, secret.First(f.text), "")
		}
	}
	for _, from := range slices.Sorted(maps.Keys(l.copies)) {
		for _, f := range l.copies[from].Files {
			if secret.IsPrivate(path.Base(f.Path)) {
				l.out.At(l.hank.doc, 0, "", "private-file", fmt.Sprintf("the rig copies %s, a file for secrets; it is stored with every execution and in its checkpoints", strings.TrimPrefix(f.Path, frozenDir)),
					"leave it out, and give its values by the environment")
			}
		}
	}
}

// secretTexts are the byte offsets of the texts of a hank that hold what looks like a key, by
// their pointers.
func secretTexts(doc *jsonshape.Document) map[string]int {
	found := map[string]int{}
	doc.Root.EachText(func(n *jsonshape.Node, pointer func() string) {
		if secret.Text(n.Text) != n.Text {
			found[pointer()] = n.Start
		}
	})
	return found
}

func (l *loader) warnOfSecret(doc *jsonshape.Document, at int, pointer string) {
	l.out.At(doc, at, pointer, "literal-secret", "this text holds what looks like a key, and it is stored with every execution",
		"set it in the environment where hank runs, and refer to the variable")
}
