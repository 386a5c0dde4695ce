package machine

import (
	"fmt"
	"os"
	"path/filepath"

	"hank/internal/sandbox"
	"hank/plan/config"
	"hank/plan/diagnostic"
	"hank/plan/jsonshape"
	"hank/recovery/layout"
)

// BadOutput says why output files of the execution in root cannot be copied to a directory;
// empty: they can.
func BadOutput(root, dir string) string {
	own := layout.Layout{Root: root}.Hankweave()
	if sandbox.Contains(sandbox.Real(own), sandbox.Real(dir)) {
		return fmt.Sprintf("the output directory %s is inside %s, which is hank's own: nothing in it is kept for you; name another directory", dir, own)
	}
	for at := dir; ; at = filepath.Dir(at) {
		fi, err := os.Stat(at)
		switch {
		case err == nil && fi.IsDir() || at == filepath.Dir(at):
			return ""
		case err == nil:
			return fmt.Sprintf("the output directory %s cannot be made, because %s is a file; name another directory, or move the file away", dir, at)
		}
		if to, err := os.Readlink(at); err == nil {
			return fmt.Sprintf("the output directory %s cannot be made, because %s is a link to %s, which does not exist", dir, at, to)
		}
	}
}

// Output judges the output directory that a setting names, for the execution in root.
func Output(layers config.Layers, root string) []diagnostic.Diagnostic {
	dir, err := filepath.Abs(layers.Merge(nil).OutputDirectory)
	if layers.Merge(nil).OutputDirectory == "" || err != nil {
		return nil
	}
	why := BadOutput(root, dir)
	if why == "" {
		return nil
	}
	var out diagnostic.Reporter
	if layers.Env.OutputDirectory != "" || layers.Document == nil {
		out.Problem(jsonshape.Problem{Doc: &jsonshape.Document{File: diagnostic.Environment}, Rule: "output-place", Message: why})
	} else {
		doc := layers.Document()
		out.At(doc, doc.Find("/outputDirectory"), "/outputDirectory", "output-place", why, "")
	}
	return out.List
}
