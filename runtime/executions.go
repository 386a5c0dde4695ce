package runtime

import (
	"errors"
	"os"
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
}

// ListExpired lists the executions whose hank is done, and, if orphans, those
// whose folder is gone. The first go when they were not used for so long.
func ListExpired(p Policy, done, orphans bool) ([]Expired, error) {
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
			x.Remove = p.old(x.LastUsed.Time)
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
	return r != nil && r.Status == state.StatusCompleted && v.State.Intent == nil && !v.Report.Has(recovery.Blocked) &&
		v.State.Next() == len(v.State.ExecutionPlan())
}

// lastUsed is when something was last done in an execution, as far as its
// journal and its runs tell.
func lastUsed(v *recovery.View, known time.Time) time.Time {
	if fi, err := os.Stat(v.Layout.Events()); err == nil && fi.ModTime().After(known) {
		known = fi.ModTime()
	}
	if end := v.State.Newest().EndTime; end != nil && end.After(known) {
		known = end.Time
	}
	return known
}

// Discard deletes the executions that may go and forgets them. It returns what
// went.
func Discard(p Policy, list []Expired) ([]Expired, error) {
	gone, errs := []Expired{}, []error(nil)
	for _, x := range list {
		if !x.Remove {
			continue
		}
		err := recovery.MayAct(x.Execution)
		if err == nil && (recovery.Exists(x.Execution) || recovery.Discarding(x.Execution)) {
			err = recovery.Discard(x.Execution, func(v *recovery.View) bool { return finished(v) && p.old(lastUsed(v, x.LastUsed.Time)) })
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
