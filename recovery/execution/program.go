package execution

import (
	"context"
	"fmt"
	"io"
	"sync"

	"hank/checkpoint"
	"hank/plan"
	"hank/recovery/githistory"
	"hank/state"
)

// ProgramTitle is where the kind is in the title of a checkpoint.
const ProgramTitle = "program"

// Freeze stores a program with everything it refers to, so that the run can go
// on when the author's files change or vanish. It returns the commit.
func (x *Execution) Freeze(ctx context.Context, p *plan.Program) (state.SHA, error) {
	sha, err := x.freeze(ctx, p)
	if err != nil {
		x.Store.Abort()
		return "", fmt.Errorf("freezing the program: %w", err)
	}
	return sha, nil
}

func (x *Execution) freeze(ctx context.Context, p *plan.Program) (state.SHA, error) {
	frozen, err := p.Frozen()
	if err != nil {
		return "", err
	}
	files := make([]checkpoint.TreeFile, len(frozen))
	for i, f := range frozen {
		mode := checkpoint.Regular
		if f.Mode&0o111 != 0 {
			mode = checkpoint.Executable
		}
		files[i] = checkpoint.TreeFile{Path: f.Path, Mode: mode, Open: func() (io.ReadCloser, int64, error) {
			r, err := f.Open()
			return r, f.Size, err
		}}
	}
	tree, err := x.Store.AddTree(ctx, files)
	if err != nil {
		return "", err
	}
	ref := githistory.Heads + githistory.ProgramBranch
	old, err := x.Store.Ref(ref)
	if err != nil {
		return "", err
	}
	var parents []checkpoint.SHA
	if old != "" {
		parents = append(parents, old)
	}
	sha, err := x.Store.Commit(ctx, checkpoint.CommitRequest{Tree: tree, Parents: parents, Message: ProgramTitle + ": " + p.Name + "\n", When: x.Opts.Now()})
	if err != nil {
		return "", err
	}
	return state.SHA(sha), x.Store.SetRef(ref, old, sha)
}

// LearnSecrets has Options.Learn called before the first text is masked.
func (x *Execution) LearnSecrets() {
	if x.Opts.Learn == nil {
		return
	}
	mask, learn := x.Opts.Mask, sync.OnceFunc(func() {
		x.Opts.Learn(func() (*plan.Program, error) { return x.LoadProgram(x.State().Program) })
	})
	x.Opts.Mask = func(text string) string {
		learn()
		return mask(text)
	}
}

// LoadProgram reads a frozen program.
func (x *Execution) LoadProgram(sha state.SHA) (*plan.Program, error) {
	return githistory.ReadProgram(x.Store, sha)
}
