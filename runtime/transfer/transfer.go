// Package transfer copies the checkpoints of an execution to another git repository
// and brings them back, into the execution or into a new one.
//
//   - An export makes or moves forward branches of the other repository, below a prefix.
//   - An import makes or moves forward branches of the execution; into a new directory
//     it makes the execution from what the checkpoints tell.
//   - A Transfer is what either has done.
//
// How objects travel is checkpoint/remote's, and what a history is recovery's. It
// records no transition of its own.
package transfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"hank/checkpoint/packdb"
	"hank/checkpoint/remote"
	"hank/internal/registry"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/githistory"
	"hank/recovery/layout"
	"hank/runtime/exitcode"
	"hank/runtime/opening"
	"hank/state"
)

// Transfer is what an export or an import has done.
type Transfer struct {
	Schema    int      `json:"schema"`
	Execution string   `json:"execution"`
	Prefix    string   `json:"prefix"`
	Moved     []string `json:"moved"` // branches of this execution that were made or moved forward
	Same      int      `json:"same"`
	Refused   []string `json:"refused"` // the other side has something else there
	Objects   int      `json:"objects"` // commits, directories and files that were sent

	Findings []finding.Finding `json:"-"` // of an import
}

func result(root, prefix string, t *remote.Transfer) *Transfer {
	short := func(names []string) []string {
		out := []string{}
		for _, name := range names {
			out = append(out, strings.TrimPrefix(name, "refs/heads/"))
		}
		return out
	}
	return &Transfer{Schema: 1, Execution: root, Prefix: prefix, Moved: short(t.Moved), Same: t.Same, Refused: short(t.Refused), Objects: t.Objects}
}

// Export copies the checkpoints of an execution to a repository, under a prefix or,
// where that is empty, one that is the execution's own. It may be called during a run.
func Export(ctx context.Context, v *recovery.View, to remote.Remote, work execution.Work) (*Transfer, error) {
	store, err := v.Store()
	if err != nil {
		return nil, err
	}
	defer store.Close()
	if to.Prefix == "" {
		to.Prefix = recovery.DefaultPrefix(v.State)
	}
	refs, err := store.Refs("refs/")
	if err != nil {
		return nil, err
	}
	for _, ref := range slices.Sorted(maps.Keys(v.Refs)) { // else the copy would lack it, and nothing would show that
		branch, isBranch := strings.CutPrefix(ref, githistory.Heads)
		run, isSession := strings.CutPrefix(ref, packdb.Sessions)
		if _, there := refs[ref]; there || !isBranch && !(isSession && to.Sessions) {
			continue
		}
		lost := &finding.DecisionError{What: "branch " + branch + " of the checkpoint store is gone, and an export would lack it",
			Options: []string{"`hank doctor --fix` puts it back"}, Command: "hank doctor --fix"}
		if isSession {
			lost.What = "the reference to the agents' sessions of run " + run + " is gone from the checkpoint store, and an export would lack them"
		}
		return nil, lost
	}
	_, end := work.Begin("exporting checkpoints")
	moved, err := remote.Export(ctx, store.DB, to)
	end()
	if err != nil {
		return nil, err
	}
	return result(v.Layout.Root, to.Prefix, moved), nil
}

// IsNew reports whether an import into a directory makes an execution of it, or
// continues to: there is none, or an import that was to make one was interrupted.
func IsNew(root string) bool {
	_, cut := recovery.Importing(root)
	return cut || !layout.Exists(root)
}

// Import brings checkpoints back from a repository, into the execution in a directory
// or into a new one there, see IsNew.
func Import(ctx context.Context, root string, from remote.Remote, o execution.Options) (*Transfer, error) {
	isNew := IsNew(root)
	if prefix, cut := recovery.Importing(root); cut {
		from.Prefix = cmp.Or(from.Prefix, prefix)
	}
	var err error
	if from.Prefix, err = choosePrefix(ctx, from, root, isNew); err != nil {
		return nil, err
	}
	o.Command = "hank checkpoints import"
	x, moved, err := opening.Import(ctx, root, from, o)
	if err != nil {
		return nil, err
	}
	t := result(root, from.Prefix, moved)
	for _, f := range x.Report.Findings {
		if !isNew || f.Severity != finding.Mended && f.Severity != finding.Note {
			t.Findings = append(t.Findings, f)
		}
	}
	_ = registry.Add(registry.Entry{Root: root, Lineage: x.State().Lineage, Hank: x.Meta().HankPath, Created: x.Meta().CreatedAt.Time, LastUsed: x.Now().Time})
	return t, x.Close()
}

// choosePrefix finds the branches that are meant: those that are named, else those of
// the execution, else, for a new one, the only ones.
func choosePrefix(ctx context.Context, from remote.Remote, root string, isNew bool) (string, error) {
	list, err := remote.Prefixes(ctx, from.Address)
	if errors.Is(err, fs.ErrNotExist) {
		return "", &exitcode.UsageError{Why: "no Git repository in " + from.Address}
	}
	if err != nil {
		return "", err
	}
	want := from.Prefix
	if want == "" && !isNew {
		if lineage := lineageOf(root); lineage != "" {
			want = recovery.DefaultPrefix(&state.State{Lineage: lineage})
		}
	}
	switch address := remote.WithoutSecrets(from.Address); {
	case slices.Contains(list, want):
		return want, nil
	case len(list) == 0:
		return "", &exitcode.UsageError{Why: "no hank checkpoints found in " + address}
	case want == "" && len(list) == 1:
		return list[0], nil
	case want == "":
		return "", &exitcode.UsageError{Why: fmt.Sprintf("several executions found in %s; specify one: --prefix %s", address, strings.Join(list, ", or --prefix "))}
	default:
		return "", &exitcode.UsageError{Why: fmt.Sprintf("nothing found under %s in %s, but under %s; specify one with --prefix", want, address, strings.Join(list, ", "))}
	}
}

// lineageOf is the lineage of an execution, as its state has it or, where that cannot
// be read, its meta file; empty if neither can.
func lineageOf(root string) string {
	if v, err := recovery.Read(root); err == nil {
		return v.State.Lineage
	}
	meta, _ := layout.ReadMeta(root)
	return meta.Lineage
}
