package machine

import (
	"cmp"
	"fmt"
	"path/filepath"

	"hank/internal/sandbox"
	"hank/plan/config"
	"hank/plan/diagnostic"
	"hank/plan/jsonshape"
	"hank/recovery/finding"
	"hank/recovery/layout"
	"hank/runtime/exitcode"
)

// BadOutput says why output files of the execution in root cannot be copied to a directory;
// empty: they can.
func BadOutput(root, dir string) string {
	own := layout.Layout{Root: root}.Hankweave()
	if sandbox.Contains(sandbox.Real(own), sandbox.Real(dir)) {
		return fmt.Sprintf("the output directory %s is inside %s, which is hank's own: nothing in it is kept for you; name another directory", dir, own)
	}
	if why := layout.Impossible(dir); why != "" {
		return fmt.Sprintf("the output directory %s cannot be used: %s; name another directory", dir, why)
	}
	return ""
}

// CopiesTo refuses the directory to which the execution in root copies output files, where none of
// them could be written; setting is what the settings name: what an option has named is kept. It
// is a *DecisionError.
func CopiesTo(root, option, setting string) error {
	meta, _ := layout.ReadMeta(root) // what is wrong with it the opening says
	dir := option
	if dir == "" && (meta.Output == "" || meta.OutputIsSetting && setting != "") {
		dir = setting
	}
	if dir = cmp.Or(dir, meta.Output); dir == "" {
		return nil
	}
	dir, _ = filepath.Abs(dir)
	if why := BadOutput(root, dir); why != "" {
		return &finding.DecisionError{What: why, Options: []string{"--output DIR names another one"}, Barred: true}
	}
	return layout.ClosedOutput(dir)
}

// Places refuses an execution that is not made yet where it, its workspace or its output files
// cannot be.
func Places(l layout.Layout, output string) error {
	own := l.Hankweave()
	if why := layout.Impossible(l.Root); why != "" {
		return &exitcode.UsageError{Why: fmt.Sprintf("%s cannot hold an execution: %s; name another directory with -e DIR", l.Root, why)}
	}
	if l.Workspace != "" && sandbox.Contains(sandbox.Real(own), sandbox.Real(l.Workspace)) {
		return &exitcode.UsageError{Why: fmt.Sprintf("the workspace %s is inside %s, which is hank's own; name another directory", l.Workspace, own)}
	}
	if why := layout.Impossible(l.Workspace); l.Workspace != "" && why != "" {
		return &finding.DecisionError{What: fmt.Sprintf("the workspace %s cannot be used: %s; nothing was begun", l.Workspace, why),
			Options: []string{"move away what is there, and then the same command", "-e DIR begins in another directory", "--workspace DIR names another workspace"}, Barred: true}
	}
	return layout.ClosedPlace(l, output)
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
