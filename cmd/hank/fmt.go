package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"hank/internal/term"
	"hank/internal/vfs"
	"hank/plan/diagnostic"
	"hank/plan/format"
	"hank/runtime/exitcode"
	"hank/runtime/report/output"
)

func fmtCommand() *cli.Command {
	return &cli.Command{
		Name: "fmt", Usage: "lay out hank.json and its companions uniformly", ArgsUsage: "[FILE|DIR|-...]",
		Description: `Changes only white space: order, numbers, strings and unknown fields stay as they are,
and laying out twice is the same as once. An object or array that begins on one line
stays there if it has at most 120 characters; else each member has its line. FILE is any
JSON file, such as that of a sentinel; DIR means the hank.json (or strand.json) and the
hankweave.json in it (default: the current directory). - reads standard input and prints
the result. A file that is no JSON, cannot be read or would have more than 16 MiB is
not touched, and the others are laid out. If one does not exist, nothing is changed.

Example: hank fmt --check my-hank other/hank.json

Exit code 0: all are laid out; 1: with --check, one is not; 2: one does not exist; 3: one cannot be.`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "check", Usage: "write nothing; list the files that would be changed"},
			jsonFlag,
		},
		Action: func(c *cli.Context) error {
			names, err := filesToFormat(c.Args().Slice())
			if err != nil {
				return err
			}
			done := output.Formatted{Schema: 1, Check: c.Bool("check"), Files: []output.FormattedFile{}}
			var code exitcode.Code
			for _, name := range names {
				f, err := layOut(c, name)
				if err != nil {
					return err
				}
				done.Files = append(done.Files, f)
				switch {
				case len(f.Diagnostics) > 0:
					code = exitcode.Invalid
					printFound(os.Stderr, f.Diagnostics)
				case !f.Changed || c.Bool("json") || name == "-" && !done.Check:
				case done.Check:
					say("%s:%d: would be laid out otherwise\n", f.File, f.Line)
				default:
					say("%s\n", f.File)
				}
				if f.Changed && done.Check && code == exitcode.Done {
					code = exitcode.Failed
				}
			}
			if c.Bool("json") {
				done.End(code)
				return jsonEnding(done, done.Error)
			}
			if code != exitcode.Done {
				return exitWith(code)
			}
			return nil
		},
	}
}

// filesToFormat are the files that arguments mean, each once.
func filesToFormat(args []string) ([]string, error) {
	if len(args) == 0 {
		args = []string{"."}
	}
	var names []string
	seen := map[string]bool{}
	add := func(name string) {
		if !seen[filepath.Clean(name)] {
			seen[filepath.Clean(name)] = true
			names = append(names, name)
		}
	}
	for _, arg := range args {
		fi, err := os.Stat(arg)
		switch {
		case arg == "-":
			add(arg)
			continue
		case err != nil:
			return nil, &exitcode.UsageError{Why: fmt.Sprintf("cannot read %s: %v; nothing was changed", arg, err)}
		case !fi.IsDir():
			add(arg)
			continue
		}
		none := true
		for _, name := range []string{"hank.json", "strand.json", "hankweave.json"} {
			if name = filepath.Join(arg, name); isFile(name) {
				add(name)
				none = false
			}
		}
		if none {
			return nil, &exitcode.UsageError{Why: fmt.Sprintf("there is no hank.json in %s; nothing was changed", arg)}
		}
	}
	return names, nil
}

func isFile(name string) bool {
	fi, err := os.Stat(name)
	return err == nil && fi.Mode().IsRegular()
}

// layOut lays out a file, or standard input.
func layOut(c *cli.Context, name string) (output.FormattedFile, error) {
	f := output.FormattedFile{File: name}
	var data []byte
	var err error
	if name == "-" {
		f.File = "standard input"
		data, err = io.ReadAll(io.LimitReader(c.App.Reader, format.Most+1))
		if err == nil && len(data) > format.Most {
			err = fmt.Errorf("it has more than %d bytes", format.Most)
		}
	} else {
		data, err = vfs.ReadLimited(name, format.Most)
	}
	if err != nil {
		f.Diagnostics = []diagnostic.Diagnostic{{Severity: diagnostic.Error, Rule: "missing-file", File: f.File, Message: err.Error()}}
		return f, nil
	}
	text, wrong := format.Text(f.File, data)
	if f.Diagnostics = wrong; len(wrong) > 0 {
		return f, nil
	}
	if f.Changed = !bytes.Equal(text, data); f.Changed {
		f.Line = firstOther(text, data)
	}
	switch {
	case c.Bool("check"):
	case name == "-" && !c.Bool("json"):
		_, err := os.Stdout.Write(text)
		return f, err
	case f.Changed && name != "-":
		return f, replace(name, data, text)
	}
	return f, nil
}

// firstOther is the first line in which two texts differ.
func firstOther(a, b []byte) int {
	line := 1
	for i := 0; i < min(len(a), len(b)) && a[i] == b[i]; i++ {
		if a[i] == '\n' {
			line++
		}
	}
	return line
}

// replace gives a file another text, whole, unless it is not the old one any more. What a
// link leads to is replaced, not the link.
func replace(name string, old, text []byte) (err error) {
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return err
	}
	fi, err := os.Stat(real)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(real), "."+filepath.Base(real)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()
	_, err = tmp.Write(text)
	if err == nil {
		err = tmp.Chmod(fi.Mode().Perm())
	}
	if err == nil {
		err = tmp.Sync()
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	if now, err := vfs.ReadLimited(real, format.Most); err != nil || !bytes.Equal(now, old) {
		return errors.Join(fmt.Errorf("%s was changed while it was laid out; it was left as it is", term.ShortPath(real)), err)
	}
	return os.Rename(tmp.Name(), real)
}
