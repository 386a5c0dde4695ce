// Command upgrade makes the executions in fixtures/upgrade with a hank of an
// older version, which later versions must read, continue and roll back.
//
//	git worktree add /tmp/old COMMIT
//	(cd /tmp/old && go build -o /tmp/hank-old ./cmd/hank)
//	go run ./scripts/upgrade -hank /tmp/hank-old -o fixtures/upgrade/COMMIT [NAME…]
//
// Each archive NAME.tar.gz has the execution (e), for some its hank (e.hank), and
// what the older hank's readers printed (printed). The paths in it are those of the place where it
// was made; hank relocates an execution that has moved.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hank/internal/hankweave"
)

// program is the hank of the executions.
//
//go:embed hank
var program embed.FS

func main() {
	hank := flag.String("hank", "", "the older hank `PROGRAM`")
	out := flag.String("o", "", "the directory `DIR` for the archives")
	flag.Parse()
	if *hank == "" || *out == "" {
		flag.Usage()
		os.Exit(2)
	}
	if err := makeAll(*hank, *out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "upgrade:", err)
		os.Exit(1)
	}
}

func makeAll(hank, out string, only []string) error {
	hank, err := filepath.Abs(hank)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	var failed []error
	for _, s := range scenarios {
		if len(only) > 0 && !slices.Contains(only, s.name) {
			continue
		}
		// Everyone's executions are made in the same place: it is in their state.
		w := &maker{dir: filepath.Join(os.TempDir(), "hank-upgrade"), hank: hank}
		w.prepare()
		s.make(w)
		w.print()
		if w.err == nil {
			w.err = archive(w.dir, filepath.Join(out, s.name+".tar.gz"))
		}
		if err := errors.Join(w.err, os.RemoveAll(w.dir)); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w\n%s", s.name, err, w.log.String()))
		}
	}
	return errors.Join(failed...)
}

// A scenario brings an execution into a state.
type scenario struct {
	name string
	make func(w *maker)
}

// maker runs the older hank. After the first error it does nothing.
type maker struct {
	dir, hank string
	env       []string // added to the environment of the next commands
	log       bytes.Buffer
	running   *exec.Cmd
	err       error
}

func (w *maker) path(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

func (w *maker) gate(name string) string { return w.path("gate/" + name) }

func (w *maker) prepare() {
	w.err = errors.Join(os.RemoveAll(w.dir), os.MkdirAll(w.path("gate"), 0o755))
	if w.err != nil {
		return
	}
	files, err := fs.Sub(program, "hank")
	if err == nil {
		err = os.CopyFS(w.path("hank"), files)
	}
	w.err = err
}

func (w *maker) command(args ...string) *exec.Cmd {
	cmd := exec.Command(w.hank, args...)
	cmd.Dir = w.dir
	cmd.Env = append([]string{
		"PATH=" + w.path("bin") + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + w.dir, "USER=ada", "TZ=UTC",
		"HANK_STATE_DIR=" + w.path("registry"), "GATE=" + w.path("gate"),
	}, w.env...)
	return cmd
}

// run runs a command and wants an exit code; -1 stands for a kill.
func (w *maker) run(want int, args ...string) (stdout []byte) {
	if w.err != nil {
		return nil
	}
	cmd := w.command(args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&out, &w.log), &w.log
	fmt.Fprintf(&w.log, "$ hank %s\n", strings.Join(args, " "))
	err := cmd.Run()
	if cmd.ProcessState == nil {
		w.err = err
	} else if got := cmd.ProcessState.ExitCode(); got != want {
		w.err = fmt.Errorf("hank %s: exit code %d, want %d", strings.Join(args, " "), got, want)
	}
	return out.Bytes()
}

// killed runs a command that ends itself at a failpoint.
func (w *maker) killed(failpoint string, args ...string) {
	w.env = append(w.env, "HANK_FAILPOINT="+failpoint)
	w.run(-1, args...)
	w.env = w.env[:len(w.env)-1]
}

// start runs hank in the background until the codon work has begun.
func (w *maker) start(args ...string) {
	w.on("wait")
	if w.err != nil {
		return
	}
	w.running = w.command(args...)
	w.running.Stdout, w.running.Stderr = &w.log, &w.log
	if w.err = w.running.Start(); w.err == nil {
		w.await(w.gate("started"))
	}
}

// end waits for what was started and wants its exit code.
func (w *maker) end(want int) {
	if w.running == nil {
		return
	}
	_ = w.running.Wait()
	if got := w.running.ProcessState.ExitCode(); got != want && w.err == nil {
		w.err = fmt.Errorf("%v: exit code %d, want %d", w.running.Args, got, want)
	}
	w.running = nil
}

func (w *maker) signal(s os.Signal) {
	if w.err == nil {
		w.err = w.running.Process.Signal(s)
	}
}

func (w *maker) await(file string) {
	for began := time.Now(); w.err == nil; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(file); err == nil {
			return
		}
		if time.Since(began) > time.Minute {
			w.err = fmt.Errorf("%s does not come", file)
		}
	}
}

// on and off change what the codon work does.
func (w *maker) on(name string) { w.write("gate/"+name, "") }

func (w *maker) off(names ...string) {
	for _, name := range names {
		if w.err == nil {
			w.err = os.RemoveAll(w.gate(name))
		}
	}
}

func (w *maker) write(name, text string) {
	if w.err == nil {
		w.err = os.MkdirAll(filepath.Dir(w.path(name)), 0o755)
	}
	if w.err == nil {
		w.err = os.WriteFile(w.path(name), []byte(text), 0o644)
	}
}

// want looks for text in what show prints of the runs and their records.
func (w *maker) want(text string) {
	if out := w.run(0, "show", "--json", "-e", "e"); w.err == nil && !bytes.Contains(out, []byte(text)) {
		w.err = fmt.Errorf("the records have no %s", text)
	}
}

// finished makes an execution that has come to its end.
func (w *maker) finished() { w.run(0, "run", "hank", "-e", "e") }

// failed makes an execution whose codon work has failed.
func (w *maker) failed() {
	w.on("fail")
	w.run(1, "run", "hank", "-e", "e")
	w.off("fail")
}

// print keeps what the readers print, each with its exit code.
func (w *maker) print() {
	for _, reader := range []string{"status", "show", "checkpoints", "cost"} {
		if w.err != nil {
			return
		}
		out, err := w.command(reader, "--json", "-e", "e").Output()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			w.err = err
			return
		}
		code := 0
		if exit != nil {
			code = exit.ExitCode()
		}
		w.write(fmt.Sprintf("printed/%s.%d.json", reader, code), string(out))
	}
}

// archive packs what belongs to an execution.
func archive(dir, to string) (err error) {
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	for _, name := range []string{"e", "e.hank", "printed"} {
		if err := pack(t, dir, name); err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), z.Close())
}

func pack(t *tar.Writer, dir, name string) error {
	return filepath.WalkDir(filepath.Join(dir, name), func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		fi, err := e.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		var link string
		switch {
		case e.Type()&fs.ModeSymlink != 0:
			if link, err = os.Readlink(path); err != nil {
				return err
			}
		case e.Type()&(fs.ModeSocket|fs.ModeNamedPipe) != 0:
			return nil // a dead runtime's
		}
		h, err := tar.FileInfoHeader(fi, link)
		if err != nil {
			return err
		}
		h.Name, h.Format = filepath.ToSlash(rel), tar.FormatPAX
		h.Uid, h.Gid, h.Uname, h.Gname = 0, 0, "", ""
		h.AccessTime, h.ChangeTime = time.Time{}, time.Time{}
		if err := t.WriteHeader(h); err != nil || !fi.Mode().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil {
			_, err = t.Write(text)
		}
		return err
	})
}

// adopted lays out an execution that Hankweave began.
func (w *maker) adopted() {
	if w.err == nil {
		_, w.err = hankweave.Lay(w.path("e"), hankweave.Options{})
	}
}
