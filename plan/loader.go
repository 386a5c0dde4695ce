package plan

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"hank/plan/diagnostic"
	"hank/plan/model"
	"hank/plan/tree"
)

// loader reads the files of one program.
type loader struct {
	source tree.Source
	lookup func(string) (model.Ref, error)
	frozen bool // the source is a frozen tree: its pruning is done, its models are chosen

	out     diagnostic.Reporter
	hank    *Hank
	files   map[string]*loadedFile // by path in the directory of the hank
	copies  map[string]*Source
	stats   map[string]stated
	ignored matcher
}

// stated is a remembered answer of stat: many references share their directories.
type stated struct {
	info fs.FileInfo
	err  error
}

func (l *loader) stat(name string) (fs.FileInfo, error) {
	s, known := l.stats[name]
	if !known {
		s.info, s.err = l.source.Stat(name)
		l.stats[name] = s
	}
	return s.info, s.err
}

// loadedFile is a file that was read, or found not to be readable.
type loadedFile struct {
	file   File
	text   string
	ok     bool
	judged [sentinelPrompt + 1]bool // as a prompt of a kind
}

// matcher says whether ignore rules leave a path out.
type matcher func(name string, dir bool) bool

// The sizes in bytes of the largest files that are read at all: prompts and scripts; and
// what is parsed, since that takes many times its size in memory.
const (
	largestFile     = tree.LargestFile
	largestDocument = 16 << 20
)

// mostOfDocument bounds a hank.json, or what else is parsed. What is frozen was read
// before.
func (l *loader) mostOfDocument() int64 {
	if l.frozen {
		return largestFile
	}
	return largestDocument
}

// unfit says why something cannot be read as a text of at most so many bytes.
func unfit(info fs.FileInfo, most int64) (rule, why string) {
	switch {
	case info.IsDir():
		return "irregular-reference", "is a directory"
	case !info.Mode().IsRegular():
		return "irregular-reference", "is not a regular file"
	case info.Size() > most:
		return "unreadable-reference", fmt.Sprintf("has %d bytes, the most is %d", info.Size(), most)
	}
	return "", ""
}

// read reads a file that was found to be regular. If it fails, the text is the
// reason.
func (l *loader) read(name string, info fs.FileInfo) *loadedFile {
	if f := l.files[name]; f != nil {
		return f
	}
	f := &loadedFile{}
	l.files[name] = f
	data, err := tree.ReadAll(l.source, name)
	if err != nil {
		f.text = err.Error()
		return f
	}
	f.text, f.ok = string(data), true
	f.file = l.file(name, info, tree.DigestOf(data))
	f.file.Size = int64(len(data))
	return f
}

// file describes a file of the hank as it is frozen.
func (l *loader) file(name string, info fs.FileInfo, digest string) File {
	mode := fs.FileMode(0o644)
	if info.Mode()&0o111 != 0 {
		mode = 0o755
	}
	return File{
		Path: frozenDir + name, Mode: mode, Size: info.Size(), Digest: digest,
		open: func() (io.ReadCloser, error) { return l.source.Open(name) },
	}
}

// all lists every file of the program, each once, by path.
func (l *loader) all() []File {
	byPath := map[string]File{}
	for _, f := range l.files {
		byPath[f.file.Path] = f.file
	}
	for _, s := range l.copies {
		for _, f := range s.Files {
			byPath[f.Path] = f.File
		}
	}
	files := make([]File, 0, len(byPath))
	for _, f := range byPath {
		files = append(files, f)
	}
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return files
}
