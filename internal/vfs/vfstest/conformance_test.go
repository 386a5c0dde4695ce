package vfstest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"hank/internal/vfs"
)

// verdict reduces an error to what callers of vfs.FS may rely on.
func verdict(err error) string {
	var pe *fs.PathError
	var le *os.LinkError
	var no syscall.Errno
	switch {
	case err == nil:
		return "ok"
	case err == io.EOF:
		return "EOF"
	case !errors.As(err, &pe) && !errors.As(err, &le):
		return fmt.Sprintf("neither PathError nor LinkError: %T %v", err, err)
	case errors.As(err, &no):
		return no.Error()
	case errors.Is(err, os.ErrClosed):
		return "closed"
	}
	return "other"
}

// actor plays one program on one file system and tells what it saw.
type actor struct {
	fs   vfs.FS
	dir  string
	open map[int]vfs.File
}

func (a *actor) path(name string) string { return filepath.Join(a.dir, filepath.FromSlash(name)) }

func (a *actor) file(k int, do func(vfs.File) (any, error)) string {
	f := a.open[k]
	if f == nil {
		return "no file"
	}
	v, err := do(f)
	return fmt.Sprint(v, " ", verdict(err))
}

func (a *actor) show(name string) string {
	fi, err := a.fs.Lstat(a.path(name))
	if err != nil {
		return verdict(err)
	}
	if fi.IsDir() {
		list, err := a.fs.ReadDir(a.path(name))
		s := "dir " + fi.Name() + " " + verdict(err)
		for _, e := range list {
			s += fmt.Sprint("\n", e.Name(), e.IsDir(), "\n", a.show(name+"/"+e.Name()))
		}
		return s
	}
	data, err := vfs.ReadFile(a.fs, a.path(name))
	return fmt.Sprintf("%s %v %d %x %s", fi.Name(), fi.Mode(), fi.Size(), data, verdict(err))
}

// step is one call of a program; both actors get the same one.
type step func(a *actor) string

var flags = []int{
	os.O_RDONLY, os.O_WRONLY, os.O_RDWR,
	os.O_RDWR | os.O_CREATE, os.O_WRONLY | os.O_CREATE | os.O_EXCL,
	os.O_WRONLY | os.O_CREATE | os.O_TRUNC, os.O_WRONLY | os.O_CREATE | os.O_APPEND,
	os.O_RDWR | os.O_TRUNC, os.O_RDWR | os.O_APPEND, os.O_RDONLY | os.O_CREATE,
}

func drawFileStep(t *rapid.T) step {
	k := rapid.IntRange(0, 2).Draw(t, "handle")
	off := rapid.Int64Range(-1, 12).Draw(t, "off")
	data := []byte(strings.Repeat(string(rapid.ByteRange('a', 'z').Draw(t, "byte")), rapid.IntRange(0, 5).Draw(t, "len")))
	whence := rapid.IntRange(0, 2).Draw(t, "whence")
	op := rapid.IntRange(0, 8).Draw(t, "fileop")
	return func(a *actor) string {
		return a.file(k, func(f vfs.File) (any, error) {
			switch op {
			case 0:
				return f.Write(data)
			case 1:
				return f.WriteAt(data, off)
			case 2:
				buf := make([]byte, 4)
				n, err := f.Read(buf)
				return buf[:n], err
			case 3:
				buf := make([]byte, 4)
				n, err := f.ReadAt(buf, off)
				return buf[:n], err
			case 4:
				if fi, err := f.Stat(); err == nil && fi.IsDir() {
					return nil, nil // where a directory ends is the file system's own affair
				}
				return f.Seek(off, whence)
			case 5:
				return nil, f.Truncate(off)
			case 6:
				return nil, f.Sync()
			case 7:
				return nil, f.Close()
			}
			fi, err := f.Stat()
			if err != nil || fi.IsDir() {
				return nil, err
			}
			return fmt.Sprint(filepath.Base(f.Name()), fi.Name(), fi.Size(), fi.Mode()), nil
		})
	}
}

func drawStep(t *rapid.T) step {
	names := rapid.SampledFrom([]string{"a", "b", "c", "d", "d/a", "d/b", "e", "e/x", "a/under", "e/x/y"})
	one, two := names.Draw(t, "name"), names.Draw(t, "name2")
	k := rapid.IntRange(0, 2).Draw(t, "handle")
	flag := rapid.SampledFrom(flags).Draw(t, "flag")
	op := rapid.IntRange(0, 7).Draw(t, "op")
	if op > 5 {
		return drawFileStep(t)
	}
	return func(a *actor) string {
		switch op {
		case 0:
			f, err := a.fs.OpenFile(a.path(one), flag, 0o640)
			if err == nil {
				if old := a.open[k]; old != nil {
					_ = old.Close()
				}
				a.open[k] = f
			}
			return verdict(err)
		case 1:
			return verdict(a.fs.Rename(a.path(one), a.path(two)))
		case 2:
			return verdict(a.fs.Link(a.path(one), a.path(two)))
		case 3:
			return verdict(a.fs.Remove(a.path(one)))
		case 4:
			return verdict(a.fs.Mkdir(a.path(one), 0o750))
		}
		if fi, err := a.fs.Lstat(a.path(one)); err == nil && !fi.IsDir() {
			return a.show(one) // Mem refuses SyncDir of a file, to find callers that mix them up
		}
		return verdict(a.fs.SyncDir(a.path(one))) + a.show(one)
	}
}

// TestMemBehavesAsTheRealFileSystem plays random programs on both and compares
// every answer and every byte.
func TestMemBehavesAsTheRealFileSystem(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the errors compared are Linux's")
	}
	t.Parallel()
	base := t.TempDir()
	round := 0
	rapid.Check(t, func(t *rapid.T) {
		round++
		dir := filepath.Join(base, fmt.Sprint(round))
		mem := &actor{NewMem(), "/w", map[int]vfs.File{}}
		real := &actor{vfs.OS, dir, map[int]vfs.File{}}
		for _, a := range []*actor{mem, real} {
			if err := vfs.MkdirAll(a.fs, a.dir, 0o755); err != nil {
				t.Fatal(err)
			}
			defer func() {
				for _, f := range a.open {
					_ = f.Close()
				}
			}()
		}
		defer os.RemoveAll(dir)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			s := drawStep(t)
			if m, r := s(mem), s(real); m != r {
				t.Fatalf("Mem says\n%s\nthe real one says\n%s", m, r)
			}
		}
		for _, n := range []string{"a", "b", "c", "d", "e"} {
			if m, r := mem.show(n), real.show(n); m != r {
				t.Fatalf("%s: Mem has\n%s\nthe real one has\n%s", n, m, r)
			}
		}
	})
}

func TestUtilitiesWorkOnEveryImplementation(t *testing.T) {
	t.Parallel()
	for name, fsys := range map[string]vfs.FS{"mem": NewMem(), "os": vfs.OS, "injected": Inject(NewMem(), func(Call) error { return nil })} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "x", "y")
			if err := vfs.MkdirAll(fsys, dir, 0o700); err != nil {
				t.Fatal(err)
			}
			f := filepath.Join(dir, "f")
			for _, s := range []string{"long content", "short"} {
				if err := vfs.ReplaceFile(fsys, f, []byte(s), 0o600, vfs.Durable); err != nil {
					t.Fatal(err)
				}
				if got, err := vfs.ReadFile(fsys, f); err != nil || !bytes.Equal(got, []byte(s)) {
					t.Fatalf("read %q, %v", got, err)
				}
			}
			if _, err := vfs.ReadFile(fsys, dir); err == nil {
				t.Fatal("a folder was read as a file")
			}
			if err := vfs.MkdirAll(fsys, filepath.Join(f, "z"), 0o700); err == nil {
				t.Fatal("a folder was made inside a file")
			}
		})
	}
}
