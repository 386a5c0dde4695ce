package plan

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"

	"hank/plan/model"
)

// Load reads a hank and everything that it refers to, and reports everything
// that is wrong. name is the file's name in the directory of the hank, normally
// hank.json. The Program is nil if one of the diagnostics is an error.
func Load(dir HankDir, name string) (*Program, []Diagnostic) {
	return LoadWith(dir, name, Layers{})
}

// LoadWith is Load under the settings of the layers around the hank.
func LoadWith(dir HankDir, name string, layers Layers) (*Program, []Diagnostic) {
	l := &loader{source: liveSource{dir}, lookup: model.Default().Lookup}
	return l.program(name, layers)
}

// loader reads the files of one program.
type loader struct {
	source source
	lookup func(string) (model.Ref, error)
	frozen bool // the source is a frozen tree: its pruning is done, its models are chosen

	out     reporter
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
		s.info, s.err = l.source.stat(name)
		l.stats[name] = s
	}
	return s.info, s.err
}

// loadedFile is a file that was read, or found not to be readable.
type loadedFile struct {
	file File
	text string
	ok   bool
}

// source is where a program's files come from. Paths are slash-separated and
// clean, relative to the directory of the hank.
type source interface {
	// stat does not follow a symbolic link in the last component.
	stat(path string) (fs.FileInfo, error)
	open(path string) (io.ReadCloser, error)
	list(path string) ([]fs.DirEntry, error)
	// digest is the SHA-256 of a file.
	digest(path string) (string, error)
}

// program loads the program under the settings of layers.
func (l *loader) program(name string, layers Layers) (*Program, []Diagnostic) {
	l.files, l.copies, l.stats = map[string]*loadedFile{}, map[string]*Source{}, map[string]stated{}
	l.out.anyIDs = layers.AnyIDs || l.frozen
	data, diagnostic := l.hankFile(name)
	if diagnostic != nil {
		return nil, []Diagnostic{*diagnostic}
	}
	h := parse(name, data, &l.out)
	if h == nil {
		return nil, l.out.sorted(name)
	}
	l.hank = h
	p := &Program{Hank: h, Name: name, Settings: layers.Merge(h.Overrides), Model: layers.Flags.Model, texts: map[string]string{}, sources: l.copies, models: map[string]model.Ref{}}
	h.resolve(layers.override(h), p.choose(l.lookup), &l.out)
	h.structure(&l.out)
	l.references()
	if !l.frozen { // what is stored is stored
		l.secrets(name)
	}
	if Failing(l.out.list) {
		return nil, l.out.sorted(name)
	}
	p.index()
	for path, f := range l.files {
		p.texts[path] = f.text
	}
	p.Files = l.all()
	return p, l.out.sorted(name)
}

// choose looks models up and keeps what was found.
func (p *Program) choose(lookup func(string) (model.Ref, error)) func(string) (model.Ref, error) {
	return func(name string) (model.Ref, error) {
		ref, err := lookup(name)
		if err == nil {
			p.models[name] = ref
		}
		return ref, err
	}
}

// override is the model that all codons use, and who says so.
func (l Layers) override(h *Hank) override {
	switch own := overrideOf(h); {
	case l.Flags.Model != "":
		return override{model: l.Flags.Model, source: "command line"}
	case l.Env.Model != "":
		return override{model: l.Env.Model, source: "environment"}
	case own.model != "":
		return own
	}
	return override{model: l.File.Model, source: "hankweave.json"}
}

// ModelSource names the setting that gives all codons of a hank their model; empty
// if none does, and each has its own.
func (l Layers) ModelSource(h *Hank) string {
	switch over := l.override(h); {
	case over.model == "":
		return ""
	case l.Flags.Model != "":
		return "--model"
	case l.Env.Model != "":
		return "HANKWEAVE_RUNTIME_MODEL"
	case over.pointer != "":
		return "overrides.model"
	}
	return `"model" in hankweave.json (or the file that --config names)`
}

// The sizes in bytes of the largest files that are read at all: prompts and scripts;
// what is parsed, since that takes many times its size in memory; and hankweave.json.
const (
	largestFile     = 64 << 20
	largestDocument = 16 << 20
	LargestSettings = 1 << 20
)

// mostOfDocument bounds a hank.json, or what else is parsed. What is frozen was read
// before.
func (l *loader) mostOfDocument() int64 {
	if l.frozen {
		return largestFile
	}
	return largestDocument
}

// hankFile reads the file of the hank itself.
func (l *loader) hankFile(name string) ([]byte, *Diagnostic) {
	problem := func(message, hint string) ([]byte, *Diagnostic) {
		return nil, &Diagnostic{Severity: Error, Rule: "missing-file", File: name, Message: message, Hint: hint}
	}
	if !fs.ValidPath(name) {
		return problem("the name is not a plain relative path", "")
	}
	info, err := l.source.stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		hint := "create one with: hank init"
		if _, err := l.source.stat("strand.json"); err == nil {
			hint = "there is a strand.json; name it on the command line"
		}
		return problem("file not found", hint)
	}
	if err != nil {
		return problem(err.Error(), "")
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return problem("is a symbolic link", "name the file that it leads to")
	}
	if rule, why := unfit(info, l.mostOfDocument()); rule != "" {
		return problem(why, "")
	}
	f := l.read(name, info)
	if !f.ok {
		return problem(f.text, "")
	}
	return []byte(f.text), nil
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
	data, err := readAll(l.source, name)
	if err != nil {
		f.text = err.Error()
		return f
	}
	f.text, f.ok = string(data), true
	f.file = l.file(name, info, digestOf(data))
	f.file.Size = int64(len(data))
	return f
}

// readAll opens a file that stat called regular, looks again at what was
// opened, and reads it.
func readAll(s source, name string) ([]byte, error) {
	r, err := s.open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if f, ok := r.(fs.File); ok {
		if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
			return nil, cmp.Or(err, errors.New("is not a regular file any more"))
		}
	}
	var b bytes.Buffer
	if n, err := io.Copy(&b, io.LimitReader(r, largestFile+1)); err != nil || n > largestFile {
		return nil, cmp.Or(err, fmt.Errorf("has more than %d bytes", largestFile))
	}
	return b.Bytes(), nil
}

// file describes a file of the hank as it is frozen.
func (l *loader) file(name string, info fs.FileInfo, digest string) File {
	mode := fs.FileMode(0o644)
	if info.Mode()&0o111 != 0 {
		mode = 0o755
	}
	return File{
		Path: frozenDir + name, Mode: mode, Size: info.Size(), Digest: digest,
		open: func() (io.ReadCloser, error) { return l.source.open(name) },
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

// liveSource reads the directory of a hank.
type liveSource struct{ dir HankDir }

func (s liveSource) stat(name string) (fs.FileInfo, error)   { return fs.Lstat(s.dir, name) }
func (s liveSource) list(name string) ([]fs.DirEntry, error) { return fs.ReadDir(s.dir, name) }

func (s liveSource) open(name string) (io.ReadCloser, error) {
	return s.dir.Open(path.Clean(name))
}

func (s liveSource) digest(name string) (string, error) {
	r, err := s.open(name)
	if err != nil {
		return "", err
	}
	defer r.Close()
	return digestReader(r)
}
