package execution

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"hank/internal/vfs"
	"hank/recovery/datalist"
	"hank/recovery/layout"
	"hank/state"
)

// CheckData compares the data with how the execution knew it, and from now on
// knows it as it is. The change is nil if there is none, or if nothing was
// known. An error is no reason to stop: the data cannot be read, or not in time,
// and is not known from now on.
func (x *Execution) CheckData(ctx context.Context) (*datalist.Change, error) {
	before, keep := x.Metadata.DataHash, x.Layout.DataListing()
	now, err := datalist.Look(ctx, x.FS, x.Layout, x.Metadata)
	switch {
	case err != nil && before == "":
		return nil, err
	case err != nil:
		return nil, errors.Join(err, x.SetMeta(func(m *layout.Meta) { m.DataHash = "" }))
	case now.Digest == before:
		return nil, nil
	case now.IsKept():
		err = vfs.ReplaceFile(x.FS, keep, now.Listing, 0o600, vfs.Durable)
	default:
		err = x.FS.Remove(keep)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return now.Change, fmt.Errorf("keeping the listing of the data: %w", err)
	}
	return now.Change, x.SetMeta(func(m *layout.Meta) { m.DataHash = now.Digest })
}

// SetOutput names another directory that output files are copied to; empty: none. That of
// a setting does not replace one that an option has named.
func (x *Execution) SetOutput(dir string, setting bool) (changed bool, err error) {
	if dir == "" || setting && x.Metadata.Output != "" && !x.Metadata.OutputIsSetting {
		return false, nil
	}
	dir, err = filepath.Abs(dir)
	if err == nil {
		err = layout.Nameable(dir)
	}
	changed = dir != x.Metadata.Output
	if err != nil || !changed && setting == x.Metadata.OutputIsSetting {
		return false, err
	}
	err = x.SetMeta(func(m *layout.Meta) { m.Output, m.OutputIsSetting = dir, setting })
	return changed && err == nil, err
}

// SetMeta changes the meta and writes it.
func (x *Execution) SetMeta(change func(*layout.Meta)) error {
	if err := x.Held(); err != nil {
		return err
	}
	change(&x.Metadata)
	x.Metadata.LastUsed = state.At(x.Opts.Now())
	return layout.WriteMeta(x.FS, x.Layout.Meta(), x.Metadata)
}
