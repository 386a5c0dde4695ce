package land

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"hank/checkpoint"
	"hank/checkpoint/diff"
	"hank/internal/shell"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/runtime/history"
	"hank/runtime/usergit"
	"hank/state"
)

// Options say what is to land where.
type Options struct {
	Branch   string // the new branch
	Update   bool   // it is there, and gets what is new
	Switch   bool   // HEAD and the index are put on it
	From, To string // see ResolveTarget; empty: initial, and the last codon that is settled
	Onto     string // a revision of the user's repository; empty: HEAD
	Squash   bool   // one commit
	Message  string // of that one commit; empty: made from the codons
	DryRun   bool   // make everything, and put nothing into the repository
	Now      time.Time
	Work     execution.Work
	trial    bool  // the landing is tried so that another message can name it: no error of it names others
	most     int64 // how many bytes of files may land; 0: any number
}

// command is the same landing on a commit, as a command.
func (o Options) command(onto string) string {
	text := "hank land"
	add := func(option, value string) {
		if value != "" {
			text += " " + shell.Quote(option+"="+value)
		}
	}
	add("--branch", o.Branch)
	add("--from", o.From)
	add("--to", o.To)
	if o.Squash {
		text += " --squash"
	}
	add("--message", o.Message)
	if o.Update {
		text += " --update"
	}
	if o.Switch {
		text += " --switch"
	}
	if o.DryRun {
		text += " --dry-run"
	}
	add("--onto", onto)
	return text
}

// with returns other options.
func (o Options) with(change func(*Options)) Options {
	change(&o)
	return o
}

// lander makes one landing.
type lander struct {
	o        Options
	v        *recovery.View
	store    *checkpoint.Store
	repo     *usergit.Repository
	stage    *usergit.Stage
	out      *Landing
	had      *Landing         // what left the branch where it is, or what this landing continues; nil: neither
	move     *usergit.Move    // of the index and HEAD; nil: none
	position usergit.Position // of HEAD, with Switch

	from, to    history.Target
	lineagePath []state.LineageEntry
	parts       []part
	base        map[string]usergit.Entry // the base commit's files
	committed   map[string]bool          // paths (in the repository) that the base has as the user left them between two codons: what lands there began from that
	excluded    map[string]string        // why a path (in the workspace) does not land
	uncovered   map[string]bool          // paths (in the repository) that ignore rules hid until a codon changed these
}

// inRepository is the path from the repository's root of one in the workspace.
func (l *lander) inRepository(path string) string { return l.repo.Prefix + path }

// inOther says in which other repository a path is, if it is in one.
func (l *lander) inOther(path string, nested map[string]bool) string {
	why := ""
	if l.base[l.inRepository(path)].Mode == usergit.Submodule {
		return "the path is a submodule"
	}
	eachAbove(path, func(dir string) {
		isNested, known := nested[dir]
		if !known {
			_, err := os.Lstat(filepath.Join(l.v.Layout.Workspace, filepath.FromSlash(dir), ".git"))
			isNested = err == nil
			nested[dir] = isNested
		}
		switch {
		case l.base[l.inRepository(dir)].Mode == usergit.Submodule:
			why = fmt.Sprintf("it is in the submodule %s", l.inRepository(dir))
		case isNested:
			why = fmt.Sprintf("it is in %s, a repository of its own", l.inRepository(dir))
		}
	})
	return why
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

func (l *lander) makeStage() (string, error) {
	if err := os.MkdirAll(l.v.Layout.Temps(), 0o700); err != nil {
		return "", err
	}
	return os.MkdirTemp(l.v.Layout.Temps(), "land-")
}

// onStage calls fn while there is a stage.
func (l *lander) onStage(fn func() error) (err error) {
	dir, err := l.makeStage()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if l.stage, err = l.repo.NewStage(dir); err != nil {
		return err
	}
	return fn()
}

// landedFile is what the branch has at a path: what git made of it.
type landedFile struct {
	entry  usergit.Entry
	source diff.Entry // what the checkpoint has
}

// file is a file of a checkpoint, for the stage.
func (l *lander) file(path string, e diff.Entry) (usergit.File, error) {
	f := usergit.File{Path: l.inRepository(path), Mode: 0o644}
	switch e.Mode {
	case checkpoint.Symlink:
		f.Mode = os.ModeSymlink
	case checkpoint.Executable:
		f.Mode = 0o755
	}
	size, err := l.store.BlobSize(e.Blob)
	if err != nil {
		return f, fmt.Errorf("reading %q from the checkpoint: %w", path, err)
	}
	f.Size = size
	f.Open = func() (io.ReadCloser, error) {
		r, err := l.store.OpenBlob(e.Blob)
		if err != nil {
			return nil, fmt.Errorf("reading %q from the checkpoint: %w", path, err)
		}
		return r, nil
	}
	return f, nil
}

// ref is the branch.
func (l *lander) ref() string { return "refs/heads/" + l.o.Branch }
