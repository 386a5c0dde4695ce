// Package tracked tells which files of a workspace patterns track.
//
//   - What is tracked is what a checkpoint of a codon with these patterns would hold. The
//     walk that makes checkpoints decides it, and reads no content.
//   - A file that a pattern fits and no checkpoint takes is untracked, with the reason.
//
// It writes nothing.
package tracked

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hank/checkpoint"
	"hank/checkpoint/match"
	"hank/checkpoint/packdb"
	"hank/checkpoint/scan"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/recovery/layout"
)

// Files is what patterns track in a workspace.
type Files struct {
	Workspace string
	Patterns  []Pattern // as given; none: everything that no ignore rule excludes
	Files     []scan.File
	Untracked []Untracked // sorted by path
}

// Pattern is one of the patterns.
type Pattern struct {
	Text string
	Fits int // files, those that another pattern takes out and the untracked ones included
	// Anywhere is how many files **/ before the pattern fits, where the pattern itself
	// fits none: one without a slash is about the workspace's own files alone.
	Anywhere int
}

// Untracked is a file that the patterns select and that no checkpoint takes.
type Untracked struct{ Path, Why string }

// Bytes is the size of all files.
func (f *Files) Bytes() (sum int64) {
	for _, file := range f.Files {
		sum += file.Bytes
	}
	return sum
}

// In looks at a directory as the workspace of a new execution somewhere else.
func In(ctx context.Context, workspace string, patterns []string) (*Files, error) {
	l := layout.Layout{Root: filepath.Dir(workspace), Workspace: workspace}
	return look(ctx, l, patterns, func(req scan.SnapshotRequest) (scan.Listing, []string, error) {
		list, err := scan.ListNew(ctx, req)
		return list, nil, err
	})
}

// Of looks at the workspace of an execution: what its last checkpoint has stays tracked,
// whatever is ignored by now, and what it leaves out of every checkpoint is left out.
func Of(ctx context.Context, v *recovery.View, patterns []string) (*Files, error) {
	store, err := v.Store()
	if err != nil {
		return nil, err
	}
	defer store.Close()
	base := cmp.Or(v.State.CurrentPosition().CheckpointSHA, v.State.InitialCheckpoint)
	return look(ctx, v.Layout, patterns, func(req scan.SnapshotRequest) (scan.Listing, []string, error) {
		req.Base = checkpoint.SHA(base)
		list, err := store.List(ctx, req)
		return list, match.LeftOut(store.DB), err
	})
}

func look(ctx context.Context, l layout.Layout, patterns []string, list func(scan.SnapshotRequest) (scan.Listing, []string, error)) (*Files, error) {
	ws, err := l.OpenWorkspace()
	if err != nil {
		return nil, fmt.Errorf("the workspace cannot be read: %w", err)
	}
	defer ws.Close()
	selection := match.Selection{All: len(patterns) == 0, Patterns: patterns, Never: execution.Never}
	taken, leftOut, err := list(scan.SnapshotRequest{Workspace: ws, Selection: selection})
	if err != nil {
		return nil, forReaders(err)
	}
	f := &Files{Workspace: l.Workspace, Files: taken.Files}
	type form struct{ itself, anywhere func(string) bool }
	var forms []form
	for _, p := range patterns {
		f.Patterns = append(f.Patterns, Pattern{Text: p})
		p = strings.TrimPrefix(p, "!")
		of := form{itself: match.Selection{Patterns: []string{p}}.Matcher()}
		if !strings.Contains(strings.TrimSuffix(p, "/"), "/") {
			of.anywhere = match.Selection{Patterns: []string{"**/" + p}}.Matcher()
		}
		forms = append(forms, of)
	}
	selected := selection.Matcher()
	err = eachFile(ctx, l, func(path string) {
		for i, of := range forms {
			if of.itself(path) {
				f.Patterns[i].Fits++
			} else if of.anywhere != nil && of.anywhere(path) {
				f.Patterns[i].Anywhere++
			}
		}
		if selected(path) && !f.has(path) {
			f.Untracked = append(f.Untracked, Untracked{path, why(path, taken.Skipped, leftOut)})
		}
	})
	for i := range f.Patterns {
		if f.Patterns[i].Fits > 0 {
			f.Patterns[i].Anywhere = 0
		}
	}
	return f, err
}

// forReaders takes the advice to run the hank out of the error of a file of which no
// checkpoint can be made.
func forReaders(err error) error {
	var cannot *checkpoint.UnstableError
	if !errors.As(err, &cannot) {
		return err
	}
	with := *cannot
	with.Remedy = "make it readable, or put it into .gitignore"
	if errors.Is(err, packdb.ErrChanging) {
		with.Remedy = "try again when nothing writes to it, or put it into .gitignore"
	}
	return &with
}

func (f *Files) has(path string) bool {
	_, found := slices.BinarySearchFunc(f.Files, path, func(f scan.File, path string) int { return strings.Compare(f.Path, path) })
	return found
}

func why(path string, skipped []scan.Skipped, leftOut []string) string {
	within := func(dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }
	if i := slices.IndexFunc(skipped, func(s scan.Skipped) bool { return within(s.Path) }); i >= 0 {
		return skipped[i].Why
	}
	if slices.ContainsFunc(leftOut, within) {
		return "left out of every checkpoint"
	}
	return "excluded by an ignore rule"
}

// eachFile calls fn with every file of a workspace in the order of the paths, whatever
// ignore rules say. A directory in it that cannot be read is passed over.
func eachFile(ctx context.Context, l layout.Layout, fn func(path string)) error {
	root, err := os.OpenRoot(l.Workspace)
	if err != nil {
		return err
	}
	defer root.Close()
	apart := l.Apart()
	var found []string
	err = fs.WalkDir(root.FS(), ".", func(path string, e fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			if path == "." {
				return err
			}
			return nil // gone by now, or ignored: the checkpoint's walk has read what it needs
		case path != "." && (slices.Contains(execution.Never, path) || e.Name() == ".git" || apart(path)):
			if e.IsDir() {
				return fs.SkipDir
			}
		case !e.IsDir():
			found = append(found, path)
		}
		return nil
	})
	slices.Sort(found)
	for _, path := range found {
		fn(path)
	}
	return err
}
