//go:build unix

package checkpoint_test

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

	"hank/checkpoint/internal/testkit"
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
	for _, path := range everyPath(w.T, w.Ws.Path()) {
		path = strings.TrimSuffix(path, "/")
		if fi, err := os.Lstat(w.Path(path)); err == nil && want(fi) {
			found = append(found, path)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return found[w.rng.IntN(len(found))]
}

func isRegular(fi fs.FileInfo) bool { return fi.Mode().IsRegular() }

func isAny(fs.FileInfo) bool { return true }

// put makes room at a path and returns where it is, or "" if the system does
// not take it.
func (w *world) put(path string) string {
	full := w.Path(path)
	for dir := filepath.Dir(full); dir != w.Ws.Path(); dir = filepath.Dir(dir) {
		if fi, err := os.Lstat(dir); err == nil && !fi.IsDir() {
			testkit.Must(w.T, os.Remove(dir))
		}
	}
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		return ""
	}
	w.remove(path)
	return full
}

// remove deletes what is at a path; a repository's directory is deleted whole.
func (w *world) remove(path string) {
	if path != "" {
		testkit.Must(w.T, os.RemoveAll(w.Path(path)))
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
			testkit.Must(w.T, os.WriteFile(full, w.text(), 0o644))
		}
	case "race":
		if full := w.put(filepath.Join(filepath.Dir(anywhere), racer)); full != "" {
			testkit.Must(w.T, os.WriteFile(full, []byte("before the race"), 0o644))
		}
	case "link":
		if full := w.put(anywhere); full != "" {
			testkit.Must(w.T, os.Symlink([]string{"a", "..", "/etc/passwd", "nowhere", "a/b"}[rng.IntN(5)], full))
		}
	case "socket":
		if full := w.put(anywhere); full != "" {
			testkit.Must(w.T, unix.Mkfifo(full, 0o644))
			if rng.IntN(2) == 0 {
				testkit.Must(w.T, os.Remove(full))
				if err := unix.Mknod(full, unix.S_IFSOCK|0o644, 0); err != nil && !errors.Is(err, unix.EPERM) {
					testkit.Must(w.T, err)
				}
			}
		}
	case "empty folder", "folder":
		if full := w.put(anywhere); full != "" {
			testkit.Must(w.T, os.Mkdir(full, 0o755))
			if name == "folder" {
				testkit.Must(w.T, os.WriteFile(filepath.Join(full, "inside"), w.text(), 0o644))
			}
		}
	case "deep":
		if full := w.put("deep" + strings.Repeat("/d", 1+rng.IntN(80)) + "/f"); full != "" {
			testkit.Must(w.T, os.WriteFile(full, w.text(), 0o644))
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
			if err := os.Rename(w.Path(from), full); err != nil && !errors.Is(err, fs.ErrNotExist) { // room was made of it
				testkit.Must(w.T, err)
			}
		}
		return from + " to " + anywhere
	case "nested":
		if full := w.put(anywhere); full != "" {
			testkit.Must(w.T, os.Mkdir(full, 0o755))
			testkit.Must(w.T, os.WriteFile(filepath.Join(full, "x.log"), w.text(), 0o644))
			testkit.Stock(w.T, "init", "-q", full)
			if rng.IntN(2) == 0 {
				testkit.Stock(w.T, "-C", full, "add", "-f", ".")
				testkit.Stock(w.T, "-C", full, "commit", "-qm", "one")
			}
		}
	case "rules":
		if !w.rules {
			return ""
		}
		full := w.Path(".gitignore")
		if dir := w.existing(fs.FileInfo.IsDir); dir != "" && rng.IntN(2) == 0 {
			full = w.Path(dir + "/.gitignore")
		}
		var text string
		for range rng.IntN(4) {
			text += ruleLines[rng.IntN(len(ruleLines))] + []string{"\n", "\r\n"}[rng.IntN(2)]
		}
		if fi, err := os.Lstat(full); err == nil && fi.IsDir() {
			return ""
		}
		testkit.Must(w.T, os.RemoveAll(full))
		testkit.Must(w.T, os.WriteFile(full, []byte(text), 0o644))
		return full + " " + text
	case "index":
		if w.common == "" || old == "" {
			return ""
		}
		stockMayFail(w, "-C", w.Ws.Path(), "update-index", "--add", "--", old)
	case "special":
		if full := w.put(filepath.Join(filepath.Dir(anywhere), []string{".gitmodules", ".gitattributes"}[rng.IntN(2)])); full != "" {
			testkit.Must(w.T, os.WriteFile(full, []byte("* text=auto eol=crlf export-subst filter=lfs ident working-tree-encoding=UTF-16\n"), 0o644))
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
		testkit.Must(w.T, unix.Fstat(m.fd, &st))
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
	cmd := testkit.StockCommand(args...)
	testkit.Must(w.T, cmd.Start())
	timer := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	_ = cmd.Wait()
}

// change does something to a file that is there.
func (w *world) change(name, old string) {
	full := w.Path(old)
	fi, err := os.Lstat(full)
	testkit.Must(w.T, err)
	sameSize := bytes.Repeat([]byte{byte('a' + w.rng.IntN(26))}, int(fi.Size()))
	switch name {
	case "same size, old time":
		testkit.Must(w.T, os.WriteFile(full, sameSize, 0o644))
		testkit.Must(w.T, os.Chtimes(full, time.Time{}, fi.ModTime()))
	case "overwrite":
		testkit.Must(w.T, os.WriteFile(full, sameSize, 0o644))
	case "zeroed":
		testkit.Must(w.T, errors.Join(os.Truncate(full, 0), os.Truncate(full, fi.Size()), os.Chtimes(full, time.Time{}, fi.ModTime())))
	case "sparse":
		testkit.Must(w.T, os.Truncate(full, fi.Size()+int64(w.rng.IntN(200_000))))
	case "grow":
		f, err := os.OpenFile(full, os.O_WRONLY|os.O_APPEND, 0)
		testkit.Must(w.T, err)
		_, err = f.WriteString("more")
		testkit.Must(w.T, errors.Join(err, f.Close()))
	case "mode":
		testkit.Must(w.T, os.Chmod(full, []fs.FileMode{0o644, 0o755, 0o600, 0o700, 0o654, 0o645, 0o444 | fs.ModeSetuid, 0o1777}[w.rng.IntN(8)]))
	case "replace": // by another inode, with the same size and time
		testkit.Must(w.T, os.WriteFile(w.Path("replacement"), sameSize, fi.Mode().Perm()))
		testkit.Must(w.T, os.Chtimes(w.Path("replacement"), time.Time{}, fi.ModTime()))
		testkit.Must(w.T, os.Rename(w.Path("replacement"), full))
	case "hard link":
		path := w.somewhere()
		if path == old || strings.HasPrefix(old+"/", path+"/") || strings.HasPrefix(path+"/", old+"/") {
			return
		}
		if twin := w.put(path); twin != "" {
			if err := os.Link(full, twin); err != nil && !errors.Is(err, fs.ErrNotExist) {
				testkit.Must(w.T, err)
			}
		}
	case "old folder time":
		dir := filepath.Dir(full)
		at, err := os.Stat(dir)
		testkit.Must(w.T, err)
		testkit.Must(w.T, os.WriteFile(filepath.Join(dir, "late"), w.text(), 0o644))
		testkit.Must(w.T, os.Chtimes(dir, time.Time{}, at.ModTime()))
	case "map":
		if fi.Size() == 0 || len(w.maps) > 8 {
			return
		}
		fd, err := unix.Open(full, unix.O_RDWR, 0)
		testkit.Must(w.T, err)
		data, err := unix.Mmap(fd, 0, int(fi.Size()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		testkit.Must(w.T, errors.Join(err, unix.Close(fd)))
		fd, err = unix.Open(full, unix.O_RDONLY, 0)
		testkit.Must(w.T, err)
		w.maps = append(w.maps, mapping{data, fd})
	default:
		w.T.Fatalf("there is no move called %s", name)
	}
}

// racers returns how many files may change while they are read: those of that
// name, and whatever else the same files are called.
func (w *world) racers() (n int) {
	paths := everyPath(w.T, w.Ws.Path())
	racing := map[uint64]bool{}
	for _, count := range []bool{false, true} {
		for _, path := range paths {
			fi, err := os.Lstat(w.Path(path))
			testkit.Must(w.T, err)
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
		for _, path := range everyPath(w.T, w.Ws.Path()) {
			fi, err := os.Lstat(w.Path(path))
			if err != nil || filepath.Base(path) != racer || !fi.Mode().IsRegular() {
				continue
			}
			switch kind {
			case 0, 1: // grows, or shrinks
				_ = os.Truncate(w.Path(path), fi.Size()*2*int64(kind)+int64(tries))
			case 2: // other bytes, same size
				_ = os.WriteFile(w.Path(path), bytes.Repeat([]byte{byte(tries)}, int(fi.Size())), 0)
			case 3:
				_ = os.Remove(w.Path(path))
			case 4:
				_ = os.Remove(w.Path(path))
				_ = os.Symlink("raced", w.Path(path))
			case 5:
				_ = os.Chmod(w.Path(path), fs.FileMode(0o600|tries%2*0o100))
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
		at := w.Ws.Path()
		testkit.Stock(w.T, "init", "-q", at)
		w.common = w.Path(".git")
		w.Write("a", "a\n")
		w.Write(".gitattributes", "* text=auto eol=crlf\n*.b export-subst filter=lfs\n")
		w.Write(".git/hooks/post-checkout", "#!/bin/sh\nexit 1\n")
		testkit.Must(w.T, os.Chmod(w.Path(".git/hooks/post-checkout"), 0o755))
		testkit.Stock(w.T, "-C", at, "config", "filter.lfs.clean", "false")
		testkit.Stock(w.T, "-C", at, "config", "core.autocrlf", "true")
		w.Write(".git/info/exclude", "c d\n*.tmp\n")
		from := filepath.Join(filepath.Dir(at), "module")
		testkit.Stock(w.T, "init", "-q", from)
		testkit.Stock(w.T, "-C", from, "commit", "-q", "--allow-empty", "-m", "one")
		testkit.Stock(w.T, "-C", at, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", from, "module")
		w.Write("module/tracked", "x")
		testkit.Stock(w.T, "-C", at, "add", "a", ".gitattributes")
		testkit.Stock(w.T, "-C", at, "commit", "-q", "--no-verify", "-m", "one")
	},
	func(w *world) { // a linked worktree
		w.rules = true
		main := filepath.Join(filepath.Dir(w.Ws.Path()), "main")
		testkit.Stock(w.T, "init", "-q", main)
		testkit.Must(w.T, os.WriteFile(filepath.Join(main, "x.log"), []byte("x"), 0o644))
		testkit.Stock(w.T, "-C", main, "add", "-f", "x.log")
		testkit.Stock(w.T, "-C", main, "commit", "-qm", "one")
		testkit.Stock(w.T, "-C", main, "worktree", "add", "-q", "--force", w.Ws.Path())
		w.common = filepath.Join(main, ".git")
		testkit.Must(w.T, os.WriteFile(filepath.Join(w.common, "info/exclude"), []byte("*.log\n"), 0o644))
	},
}
