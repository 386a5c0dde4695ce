//go:build unix

package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// racer is the name of files that change while they are read.
const racer = "racer"

var oracleNames = []string{
	"a", "b", "A", "a.b", "a0", "c d", " lead", "trail ", "-x", "--", "new\nline", "tab\t", "\xff\xfe", "\xc3", strings.Repeat("n", 255), "\u00e9", "e\u0301", "\u2603",
	".hidden", "...", "..a", "a:b", `a\b`, "CON", "nul.txt", "x.log", "y.log", "build", "out", racer, "lib",
	".GIT", ".Git", "git~1", "GITMOD~1", ".git ", ".git.", ".g\u200cit", ".gitmodules", ".gitattributes", ".gitkeep", "%hank%x", "%hank%", ".gitignore~",
}

var ruleLines = []string{"*.log", "build/", "/out", "a", "!x.log", "lib/*", "!lib/a", "**/b", "b/**", `\ lead`, "*.b", "n*", "[a-c]0", "trail\\ ", "#x", "!/out", ".*", "!.gitignore", "\xff*", "*"}

// somewhere returns a path of one to four names, mostly of few.
func (w *world) somewhere() string {
	parts := []string{}
	for range 1 + w.rng.IntN(2) + w.rng.IntN(3) {
		parts = append(parts, oracleNames[w.rng.IntN(len(oracleNames))])
		if w.rng.IntN(3) > 0 {
			parts[len(parts)-1] = oracleNames[w.rng.IntN(4)] // so that moves meet
		}
	}
	return strings.Join(parts, "/")
}

// existing returns a path that is there, of a kind, or "".
func (w *world) existing(want func(fs.FileInfo) bool) string {
	var found []string
	for _, path := range everyPath(w.t, w.ws.Path()) {
		path = strings.TrimSuffix(path, "/")
		if fi, err := os.Lstat(w.path(path)); err == nil && want(fi) {
			found = append(found, path)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return found[w.rng.IntN(len(found))]
}

func isRegular(fi fs.FileInfo) bool { return fi.Mode().IsRegular() }
func isAny(fs.FileInfo) bool        { return true }

// put makes room at a path and returns where it is, or "" if the system does
// not take it.
func (w *world) put(path string) string {
	full := w.path(path)
	for dir := filepath.Dir(full); dir != w.ws.Path(); dir = filepath.Dir(dir) {
		if fi, err := os.Lstat(dir); err == nil && !fi.IsDir() {
			must(w.t, os.Remove(dir))
		}
	}
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		return ""
	}
	w.remove(path)
	return full
}

// remove deletes what is at a path; a repository's folder is deleted whole.
func (w *world) remove(path string) {
	if path != "" {
		must(w.t, os.RemoveAll(w.path(path)))
	}
}

func (w *world) text() []byte {
	switch w.rng.IntN(12) {
	case 0:
		return nil
	case 1:
		return []byte("[submodule \"../x\"]\n\turl = -u\n")
	case 2:
		return []byte("version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("0", 64) + "\nsize 12\n")
	case 3:
		return []byte("a\r\n$Id$ $Format:%H$\r\n")
	case 4:
		return bytes.Repeat([]byte{byte(w.rng.Uint32())}, 70_000)
	}
	return fmt.Appendf(nil, "%020d", w.rng.Uint64())
}

// move changes the workspace in one way that a careless scan might miss.
func (w *world) move() {
	names := []string{"write", "write", "write", "write", "same size, old time", "overwrite", "grow", "mode", "link", "remove", "folder", "rename", "rename a folder", "empty folder", "hard link",
		"socket", "nested", "sparse", "zeroed", "map", "poke", "poke", "poke", "unmap", "replace", "old folder time", "deep", "rules", "index", "special", "race"}
	name := names[w.rng.IntN(len(names))]
	path := w.play(name)
	w.moves = append(w.moves, name+" "+path)
}

func (w *world) play(name string) string {
	rng := w.rng
	anywhere := w.somewhere()
	old := w.existing(isRegular)
	switch name {
	case "write":
		if full := w.put(anywhere); full != "" {
			must(w.t, os.WriteFile(full, w.text(), 0o644))
		}
	case "race":
		if full := w.put(filepath.Join(filepath.Dir(anywhere), racer)); full != "" {
			must(w.t, os.WriteFile(full, []byte("before the race"), 0o644))
		}
	case "link":
		if full := w.put(anywhere); full != "" {
			must(w.t, os.Symlink([]string{"a", "..", "/etc/passwd", "nowhere", "a/b"}[rng.IntN(5)], full))
		}
	case "socket":
		if full := w.put(anywhere); full != "" {
			must(w.t, unix.Mkfifo(full, 0o644))
			if rng.IntN(2) == 0 {
				must(w.t, os.Remove(full))
				if err := unix.Mknod(full, unix.S_IFSOCK|0o644, 0); err != nil && !errors.Is(err, unix.EPERM) {
					must(w.t, err)
				}
			}
		}
	case "empty folder", "folder":
		if full := w.put(anywhere); full != "" {
			must(w.t, os.Mkdir(full, 0o755))
			if name == "folder" {
				must(w.t, os.WriteFile(filepath.Join(full, "inside"), w.text(), 0o644))
			}
		}
	case "deep":
		if full := w.put("deep" + strings.Repeat("/d", 1+rng.IntN(80)) + "/f"); full != "" {
			must(w.t, os.WriteFile(full, w.text(), 0o644))
		}
	case "remove":
		anywhere = w.existing(isAny)
		w.remove(anywhere)
	case "rename", "rename a folder":
		from := old
		if name != "rename" {
			from = w.existing(fs.FileInfo.IsDir)
		}
		if from == "" || strings.HasPrefix(anywhere+"/", from+"/") || strings.HasPrefix(from+"/", anywhere+"/") {
			return ""
		}
		if full := w.put(anywhere); full != "" {
			if err := os.Rename(w.path(from), full); err != nil && !errors.Is(err, fs.ErrNotExist) { // room was made of it
				must(w.t, err)
			}
		}
		return from + " to " + anywhere
	case "nested":
		if full := w.put(anywhere); full != "" {
			must(w.t, os.Mkdir(full, 0o755))
			must(w.t, os.WriteFile(filepath.Join(full, "x.log"), w.text(), 0o644))
			stock(w.t, "init", "-q", full)
			if rng.IntN(2) == 0 {
				stock(w.t, "-C", full, "add", "-f", ".")
				stock(w.t, "-C", full, "commit", "-qm", "one")
			}
		}
	case "rules":
		if !w.rules {
			return ""
		}
		full := w.path(".gitignore")
		if dir := w.existing(fs.FileInfo.IsDir); dir != "" && rng.IntN(2) == 0 {
			full = w.path(dir + "/.gitignore")
		}
		var text string
		for range rng.IntN(4) {
			text += ruleLines[rng.IntN(len(ruleLines))] + []string{"\n", "\r\n"}[rng.IntN(2)]
		}
		if fi, err := os.Lstat(full); err == nil && fi.IsDir() {
			return ""
		}
		must(w.t, os.RemoveAll(full))
		must(w.t, os.WriteFile(full, []byte(text), 0o644))
		return full + " " + text
	case "index":
		if w.common == "" || old == "" {
			return ""
		}
		stockMayFail(w, "-C", w.ws.Path(), "update-index", "--add", "--", old)
	case "special":
		if full := w.put(filepath.Join(filepath.Dir(anywhere), []string{".gitmodules", ".gitattributes"}[rng.IntN(2)])); full != "" {
			must(w.t, os.WriteFile(full, []byte("* text=auto eol=crlf export-subst filter=lfs ident working-tree-encoding=UTF-16\n"), 0o644))
		}
	case "unmap":
		w.release()
	case "poke":
		if len(w.maps) == 0 {
			return ""
		}
		m := w.maps[rng.IntN(len(w.maps))]
		at := rng.IntN(len(m.data))
		var st unix.Stat_t
		must(w.t, unix.Fstat(m.fd, &st))
		if int64(at) < st.Size { // else: SIGBUS
			m.data[at]++
		}
	default:
		if old == "" {
			return ""
		}
		w.change(name, old)
		return old
	}
	return anywhere
}

func stockMayFail(w *world, args ...string) {
	// A name may be one that git does not take; then its index is as it was. Nor
	// must git wait for ever, as it does where a FIFO stands for a file that it
	// reads.
	cmd := stockCommand(args...)
	must(w.t, cmd.Start())
	timer := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	_ = cmd.Wait()
}

// change does something to a file that is there.
func (w *world) change(name, old string) {
	full := w.path(old)
	fi, err := os.Lstat(full)
	must(w.t, err)
	sameSize := bytes.Repeat([]byte{byte('a' + w.rng.IntN(26))}, int(fi.Size()))
	switch name {
	case "same size, old time":
		must(w.t, os.WriteFile(full, sameSize, 0o644))
		must(w.t, os.Chtimes(full, time.Time{}, fi.ModTime()))
	case "overwrite":
		must(w.t, os.WriteFile(full, sameSize, 0o644))
	case "zeroed":
		must(w.t, errors.Join(os.Truncate(full, 0), os.Truncate(full, fi.Size()), os.Chtimes(full, time.Time{}, fi.ModTime())))
	case "sparse":
		must(w.t, os.Truncate(full, fi.Size()+int64(w.rng.IntN(200_000))))
	case "grow":
		f, err := os.OpenFile(full, os.O_WRONLY|os.O_APPEND, 0)
		must(w.t, err)
		_, err = f.WriteString("more")
		must(w.t, errors.Join(err, f.Close()))
	case "mode":
		must(w.t, os.Chmod(full, []fs.FileMode{0o644, 0o755, 0o600, 0o700, 0o654, 0o645, 0o444 | fs.ModeSetuid, 0o1777}[w.rng.IntN(8)]))
	case "replace": // by another inode, with the same size and time
		must(w.t, os.WriteFile(w.path("replacement"), sameSize, fi.Mode().Perm()))
		must(w.t, os.Chtimes(w.path("replacement"), time.Time{}, fi.ModTime()))
		must(w.t, os.Rename(w.path("replacement"), full))
	case "hard link":
		path := w.somewhere()
		if path == old || strings.HasPrefix(old+"/", path+"/") || strings.HasPrefix(path+"/", old+"/") {
			return
		}
		if twin := w.put(path); twin != "" {
			if err := os.Link(full, twin); err != nil && !errors.Is(err, fs.ErrNotExist) {
				must(w.t, err)
			}
		}
	case "old folder time":
		dir := filepath.Dir(full)
		at, err := os.Stat(dir)
		must(w.t, err)
		must(w.t, os.WriteFile(filepath.Join(dir, "late"), w.text(), 0o644))
		must(w.t, os.Chtimes(dir, time.Time{}, at.ModTime()))
	case "map":
		if fi.Size() == 0 || len(w.maps) > 8 {
			return
		}
		fd, err := unix.Open(full, unix.O_RDWR, 0)
		must(w.t, err)
		data, err := unix.Mmap(fd, 0, int(fi.Size()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		must(w.t, errors.Join(err, unix.Close(fd)))
		fd, err = unix.Open(full, unix.O_RDONLY, 0)
		must(w.t, err)
		w.maps = append(w.maps, mapping{data, fd})
	default:
		w.t.Fatalf("there is no move called %s", name)
	}
}

// racers returns how many files may change while they are read: those of that
// name, and whatever else the same files are called.
func (w *world) racers() (n int) {
	paths := everyPath(w.t, w.ws.Path())
	racing := map[uint64]bool{}
	for _, count := range []bool{false, true} {
		for _, path := range paths {
			fi, err := os.Lstat(w.path(path))
			must(w.t, err)
			ino := uint64(fi.Sys().(*syscall.Stat_t).Ino)
			if count && racing[ino] {
				n++
			}
			if filepath.Base(path) == racer {
				racing[ino] = true
			}
		}
	}
	return n
}

// race returns what happens to a racer between its opening and its reading.
func (w *world) race(racers int) func(string) {
	many := w.raced.Swap(false) && racers > 1 // then it is over
	if w.calm {
		return nil
	}
	kind, tries := w.rng.IntN(6), 0
	return func(name string) {
		if name != racer {
			return
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if tries++; tries > 2+kind%3*40 || many {
			return
		}
		w.raced.Store(true)
		for _, path := range everyPath(w.t, w.ws.Path()) {
			fi, err := os.Lstat(w.path(path))
			if err != nil || filepath.Base(path) != racer || !fi.Mode().IsRegular() {
				continue
			}
			switch kind {
			case 0, 1: // grows, or shrinks
				_ = os.Truncate(w.path(path), fi.Size()*2*int64(kind)+int64(tries))
			case 2: // other bytes, same size
				_ = os.WriteFile(w.path(path), bytes.Repeat([]byte{byte(tries)}, int(fi.Size())), 0)
			case 3:
				_ = os.Remove(w.path(path))
			case 4:
				_ = os.Remove(w.path(path))
				_ = os.Symlink("raced", w.path(path))
			case 5:
				_ = os.Chmod(w.path(path), fs.FileMode(0o600|tries%2*0o100))
			}
		}
	}
}

// kinds are the ways in which a workspace begins.
var kinds = []func(*world){
	func(*world) {},
	func(w *world) { w.rules = true },
	func(w *world) { // someone's own repository, with everything that git does to files
		w.rules = true
		at := w.ws.Path()
		stock(w.t, "init", "-q", at)
		w.common = w.path(".git")
		w.write("a", "a\n")
		w.write(".gitattributes", "* text=auto eol=crlf\n*.b export-subst filter=lfs\n")
		w.write(".git/hooks/post-checkout", "#!/bin/sh\nexit 1\n")
		must(w.t, os.Chmod(w.path(".git/hooks/post-checkout"), 0o755))
		stock(w.t, "-C", at, "config", "filter.lfs.clean", "false")
		stock(w.t, "-C", at, "config", "core.autocrlf", "true")
		w.write(".git/info/exclude", "c d\n*.tmp\n")
		from := filepath.Join(filepath.Dir(at), "module")
		stock(w.t, "init", "-q", from)
		stock(w.t, "-C", from, "commit", "-q", "--allow-empty", "-m", "one")
		stock(w.t, "-C", at, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", from, "module")
		w.write("module/tracked", "x")
		stock(w.t, "-C", at, "add", "a", ".gitattributes")
		stock(w.t, "-C", at, "commit", "-q", "--no-verify", "-m", "one")
	},
	func(w *world) { // a linked worktree
		w.rules = true
		main := filepath.Join(filepath.Dir(w.ws.Path()), "main")
		stock(w.t, "init", "-q", main)
		must(w.t, os.WriteFile(filepath.Join(main, "x.log"), []byte("x"), 0o644))
		stock(w.t, "-C", main, "add", "-f", "x.log")
		stock(w.t, "-C", main, "commit", "-qm", "one")
		stock(w.t, "-C", main, "worktree", "add", "-q", "--force", w.ws.Path())
		w.common = filepath.Join(main, ".git")
		must(w.t, os.WriteFile(filepath.Join(w.common, "info/exclude"), []byte("*.log\n"), 0o644))
	},
}
