package gc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"hank/checkpoint/match"
	"hank/internal/registry"
	"hank/internal/vfs"
	"hank/recovery"
	"hank/recovery/finding"
	"hank/recovery/layout"
	"hank/recovery/lock"
	"hank/runtime/edits"
	"hank/runtime/history"
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
// whose directory is gone. The first go when they were not used for so long, unless
// something of the user's would be lost with them.
func ListExpired(ctx context.Context, p Policy, done, orphans bool) ([]Expired, error) {
	entries, err := registry.List()
	if err != nil {
		return nil, err
	}
	list := []Expired{}
	for _, e := range entries {
		x := Expired{Execution: e.Root, LastUsed: state.At(e.LastUsed)}
		gone := !layout.Exists(e.Root) && !recovery.Discarding(e.Root)
		if gone && !orphans || !gone && !done {
			continue
		}
		switch {
		case recovery.Discarding(e.Root):
			x.What, x.Remove = "was being deleted", true
		case gone:
			x.What, x.Remove = "its directory is gone", true
		default:
			v, err := recovery.Read(e.Root)
			if err != nil || v.State.Lineage != e.Lineage || v.Live || !over(v) {
				continue
			}
			x.What, x.LastUsed = how(v), state.At(lastUsed(v, e.LastUsed))
			if x.Remove = p.old(x.LastUsed.Time); !x.Remove {
				x.What += "; not old enough"
			} else if why := mustStay(ctx, v); why != "" {
				x.What, x.Remove, x.Kept = why, false, true
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
	if v.Layout.Workspace == layout.DefaultWorkspace(v.Layout.Root) {
		paths = append(paths, v.Layout.Workspace)
	}
	for _, path := range paths {
		files, bytes := measure(path)
		x.Files, x.Bytes = x.Files+files, x.Bytes+bytes
	}
}

// finished reports whether the hank of an execution is done.
func finished(v *recovery.View) bool {
	r := v.State.RunAtPosition()
	return r != nil && r.Status == state.StatusCompleted && v.State.Intent == nil && v.State.Next() == len(v.State.ExecutionPlan())
}

// over reports whether nothing more is to come of an execution: its hank is done, or
// the user has started over.
func over(v *recovery.View) bool { return finished(v) || layout.SetAside(vfs.OS, v.Layout.Root) }

// how is how an execution is over.
func how(v *recovery.View) string {
	if finished(v) {
		return "its hank is completed"
	}
	return "a reset has moved it"
}

// mustStay is why an execution that is done may not go: something in it needs a
// decision, the user has worked in the directories that would go with it since its last
// run, or one of the user's files there is in no checkpoint. It is empty if nothing
// speaks against it.
func mustStay(ctx context.Context, v *recovery.View) string {
	for _, f := range v.Report.Findings {
		if f.Severity == finding.Blocked {
			return how(v) + ", but " + f.What
		}
	}
	if v.Blocked != nil {
		return how(v) + ", but " + v.Blocked.What
	}
	if v.State.Newest() == nil {
		return how(v) + ", but nothing has run in it, and no codon's checkpoint has its workspace"
	}
	if v.Layout.Workspace == layout.DefaultWorkspace(v.Layout.Root) && !v.Gone() {
		if why := edited(ctx, v); why != "" {
			return why
		}
	}
	file, err := changedSince(v.Layout.Archive(), lastWritten(v), func(string) bool { return false })
	if err != nil {
		return fmt.Sprintf("%s, but its archive cannot be looked through: %v", how(v), err)
	} else if file != "" {
		return fmt.Sprintf("%s, but %q was changed or added after hank last did something there", how(v), file)
	}
	return ""
}

// edited is what would be lost of the user's work with the workspace: what the next
// hank run would ask about; what that takes for none of its business, because no
// checkpoint takes it, but that came after the last run; and what is left out of
// every checkpoint. The hank is done, so that the run moves the workspace nowhere.
func edited(ctx context.Context, v *recovery.View) string {
	store, err := v.Store()
	if err != nil {
		return fmt.Sprintf("%s, but its workspace cannot be compared with the last checkpoint: %v", how(v), err)
	}
	defer store.Close()
	switch ask, _, err := edits.Changed(ctx, v, v.State, store, ""); {
	case err != nil:
		return fmt.Sprintf("%s, but its workspace cannot be compared with the last checkpoint: %v", how(v), err)
	case ask != nil:
		return ask.What
	}
	for _, name := range match.LeftOut(store.DB) {
		if _, err := os.Lstat(filepath.Join(v.Layout.Workspace, name)); err == nil {
			return fmt.Sprintf("%s, but %q is in it and, as it was to be, in no checkpoint", how(v), name)
		}
	}
	tree, lost := history.TreeOf(store, edits.Comparison{State: v.State, Store: store, Layout: v.Layout}.LeftAt(false))
	held := func(path string) bool { // as it is there, or there would be a question
		return path == layout.DataName || lost == nil && store.HasFile(tree, path)
	}
	ended := lastWritten(v)
	if end := v.State.Newest().EndTime; end != nil {
		ended = end.Time
	}
	file, err := changedSince(v.Layout.Workspace, ended, held)
	if err != nil {
		return fmt.Sprintf("%s, but its workspace cannot be looked through: %v", how(v), err)
	} else if file != "" {
		return fmt.Sprintf("%s, but %q was changed or added after its last run, and the last checkpoint does not have it", how(v), file)
	}
	return ""
}

// changedSince returns the first file below a directory, relative to what holds it,
// that was changed or has come there after a moment, but for those that are held
// elsewhere, which are told by their path below the directory; empty if there is none. What
// cannot be listed is an error.
func changedSince(dir string, moment time.Time, held func(path string) bool) (found string, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || e.IsDir() {
			return err
		}
		fi, err := e.Info()
		if err != nil || !changedAt(fi).After(moment) {
			return nil
		}
		if name, err := filepath.Rel(dir, path); err != nil || !held(filepath.ToSlash(name)) {
			found = filepath.Join(filepath.Base(dir), name)
			return fs.SkipAll
		}
		return nil
	})
	return found, err
}

// changedAt is when a file came where it is or was changed last: nobody can set that
// time back, and what is moved or unpacked has it, too. Where a system keeps none it is
// that of the content.
func changedAt(fi fs.FileInfo) time.Time {
	if id, ok := vfs.IdentityOf(fi); ok {
		return time.Unix(0, id.CTime)
	}
	return fi.ModTime()
}

// lastUsed is when somebody last did something with an execution, as far as its
// journal, its runs and the list of this machine tell.
func lastUsed(v *recovery.View, known time.Time) time.Time {
	if at := lastWritten(v); at.After(known) {
		return at
	}
	return known
}

// lastWritten is when hank last did something in an execution.
func lastWritten(v *recovery.View) (last time.Time) {
	segments, _ := os.ReadDir(v.Layout.Events()) // a journal that is lost says nothing
	for _, e := range segments {
		if fi, err := e.Info(); err == nil && fi.ModTime().After(last) {
			last = fi.ModTime()
		}
	}
	if run := v.State.Newest(); run != nil && run.EndTime != nil && run.EndTime.After(last) {
		last = run.EndTime.Time
	}
	return last
}

// Discard deletes the executions that may go and forgets them. It returns what
// went.
func Discard(ctx context.Context, p Policy, list []Expired) ([]Expired, error) {
	gone, errs := []Expired{}, []error(nil)
	for _, x := range list {
		if !x.Remove {
			continue
		}
		err := lock.MayAct(x.Execution)
		if err == nil && (layout.Exists(x.Execution) || recovery.Discarding(x.Execution)) {
			err = recovery.Discard(x.Execution, func(v *recovery.View) (why string) {
				if !over(v) || !p.old(lastUsed(v, x.LastUsed.Time)) {
					return "it has been used just now"
				}
				return mustStay(ctx, v)
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
