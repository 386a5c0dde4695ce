package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"hank/internal/advice"
	"hank/internal/registry"
	"hank/internal/shell"
	"hank/internal/term"
	"hank/recovery/layout"
	"hank/runtime/exitcode"
	"hank/runtime/verdict"
)

// Remedy is what to do about an error where the error does not name it: the system
// refused something, or an execution is gone. It is empty, or continues the sentence.
func Remedy(err error) string {
	var nowhere *layout.NotFoundError
	switch {
	case errors.As(err, &nowhere):
		return remembered(nowhere.From)
	case verdict.CodeOf(err) != exitcode.IO:
	case errors.Is(err, syscall.ENOSPC):
		return "; free up disk space (see: `hank gc`), then run the same command again; no completed work was lost"
	case errors.Is(err, fs.ErrPermission):
		return "; grant the permission, then run the same command again; nothing was lost"
	}
	return ""
}

// remembered is what this machine knows of an execution that was in a directory, or
// in one above it, and whose own directory is gone.
func remembered(from string) string {
	list, _ := registry.List() // without it only what is on the way is known
	for at := from; ; at = filepath.Dir(at) {
		i := slices.IndexFunc(list, func(e registry.Entry) bool { return e.Root == at && !layout.Exists(at) })
		if reset := layout.ResetDirs(at); len(reset) > 0 {
			last := reset[len(reset)-1]
			if meta, err := layout.ReadMeta(last); i < 0 || err == nil && meta.Lineage == list[i].Lineage { // a reset that was killed leaves the entry
				return fmt.Sprintf("; hank reset has moved the one that was in %s to %s: %s moves it back", at, filepath.Base(last), advice.Quote("hank reset --undo --yes -e "+shell.Quote(at)))
			}
		}
		if i >= 0 {
			return missing(list[i])
		}
		if at == filepath.Dir(at) {
			return ""
		}
	}
}

func missing(e registry.Entry) string {
	text := fmt.Sprintf("; an execution existed in %s (last used %s", e.Root, term.Age(e.LastUsed, time.Now()))
	if e.Hank != "" {
		text += ", hank " + e.Hank
	}
	text += "), but its " + layout.Dir + " directory is missing"
	if fi, err := os.Stat(layout.DefaultWorkspace(e.Root)); err == nil && fi.IsDir() {
		text += "; its workspace " + layout.DefaultWorkspace(e.Root) + " still exists"
	}
	return text + "; restore it from a backup, or use `hank checkpoints import` if you exported it (prefix hank/" + e.Lineage[:min(8, len(e.Lineage))] + ")"
}
