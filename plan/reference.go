package plan

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"hank/internal/pattern"
	"hank/internal/typo"
	"hank/plan/frontmatter"
	"hank/plan/jsonshape"
	"hank/plan/sentinel"
)

// promptKind is what a prompt is for.
type promptKind int

const (
	agentPrompt promptKind = iota
	taskPrompt             // that of an agent which does not begin without one
	scriptPrompt
	sentinelPrompt // a template with rules of its own
)

func kindOfPrompt(c *Codon) promptKind {
	switch kind := c.Model.Kind(); {
	case kind.RunsScript:
		return scriptPrompt
	case kind.NamesProgram:
		return agentPrompt
	}
	return taskPrompt
}

// prompts reads prompt files and judges their text.
func (l *loader) prompts(doc *jsonshape.Document, pointer, base string, refs Refs, kind promptKind) {
	n, left := doc.At(pointer), ""
	for i, ref := range refs {
		at := pointer
		if n != nil && n.Kind == '[' {
			at = fmt.Sprintf("%s/%d", pointer, i)
		}
		name, text, ok := l.text(doc, at, base, ref, largestFile)
		if !ok {
			continue
		}
		text = frontmatter.WithoutMark(text)
		_, body, problem := frontmatter.Split(text)
		left += body
		nothing := kind == taskPrompt && i == len(refs)-1 && frontmatter.IsNothing(left) && !l.out.AnyIDs
		seen := &l.files[name].judged[kind]
		if *seen && !nothing {
			continue
		}
		*seen = *seen || !nothing
		inPrompt := &jsonshape.Document{File: name, Data: []byte(text)}
		as := func(rule string) func(int, string, string) {
			return func(at int, message, hint string) { l.out.At(inPrompt, at, "", rule, message, hint) }
		}
		frontmatter.Judge(text, nothing, func(rule, message string) { l.out.At(inPrompt, 0, "", rule, message, "") })
		if problem != "" && (kind == agentPrompt || kind == taskPrompt) {
			l.out.At(inPrompt, 0, "", "frontmatter", problem, "")
		}
		if l.out.AnyIDs {
			continue
		}
		if kind == sentinelPrompt {
			sentinel.CheckTemplate(text, as("sentinel-template"))
			continue
		}
		l.hank.known.Unknown(text, kind == scriptPrompt, as("unknown-placeholder"))
		if at := strings.Index(text, "\r\n"); at >= 0 && kind == scriptPrompt {
			l.out.At(inPrompt, at, "", "script-crlf", "the lines of the script end with a carriage return and a newline: for sh the carriage return is a part of the last word", "save it with line ends of Unix (LF)")
		}
	}
}

// report reports a rule at a JSON pointer of a document.
func (l *loader) report(doc *jsonshape.Document, pointer, rule, hint, message string, args ...any) {
	l.out.At(doc, doc.Find(pointer), pointer, rule, fmt.Sprintf(message, args...), hint)
}

// text reads the file that a reference names, if it has at most so many bytes. base is
// the directory that the reference is relative to.
func (l *loader) text(doc *jsonshape.Document, pointer, base, ref string, most int64) (name, text string, ok bool) {
	name, info, ok := l.reference(doc, pointer, base, ref)
	if !ok {
		return "", "", false
	}
	if rule, why := unfit(info, most); rule != "" {
		l.report(doc, pointer, rule, "", "%q %s", ref, why)
		return "", "", false
	}
	f := l.read(name, info)
	if !f.ok {
		l.report(doc, pointer, "unreadable-reference", "", "%q cannot be read: %s", ref, f.text)
	}
	return name, f.text, f.ok
}

// reference finds what a reference names: the path in the directory of the hank.
// A reference is a relative path with slashes that at no step of its spelling
// leaves that directory, and goes through no symbolic link inside of it.
func (l *loader) reference(doc *jsonshape.Document, pointer, base, ref string) (name string, info fs.FileInfo, ok bool) {
	if ref == "" { // its shape is wrong, which was reported
		return "", nil, false
	}
	why := pattern.BadPath(ref)
	if why == "" || why == pattern.Outside {
		why = pattern.BadPath(base + "/" + ref)
	}
	if why == "" && isPlaceholder(ref) {
		why = "is written like a digest"
	}
	if why != "" {
		l.report(doc, pointer, "bad-reference", "paths are relative to the file that contains them, and must stay inside the directory of the hank", "%q %s", ref, why)
		return "", nil, false
	}
	name = path.Join(base, ref)
	at := "."
	for _, step := range strings.Split(name, "/") {
		at = path.Join(at, step)
		var err error
		if info, err = l.stat(at); err != nil {
			l.notFound(doc, pointer, base, ref, at, err)
			return "", nil, false
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			l.report(doc, pointer, "symlink-reference", "name the real path, or put the file itself there", "%q leads through the symbolic link %q", ref, at)
			return "", nil, false
		}
	}
	return name, info, true
}

func (l *loader) notFound(doc *jsonshape.Document, pointer, base, ref, at string, err error) {
	// A file in the middle of a path gives ENOTDIR, which is no ErrNotExist.
	if up, upErr := l.source.Stat(path.Dir(at)); errors.Is(err, fs.ErrNotExist) || upErr == nil && !up.IsDir() {
		l.report(doc, pointer, "missing-reference", l.nearFile(base, at), "not found: %q", ref)
		return
	}
	l.report(doc, pointer, "unreadable-reference", "", "%q cannot be reached: %v", ref, err)
}

// nearFile suggests a file with nearly the same name, as a reference that is relative to base.
func (l *loader) nearFile(base, missing string) string {
	entries, err := l.source.List(path.Dir(missing))
	if err != nil || len(entries) > 10000 {
		return ""
	}
	near := typo.NearestFile(path.Base(missing), entries)
	if ref, err := filepath.Rel(base, path.Join(path.Dir(missing), near)); near != "" && err == nil {
		return fmt.Sprintf("did you mean %q?", filepath.ToSlash(ref))
	}
	return ""
}
