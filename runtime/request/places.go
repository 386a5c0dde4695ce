package request

import (
	"fmt"
	"os"
	"slices"

	"hank/plan"
	"hank/recovery/layout"
	"hank/runtime/exitcode"
	"hank/runtime/machine"
)

// CheckPlaces refuses directories in which the execution in root could not work: a workspace
// that is none, one that this user may not write to, an output directory that cannot be made.
// Whether this user may use an execution that is there, its opening says.
func (r Request) CheckPlaces(root string) error {
	dir, setting := r.OutputDir()
	if wrong := machine.Output(r.Layers, root); setting && len(wrong) > 0 {
		return &exitcode.InvalidError{Diagnostics: wrong}
	}
	if dir != "" && !setting {
		if why := machine.BadOutput(root, Absolute(dir)); why != "" {
			return &exitcode.UsageError{Why: why}
		}
	}
	if r.Mode != ModeRun || layout.Exists(root) {
		return nil
	}
	l := layout.Layout{Root: root, Workspace: layout.DefaultWorkspace(root)}
	if r.Workspace != "" {
		l.Workspace = Absolute(r.Workspace)
		if err := CheckWorkspace(r.Workspace); err != nil {
			return err
		}
	}
	return machine.Places(l, Absolute(dir))
}

// CheckOutput refuses to run entries of a plan that copy output files to where the execution in
// root cannot write them.
func (r Request) CheckOutput(root string, rest []plan.Entry) error {
	if !slices.ContainsFunc(rest, func(e plan.Entry) bool { return len(e.Codon.OutputFiles) > 0 }) {
		return nil
	}
	return machine.CopiesTo(root, r.Output, r.Layers.Merge(nil).OutputDirectory)
}

// CheckWorkspace refuses a workspace that is no directory.
func CheckWorkspace(dir string) error {
	if fi, err := os.Stat(dir); err != nil || !fi.IsDir() {
		return &exitcode.UsageError{Why: fmt.Sprintf("the workspace %s is not a directory", dir)}
	}
	return nil
}
