// Package session keeps what agents remember with the checkpoints, and brings it back.
//
//   - Files are the files of one session of an agent, in a directory that is no workspace.
//   - A session checkpoint is a commit of them, and of nothing else. The reference of a
//     run (githistory.Sessions) leads to its newest one, which leads to those before it. No branch
//     does, so that the trees of the workspace stay what they are, and an export of
//     branches has none of what agents said.
//
// It knows no agents: their harnesses name the files. It records nothing in the state.
package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"hank/checkpoint"
	"hank/recovery/execution"
	"hank/recovery/githistory"
	"hank/state"
)

// Files are where the files of a session are: a directory, and their names in it,
// slash-separated.
type Files struct {
	Root  string
	Names []string
}

// Keep makes a session checkpoint. What title says of it is the first line of its message.
// Where a newer one is not needed, it returns one that has the same: of known, or the
// newest of the run.
func Keep(ctx context.Context, x *execution.Execution, run state.RunID, title string, f Files, known ...state.SHA) (state.SHA, error) {
	root, err := os.OpenRoot(f.Root)
	if err != nil {
		return "", err
	}
	defer root.Close()
	files := make([]checkpoint.TreeFile, 0, len(f.Names))
	for _, name := range f.Names {
		files = append(files, checkpoint.TreeFile{Path: name, Mode: checkpoint.Regular, Open: func() (io.ReadCloser, int64, error) { return open(root, name) }})
	}
	return x.CommitApart(ctx, githistory.Sessions(run), title+"\n", files, known...)
}

func open(root *os.Root, name string) (io.ReadCloser, int64, error) {
	file, err := root.Open(name)
	if err != nil {
		return nil, 0, err
	}
	fi, err := file.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", name)
	}
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, fi.Size(), nil
}

// BringBack makes the files of a session those of a session checkpoint, and reports
// whether they were others. The agent must not run. A call that was cut short is made good
// by the next one.
//
//  1. The checkpoint is read whole: it must be there before anything is replaced.
//  2. What is there and not in a checkpoint is kept in one, so that nothing is lost.
//  3. Each file is written beside its place and renamed into it.
//  4. Files that the checkpoint does not have are removed.
func BringBack(ctx context.Context, x *execution.Execution, run state.RunID, title string, f Files, to state.SHA) (changed bool, err error) {
	tree, err := x.Tree(to)
	if err == nil {
		var whole bool
		if whole, err = x.Store.IsComplete(ctx, checkpoint.SHA(to)); err == nil && !whole {
			err = errors.New("parts of it are lost")
		}
	}
	if err != nil {
		return false, fmt.Errorf("session checkpoint %.12s: %w", to, err)
	}
	if err := os.MkdirAll(f.Root, 0o700); err != nil {
		return false, err
	}
	kept, err := Keep(ctx, x, run, title, f, to)
	if err != nil || kept == to {
		return false, err
	}
	root, err := os.OpenRoot(f.Root)
	if err != nil {
		return false, err
	}
	defer root.Close()
	has := map[string]bool{}
	err = x.Store.Walk(tree, func(name string, _ checkpoint.Mode, blob checkpoint.SHA) error {
		has[name] = true
		return write(root, name, func() (io.ReadCloser, error) { return x.Store.OpenBlob(blob) })
	})
	if err != nil {
		return true, fmt.Errorf("session checkpoint %.12s: %w", to, err)
	}
	for _, name := range f.Names {
		if has[name] {
			continue
		}
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return true, err
		}
	}
	return true, nil
}

// write puts a file in the place of what is there.
func write(root *os.Root, name string, content func() (io.ReadCloser, error)) error {
	from, err := content()
	if err != nil {
		return err
	}
	defer from.Close()
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	beside := name + ".hank"
	to, err := root.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if err := errors.Join(err, to.Close()); err != nil {
		return err
	}
	return root.Rename(beside, name)
}
