package tree

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// File is a file of a frozen program.
type File struct {
	Path   string `json:"path"`
	Exec   bool   `json:"exec,omitzero"`
	Size   int64  `json:"size"`
	Digest string `json:"digest"`
}

// frozen is the tree of a frozen program.
type frozen struct {
	entries map[string]frozenInfo
	kids    map[string][]fs.DirEntry
	read    func(path string) ([]byte, error)
}

// Frozen is the tree of a frozen program with these directories and files. read returns the content
// of a file.
func Frozen(dirs []string, files []File, read func(path string) ([]byte, error)) Source {
	s := &frozen{entries: map[string]frozenInfo{}, kids: map[string][]fs.DirEntry{}, read: read}
	s.entries["."] = frozenInfo{name: ".", mode: fs.ModeDir | 0o755}
	for _, d := range dirs {
		s.add(d, frozenInfo{mode: fs.ModeDir | 0o755})
	}
	for _, f := range files {
		mode := fs.FileMode(0o644)
		if f.Exec {
			mode = 0o755
		}
		s.add(f.Path, frozenInfo{mode: mode, size: f.Size, digest: f.Digest})
	}
	for _, kids := range s.kids {
		slices.SortFunc(kids, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	}
	return s
}

// add puts an entry and the directories above it into the tree.
func (s *frozen) add(name string, info frozenInfo) {
	if _, there := s.entries[name]; there || !fs.ValidPath(name) {
		return
	}
	info.name = path.Base(name)
	s.entries[name] = info
	dir := path.Dir(name)
	s.add(dir, frozenInfo{mode: fs.ModeDir | 0o755})
	s.kids[dir] = append(s.kids[dir], fs.FileInfoToDirEntry(info))
}

func (s *frozen) Stat(name string) (fs.FileInfo, error) {
	info, ok := s.entries[name]
	if !ok {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return info, nil
}

func (s *frozen) List(name string) ([]fs.DirEntry, error) {
	if _, err := s.Stat(name); err != nil {
		return nil, err
	}
	return s.kids[name], nil
}

func (s *frozen) Digest(name string) (string, error) { return s.entries[name].digest, nil }

func (s *frozen) Open(name string) (io.ReadCloser, error) {
	info, err := s.Stat(name)
	if err != nil {
		return nil, err
	}
	data, err := s.read(name)
	if err != nil {
		return nil, err
	}
	if DigestOf(data) != info.(frozenInfo).digest {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("the frozen file has another content than was stored")}
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

// frozenInfo is a file or directory of a frozen program.
type frozenInfo struct {
	name   string
	mode   fs.FileMode
	size   int64
	digest string
}

func (i frozenInfo) Name() string { return i.name }

func (i frozenInfo) Size() int64 { return i.size }

func (i frozenInfo) Mode() fs.FileMode { return i.mode }

func (i frozenInfo) ModTime() time.Time { return time.Time{} }

func (i frozenInfo) IsDir() bool { return i.mode.IsDir() }

func (i frozenInfo) Sys() any { return nil }
