package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"hank/internal/shell"
	"hank/plan"
	"hank/plan/diagnostic"
	"hank/recovery/finding"
	"hank/recovery/layout"
)

// blocked is a copy that the first codon of a new execution cannot make.
type blocked struct {
	codon   plan.CodonID
	rig     int // the index of the operation
	copy    *plan.Copy
	parent  string // what should be a directory
	what    string // what it is
	missing bool
}

// block looks for a copy of the first codon whose target is not in a directory of a workspace, and
// that nothing makes one; nil: there is none. Where somebody or something may change the workspace
// before the copy, or the run goes on without it, nothing is certain.
func block(p *plan.Program, workspace string) *blocked {
	entries := p.Initial()
	if len(entries) == 0 {
		return nil
	}
	c := entries[0].Codon
	gates := []*plan.Gate{c.Gate}
	if in := entries[0].LoopContext; in != nil {
		gates = append(gates, p.Loop(in.LoopID).Gate)
	}
	for _, g := range gates {
		if g != nil && g.When == plan.Before {
			return nil
		}
	}
	if ignored := p.Settings.IgnoreRigFailures; c.SkipIf != nil || c.Failure() == plan.Ignore || ignored != nil && *ignored {
		return nil
	}
	made := map[string]bool{} // by copies before it: a directory or not
	for i, r := range c.RigSetup {
		source, known := (*plan.Source)(nil), false
		if r.Copy != nil {
			source, known = p.Source(r.Copy.From)
		}
		if !known || r.AllowFailure {
			return nil
		}
		to, at := path.Clean(r.Copy.To), ""
		for step := range strings.SplitSeq(path.Dir(to), "/") {
			at = path.Join(at, step)
			if _, is := made[at]; is || at == "." {
				continue
			}
			info, err := os.Lstat(filepath.Join(workspace, filepath.FromSlash(at)))
			b := &blocked{codon: c.ID, rig: i, copy: r.Copy, parent: at}
			switch {
			case errors.Is(err, fs.ErrNotExist):
				b.what, b.missing = "is not there", true
			case err != nil:
				return nil
			case info.Mode()&fs.ModeSymlink != 0:
				b.what = "is a link"
			case info.Mode().IsRegular():
				b.what = "is a file"
			case !info.IsDir():
				b.what = "is no directory"
			default:
				continue
			}
			return b
		}
		made[to] = source.Dir
		for _, dir := range source.Dirs {
			made[path.Join(to, dir)] = true
		}
	}
	return nil
}

func (b *blocked) String() string {
	return fmt.Sprintf("the rig of codon %q, with which the run begins, copies %s to %s, and %q %s in the workspace", b.codon, b.copy.From, b.copy.To, b.parent, b.what)
}

// blockedCopies is block for an execution that is not made yet.
func blockedCopies(p *plan.Program, l layout.Layout) (found []diagnostic.Diagnostic) {
	b := block(p, l.Workspace)
	if layout.Exists(l.Root) || b == nil {
		return nil
	}
	p.Hank.EachCodon(func(pointer string, c *plan.Codon) {
		if c.ID == b.codon {
			found = append(found, p.Diagnose(fmt.Sprintf("%s/rigSetup/%d/copy/to", pointer, b.rig), "target-blocked", b.hint(), b.String()))
		}
	})
	return found
}

// hint is how the rig can make the copy itself.
func (b *blocked) hint() string {
	if b.missing {
		return "create it by a command before the copy, such as mkdir -p " + shell.Path(path.Dir(path.Clean(b.copy.To)))
	}
	return "choose another target, or move away what is there"
}

// CopiesBegin refuses to begin an execution whose first codon cannot make a copy in its workspace.
func CopiesBegin(p *plan.Program, workspace string) error {
	b := block(p, workspace)
	if b == nil {
		return nil
	}
	options := []string{"--workspace DIR names another workspace"}
	if b.missing {
		options = append(options, "a command of the rig before the copy makes it (mkdir -p)")
	} else {
		options = append(options, "move away what is there, and then the same command")
	}
	return &finding.DecisionError{What: fmt.Sprintf("%s (%s): its rig would fail; nothing was begun", b, workspace), Options: options, Barred: true}
}
