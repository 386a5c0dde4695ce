package runtime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"hank/internal/registry"
	"hank/recovery"
	"hank/state"
)

// Expired is an execution of this machine that could go as a whole.
type Expired struct {
	Execution string     `json:"execution"`
	What      string     `json:"what"`
	LastUsed  state.Time `json:"lastUsed"`
	Files     int        `json:"files"`
	Bytes     int64      `json:"bytes"`
	Remove    bool       `json:"remove"`
	Kept      bool       `json:"kept,omitempty"` // old enough, but What says why it must stay
}

// ListExpired lists the executions whose hank is done, and, if orphans, those
// whose folder is gone. The first go when they were not used for so long, unless
// something of a person's would be lost with them.
func ListExpired(ctx context.Context, p Policy, done, orphans bool) ([]Expired, error) {
	entries, err := registry.List()
	if err != nil {
		return nil, err
	}
	list := []Expired{}
	for _, e := range entries {
		x := Expired{Execution: e.Root, LastUsed: state.At(e.LastUsed)}
		gone := !recovery.Exists(e.Root) && !recovery.Discarding(e.Root)
		if gone && !orphans || !gone && !done {
			continue
		}
		switch {
		case recovery.Discarding(e.Root):
			x.What, x.Remove = "was being deleted", true
		case gone:
			x.What, x.Remove = "its folder is gone", true
		default:
			v, err := recovery.Read(e.Root)
			if err != nil || v.State.Lineage != e.Lineage || v.Live || !finished(v) {
				continue
			}
			x.What, x.LastUsed = "its hank is done", state.At(lastUsed(v, e.LastUsed))
			if x.Remove = p.old(x.LastUsed.Time); x.Remove {
				if why := mustStay(ctx, v, x.LastUsed.Time); why != "" {
					x.What, x.Remove, x.Kept = why, false, true
				}
			}
			x.size(v)
		}
		list = append(list, x)
	}
	slices.SortFunc(list, func(a, b Expired) int { return a.LastUsed.Compare(b.LastUsed.Time) })
	return list, nil
}

// size measures what Discard would delete.
func (x *Expired) size(v *recovery.View) {
	paths := []string{v.Layout.Hankweave(), v.Layout.Archive()}
	if v.Layout.Workspace == recovery.DefaultWorkspace(v.Layout.Root) {
		paths = append(paths, v.Layout.Workspace)
	}
	for _, path := range paths {
		files, bytes := measure(path)
		x.Files, x.Bytes = x.Files+files, x.Bytes+bytes
	}
}

// finished tells whether the hank of an execution is done.
func finished(v *recovery.View) bool {
	r := v.State.Standing()
	return r != nil && r.Status == state.StatusCompleted && v.State.Intent == nil && v.State.Next() == len(v.State.ExecutionPlan())
}

// mustStay is why an execution that is done may not go: something in it needs a
// decision, or a person has worked in the folders that would go with it since
// hank last did something there. It is empty if nothing speaks against it.
func mustStay(ctx context.Context, v *recovery.View, used time.Time) string {
	for _, f := range v.Report.Findings {
		if f.Severity == recovery.Blocked {
			return "its hank is done, but " + f.What
		}
	}
	if v.Blocked != nil {
		return "its hank is done, but " + v.Blocked.What
	}
	folders := []string{v.Layout.Archive()}
	if v.Layout.Workspace == recovery.DefaultWorkspace(v.Layout.Root) && !v.Gone() {
		if why := edited(ctx, v); why != "" {
			return why
		}
		folders = append(folders, v.Layout.Workspace)
	}
	for _, folder := range folders {
		if file := writtenSince(folder, used); file != "" {
			return fmt.Sprintf("its hank is done, but %q was written after hank last did something there", file)
		}
	}
	return ""
}

// edited is what the next hank run would ask about a workspace that a person has
// changed; empty if it would ask nothing.
func edited(ctx context.Context, v *recovery.View) string {
	store, err := v.Store()
	if err != nil {
		return fmt.Sprintf("its hank is done, but its workspace cannot be compared with the last checkpoint: %v", err)
	}
	defer store.Close()
	switch ask, err := changedWorkspace(ctx, v, store, ModeRun); {
	case err != nil:
		return fmt.Sprintf("its hank is done, but its workspace cannot be compared with the last checkpoint: %v", err)
	case ask != nil:
		return ask.What
	}
	return ""
}

// writtenSince returns the first file below a folder, relative to what holds it,
// whose content is younger than a moment, whether or not a checkpoint would take
// it; empty if there is none. A time that has not come yet says nothing.
func writtenSince(folder string, used time.Time) (found string) {
	now := time.Now()
	_ = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil
		}
		if fi, err := e.Info(); err == nil && fi.ModTime().After(used) && !fi.ModTime().After(now) {
			found, _ = filepath.Rel(filepath.Dir(folder), path)
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// lastUsed is when something was last done in an execution, as far as its
// journal and its runs tell.
func lastUsed(v *recovery.View, known time.Time) time.Time {
	segments, _ := os.ReadDir(v.Layout.Events()) // a journal that is lost says nothing
	for _, e := range segments {
		if fi, err := e.Info(); err == nil && fi.ModTime().After(known) {
			known = fi.ModTime()
		}
	}
	if end := v.State.Newest().EndTime; end != nil && end.After(known) {
		known = end.Time
	}
	return known
}

// Discard deletes the executions that may go and forgets them. It returns what
// went.
func Discard(ctx context.Context, p Policy, list []Expired) ([]Expired, error) {
	gone, errs := []Expired{}, []error(nil)
	for _, x := range list {
		if !x.Remove {
			continue
		}
		err := recovery.MayAct(x.Execution)
		if err == nil && (recovery.Exists(x.Execution) || recovery.Discarding(x.Execution)) {
			err = recovery.Discard(x.Execution, func(v *recovery.View) (why string) {
				used := lastUsed(v, x.LastUsed.Time)
				if !finished(v) || !p.old(used) {
					return "it has been used just now"
				}
				return mustStay(ctx, v, used)
			})
		}
		if err == nil {
			err = registry.Remove(x.Execution)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		gone = append(gone, x)
	}
	return gone, errors.Join(errs...)
}
