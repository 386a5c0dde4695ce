package request

import (
	"fmt"
	"os"

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
	return layout.ClosedPlace(l, Absolute(dir))
}

// CheckWorkspace refuses a workspace that is no directory.
func CheckWorkspace(dir string) error {
	if fi, err := os.Stat(dir); err != nil || !fi.IsDir() {
		return &exitcode.UsageError{Why: fmt.Sprintf("the workspace %s is not a directory", dir)}
	}
	return nil
}
