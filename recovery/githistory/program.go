package githistory

import (
	"errors"
	"fmt"
	"io"

	"hank/checkpoint"
	"hank/plan"
	"hank/state"
)

// ProgramBranch leads to the frozen programs of an execution, each the parent
// of the next.
const ProgramBranch = "programs"

// LoadProgram is Execution.LoadProgram for a reader.
func LoadProgram(store *checkpoint.Store, sha state.SHA) (*plan.Program, error) {
	return ReadProgram(store, sha)
}

// ReadProgram returns a frozen program from its commit.
func ReadProgram(store *checkpoint.Store, sha state.SHA) (*plan.Program, error) {
	info, err := store.CommitInfo(checkpoint.SHA(sha))
	if err != nil {
		return nil, fmt.Errorf("the frozen program %.12s: %w", sha, err)
	}
	return plan.Thaw(filesOf(store, info.Tree))
}

// ProgramOutline is a frozen program as far as lists tell of it; nothing, if it cannot
// be read.
func ProgramOutline(store *checkpoint.Store, sha state.SHA) plan.Outline {
	info, err := store.CommitInfo(checkpoint.SHA(sha))
	if err != nil {
		return plan.Outline{}
	}
	return plan.FrozenOutline(filesOf(store, info.Tree))
}

// filesOf reads files of a tree by their paths.
func filesOf(store *checkpoint.Store, tree checkpoint.SHA) func(path string) ([]byte, error) {
	return func(path string) ([]byte, error) {
		r, _, err := store.ReadFile(tree, path)
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(r)
		return content, errors.Join(err, r.Close())
	}
}
