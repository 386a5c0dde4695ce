package plan

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"hank/internal/gitignore"
	"hank/plan/steps"
	"hank/plan/tree"
)

// largeCopy is the size in bytes above which a copied directory is worth a
// warning.
const largeCopy = 256 << 20

// ignoredByDefault holds if the hank has no .gitignore of its own.
var ignoredByDefault = []string{"node_modules/", "dist/", "__pycache__/", "*.log", ".DS_Store"}

// copySource reads the tree that a rig copies.
func (l *loader) copySource(pointer, ref string) {
	doc := l.hank.doc
	name, info, ok := l.reference(doc, pointer, ".", ref)
	if !ok {
		return
	}
	if l.copies[name] != nil {
		return
	}
	w := copyWalk{loader: l, pointer: pointer, root: name, out: &Source{Dir: info.IsDir()}}
	switch {
	case name == ".":
		l.report(doc, pointer, "copy-root", "copy a directory inside it", "%q is the directory of the hank itself", ref)
		return
	case slices.ContainsFunc(strings.Split(name, "/"), isGit):
		l.report(doc, pointer, "copy-git", "", "%q is inside a .git directory", ref)
		return
	case info.IsDir():
		w.rules = l.ignoreRules()
		if w.rules(name, true) {
			w.rules = func(string, bool) bool { return false } // named by the author: not ignored
		}
		w.directory(name)
	case info.Mode().IsRegular():
		w.file(name, info)
	default:
		l.report(doc, pointer, "irregular-reference", "", "%q is not a regular file or directory", ref)
		return
	}
	w.finish()
	l.copies[name] = w.out
}

// copyTargets judges the targets of all copies; the rigs of a loop that may have another iteration
// are run again after its last codon.
func (l *loader) copyTargets() {
	var copies steps.Copies
	var rounds []place // the codons of the loop so far
	for i, p := range l.hank.places {
		if p.codon == nil {
			continue
		}
		l.rigTargets(p, &copies)
		if p.inside == nil || p.inside.TerminateOn.Limit == 1 {
			continue
		}
		rounds = append(rounds, p)
		if i+1 == len(l.hank.places) || l.hank.places[i+1].inside != p.inside {
			for _, again := range rounds {
				l.rigTargets(again, &copies)
			}
			rounds = nil
		}
	}
}

func (l *loader) rigTargets(p place, copies *steps.Copies) {
	var rig []steps.Operation
	for _, r := range p.codon.RigSetup {
		o := steps.Operation{MayFail: r.AllowFailure}
		if r.Copy != nil {
			o.Target = r.Copy.To
			if from := l.copies[path.Clean(r.Copy.From)]; from != nil {
				o.Read, o.Dirs, o.Files = true, from.Dirs, from.names()
			}
		}
		rig = append(rig, o)
	}
	copies.Rig(string(p.codon.ID), rig, p.codon.SkipIf != nil || len(p.codon.ArchiveOnSuccess) > 0, func(i int, rule, hint, message string) {
		l.report(l.hank.doc, fmt.Sprintf("%s/rigSetup/%d/copy/to", p.pointer, i), rule, hint, "%s", message)
	})
}

// names are the files, relative to the source.
func (s *Source) names() map[string]bool {
	if s.byName == nil {
		s.byName = make(map[string]bool, len(s.Files))
		for _, f := range s.Files {
			s.byName[f.Rel] = true
		}
	}
	return s.byName
}

// copyWalk goes through one copied tree.
type copyWalk struct {
	*loader
	pointer string
	root    string
	rules   matcher
	out     *Source
	dropped []string
	size    int64
}

func isGit(step string) bool { return strings.EqualFold(step, ".git") }

func (w *copyWalk) problem(rule, hint, message string, args ...any) {
	w.report(w.hank.doc, w.pointer, rule, hint, message, args...)
}

func (w *copyWalk) directory(dir string) {
	entries, err := w.source.List(dir)
	if err != nil {
		w.problem("unreadable-reference", "", "%q cannot be read: %v", dir, err)
		return
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case isGit(e.Name()):
			w.problem("copy-git", "", "%q would be copied", name)
		case !w.frozen && steps.IsTemporary(e.Name()):
			w.problem("bad-target", "move it out of the directory that is copied", "%q would be copied, and no checkpoint has such names", name)
		case !w.frozen && w.rules(name, e.IsDir()):
			w.dropped = append(w.dropped, name)
		case e.Name() == ".gitignore" && !w.frozen:
			w.problem("copy-gitignore", "merge its rules into the .gitignore in the directory of the hank", "%q would be copied", name)
		case e.IsDir():
			w.out.Dirs = append(w.out.Dirs, w.rel(name))
			w.directory(name)
		case e.Type().IsRegular():
			info, err := e.Info()
			if err != nil {
				w.problem("unreadable-reference", "", "%q cannot be read: %v", name, err)
				continue
			}
			w.file(name, info)
		default:
			w.problem("copy-irregular", "copies may contain only regular files and directories", "%q is %s", name, typeName(e.Type()))
		}
	}
}

func typeName(mode fs.FileMode) string {
	if mode&fs.ModeSymlink != 0 {
		return "a symbolic link"
	}
	return "a special file"
}

func (w *copyWalk) rel(name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(name, w.root), "/")
}

func (w *copyWalk) file(name string, info fs.FileInfo) {
	digest, err := w.source.Digest(name)
	if err != nil {
		w.problem("unreadable-reference", "", "%q cannot be read: %v", name, err)
		return
	}
	w.size += info.Size()
	w.out.Files = append(w.out.Files, SourceFile{Rel: w.rel(name), File: w.loader.file(name, info, digest)})
}

// finish sorts the list and says what is notable about the whole.
func (w *copyWalk) finish() {
	slices.SortFunc(w.out.Files, func(a, b SourceFile) int { return strings.Compare(a.Rel, b.Rel) })
	if n := len(w.dropped); n > 0 {
		shown := w.dropped[:min(n, 5)]
		more := ""
		if n > len(shown) {
			more = fmt.Sprintf(" and %d more", n-len(shown))
		}
		w.problem("copy-ignored", "", "ignore rules leave out %s%s", strings.Join(shown, ", "), more)
	}
	if w.size > largeCopy && !w.frozen {
		w.problem("copy-large", "use a data source for large inputs", "the directory has %d MiB", w.size>>20)
	}
}

// ignoreRules are those of the .gitignore in the directory of the hank, or the
// default ones.
func (l *loader) ignoreRules() matcher {
	if l.ignored != nil {
		return l.ignored
	}
	rules := gitignore.Parse("", []byte(strings.Join(ignoredByDefault, "\n")))
	if info, err := l.source.Stat(".gitignore"); err == nil && info.Mode().IsRegular() && !l.frozen {
		data, err := tree.ReadAll(l.source, ".gitignore")
		if err != nil {
			l.report(l.hank.doc, "", "unreadable-reference", "", ".gitignore cannot be read: %v", err)
		}
		rules = gitignore.Parse("", data)
	}
	l.ignored = rules.Excludes
	return l.ignored
}
