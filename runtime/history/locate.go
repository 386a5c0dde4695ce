package history

import (
	"fmt"
	"os"
	"path/filepath"

	"hank/internal/advice"
	"hank/internal/shell"
	"hank/internal/vfs"
	"hank/recovery/layout"
	"hank/runtime/exitcode"
)

// Locate returns the directory of an execution: the one that is named, or the
// one that the current directory is in.
func Locate(named string) (string, error) {
	if named != "" {
		return filepath.Abs(named)
	}
	return layout.Find(".")
}

// LocateFor is Locate of a command; one that may begin an execution begins it in the current
// directory, where none is named and none is found. Such a command that names no hank either is
// refused in the directory of another hank than that of the execution above.
func LocateFor(named string, begins bool, hank string) (string, error) {
	found, err := Locate(named)
	switch {
	case !begins || named != "":
		return found, err
	case err != nil:
		return filepath.Abs(".")
	case hank == "":
		return found, ofAnotherHank(found)
	}
	return found, nil
}

// ofAnotherHank says that the current directory has a hank, and the execution above it is not of that.
func ofAnotherHank(root string) error {
	meta, err := layout.ReadMetaFile(vfs.OS, layout.LayoutOf(root).Meta())
	if here, wdErr := filepath.Abs("."); err != nil || wdErr != nil || here == root {
		return nil
	}
	if _, err := os.Stat(meta.HankPath); err != nil {
		return nil // where its hank is now is not known
	}
	for _, name := range []string{"hank.json", "strand.json"} {
		if fi, err := os.Lstat(name); err != nil || !fi.Mode().IsRegular() {
			continue
		}
		if vfs.SameFile(name, meta.HankPath) { // which hank run takes before the other
			return nil
		}
		return &exitcode.UsageError{Why: fmt.Sprintf("this directory has a %s, and the execution above it, in %s, is of another one, %s: %s starts one here; %s continues that one",
			name, root, meta.HankPath, advice.Quote("hank run -e ."), advice.Quote("hank run -e "+shell.Quote(root)))}
	}
	return nil
}
