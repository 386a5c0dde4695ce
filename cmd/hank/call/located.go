package call

import (
	"path/filepath"
	"slices"

	"hank/internal/term"
	"hank/plan/diagnostic"
	"hank/runtime/hankfile"
)

// Located returns diagnostics whose files are named from here instead of from
// the directory of the hank.
func Located(path string, found []diagnostic.Diagnostic) []diagnostic.Diagnostic {
	file, err := hankfile.File(path)
	if err != nil {
		return found
	}
	out := slices.Clone(found)
	for i := range out {
		out[i].File = term.ShortPath(out[i].In(filepath.Dir(file)))
	}
	return out
}

// HankPath is the file that a path of a hank names, absolute; empty where that cannot be
// told.
func HankPath(path string) string {
	file, err := hankfile.File(path)
	if err != nil {
		return ""
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return ""
	}
	return abs
}
