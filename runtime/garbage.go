package runtime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"hank/recovery"
	"hank/state"
)

// Garbage is something in an execution that takes room and that the present
// state does not need.
type Garbage struct {
	What   string `json:"what"`
	Path   string `json:"path"`
	Files  int    `json:"files"`
	Bytes  int64  `json:"bytes"`
	Remove bool   `json:"remove"` // gc --apply deletes it
}

// ListGarbage lists what an execution could do without. What is in quarantine
// goes when it is older than the age.
func ListGarbage(v *recovery.View, age time.Duration, now time.Time) []Garbage {
	l := v.Layout
	list := []Garbage{
		{What: "cost index and stat cache (made anew when needed)", Path: l.Index(), Remove: true},
		{What: "temporary files of agents", Path: temporary(l), Remove: true},
	}
	for _, name := range v.Quarantined() {
		path := filepath.Join(l.Quarantine(), name)
		fi, err := os.Lstat(path)
		old := err == nil && now.Sub(fi.ModTime()) > age
		list = append(list, Garbage{What: "damaged, set aside", Path: path, Remove: old})
	}
	onThread := map[state.RunID]bool{}
	for _, step := range v.State.Thread() {
		onThread[step.Run.RunID] = true
	}
	for _, r := range v.State.Runs {
		if !onThread[r.RunID] && r != v.State.Newest() {
			list = append(list, Garbage{What: "transcripts of an abandoned run", Path: l.RunFolder(r.RunID)})
		}
	}
	list = append(list, Garbage{What: "homes of agents", Path: l.Homes()}, Garbage{What: "archived files", Path: l.Archive()})
	kept := list[:0]
	for _, g := range list {
		if g.Files, g.Bytes = measure(g.Path); g.Files > 0 {
			kept = append(kept, g)
		}
	}
	return kept
}

func temporary(l recovery.Layout) string { return filepath.Join(l.Hankweave(), "tmp") }

// measure counts the files below a path and their bytes.
func measure(path string) (files int, bytes int64) {
	_ = filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil // what cannot be read is not counted
		}
		if fi, err := e.Info(); err == nil {
			files, bytes = files+1, bytes+fi.Size()
		}
		return nil
	})
	return files, bytes
}

// Collect deletes the garbage that may go, while it holds the execution, and
// then makes the cost index anew. It returns what it deleted.
func Collect(ctx context.Context, root string, age time.Duration, now time.Time) ([]Garbage, error) {
	x, err := recovery.Open(ctx, root, recovery.Options{Command: "hank gc", Reap: Reap})
	if err != nil {
		return nil, err
	}
	v := &recovery.View{Layout: x.Layout, State: x.State()}
	var gone []Garbage
	var errs []error
	for _, g := range ListGarbage(v, age, now) {
		if !g.Remove || g.Path == x.Layout.Index() {
			continue
		}
		if err := errors.Join(os.RemoveAll(g.Path), removeNote(g.Path)); err != nil {
			errs = append(errs, fmt.Errorf("deleting %s: %w", g.Path, err))
			continue
		}
		gone = append(gone, g)
	}
	if err := errors.Join(append(errs, x.Close())...); err != nil {
		return gone, err
	}
	// The store keeps its stat cache until it is closed.
	files, bytes := measure(x.Layout.Index())
	if err := os.RemoveAll(x.Layout.Index()); err != nil {
		return gone, fmt.Errorf("deleting %s: %w", x.Layout.Index(), err)
	}
	gone = append(gone, Garbage{What: "cost index and stat cache (made anew when needed)", Path: x.Layout.Index(), Files: files, Bytes: bytes, Remove: true})
	return gone, CatchUpCosts(root)
}

// removeNote deletes what explains a file in quarantine.
func removeNote(path string) error {
	if err := os.Remove(path + ".why"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
