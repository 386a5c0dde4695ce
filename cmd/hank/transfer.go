package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"hank/checkpoint/remote"
	"hank/internal/registry"
	"hank/internal/term"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/recovery/layout"
	"hank/runtime/exitcode"
	"hank/runtime/keeper"
)

// transferView is the JSON form of hank checkpoints export and import.
type transferView struct {
	Schema    int      `json:"schema"`
	Execution string   `json:"execution"`
	Prefix    string   `json:"prefix"`
	Moved     []string `json:"moved"` // branches of this execution that were made or moved forward
	Same      int      `json:"same"`
	Refused   []string `json:"refused"` // the other side has something else there
	Objects   int      `json:"objects"` // commits, folders and files that were sent
}

// exportCheckpoints is hank checkpoints export. It reads only, also while a run
// is at work.
func exportCheckpoints(c *cli.Context, address string) error {
	v, err := view(c)
	if err != nil {
		return err
	}
	store, err := v.Store()
	if err != nil {
		return err
	}
	defer store.Close()
	to := remote.Remote{Address: address, Prefix: prefixOf(c)}
	if to.Prefix == "" {
		to.Prefix = recovery.DefaultPrefix(v.State)
	}
	_, end := execution.Work(work).Begin("exporting checkpoints")
	moved, err := remote.Export(c.Context, store.DB, to)
	end()
	if err != nil {
		return err
	}
	return printTransfer(c, v.Layout.Root, to.Prefix, moved, "exported")
}

// importCheckpoints is hank checkpoints import: into the execution that is
// named or here, or into a new one where -e names nothing.
func importCheckpoints(c *cli.Context, address string) error {
	_ = outliveReaders(c) // it writes
	root, err := executionOf(c)
	isNew := err != nil
	if isNew {
		if c.String("execution") == "" {
			return &exitcode.UsageError{Why: "there is no execution here to import into; a new one is made with: hank checkpoints import " + remote.WithoutSecrets(address) + " -e DIR"}
		}
		if root, err = filepath.Abs(c.String("execution")); err != nil {
			return err
		}
	}
	from := remote.Remote{Address: address, Prefix: prefixOf(c)}
	if prefix, cut := recovery.Importing(root); cut {
		isNew, from.Prefix = true, orDefault(from.Prefix, prefix)
	}
	if from.Prefix, err = choosePrefix(c, from, root, isNew); err != nil {
		return err
	}
	x, moved, err := recovery.Import(c.Context, root, from, execution.Options{Command: "hank checkpoints import", BreakLock: c.String("break-lock"), Reap: keeper.ReapNames, Work: work,
		KeepTree: c.Bool("keep-tree"), RestoreTree: c.Bool("restore"),
		IncludeSecrets: c.Bool("include-secrets"), ExcludeSecrets: c.Bool("exclude-secrets"),
		Warn: func(line string) { remark("%s\n", line) }})
	if err != nil {
		return err
	}
	for _, f := range x.Report.Findings {
		if !isNew || f.Severity != finding.Mended && f.Severity != finding.Note {
			remark("%s: %s\n", f.Severity.Word(), forThis(c, f.What))
		}
	}
	if !isNew {
		remarkIgnored(c)
	}
	_ = registry.Add(registry.Entry{Root: root, Lineage: x.State().Lineage, Hank: x.Meta().HankPath, Created: x.Meta().CreatedAt.Time, LastUsed: x.Now().Time})
	if err := x.Close(); err != nil {
		return err
	}
	return printTransfer(c, root, from.Prefix, moved, "imported")
}

// remarkIgnored names the flags of an import that are about a new execution.
func remarkIgnored(c *cli.Context) {
	var given []string
	for _, name := range []string{"keep-tree", "restore", "exclude-secrets", "include-secrets"} {
		if c.Bool(name) {
			given = append(given, "--"+name)
		}
	}
	if len(given) > 0 {
		have := "has"
		if len(given) > 1 {
			have = "have"
		}
		remark("note: %s %s no effect: an import into an execution that is there leaves its workspace as it is\n", strings.Join(given, " and "), have)
	}
}

func prefixOf(c *cli.Context) string { return strings.Trim(c.String("prefix"), "/") }

// choosePrefix finds the branches that are meant: those that are named, else
// those of the execution, else, for a new one, the only ones.
func choosePrefix(c *cli.Context, from remote.Remote, root string, isNew bool) (string, error) {
	list, err := remote.Prefixes(c.Context, from.Address)
	if errors.Is(err, fs.ErrNotExist) {
		return "", &exitcode.UsageError{Why: "there is no git repository in " + from.Address}
	}
	if err != nil {
		return "", err
	}
	want := from.Prefix
	if want == "" && !isNew {
		meta, _ := layout.ReadMeta(root) // without one its lineage is not known
		if v, err := recovery.Read(root); err == nil {
			meta.Lineage = v.State.Lineage
		}
		if meta.Lineage != "" {
			want = fmt.Sprintf("hank/%.8s", meta.Lineage)
		}
	}
	switch {
	case slices.Contains(list, want):
		return want, nil
	case len(list) == 0:
		return "", &exitcode.UsageError{Why: "there are no checkpoints of hank's in " + remote.WithoutSecrets(from.Address)}
	case want == "" && len(list) == 1:
		return list[0], nil
	case want == "":
		return "", &exitcode.UsageError{Why: fmt.Sprintf("there are several executions in %s; choose one: --prefix %s", remote.WithoutSecrets(from.Address), strings.Join(list, ", or --prefix "))}
	}
	return "", &exitcode.UsageError{Why: fmt.Sprintf("there is nothing below %s in %s, but below %s; name one with --prefix", want, remote.WithoutSecrets(from.Address), strings.Join(list, ", "))}
}

func printTransfer(c *cli.Context, root, prefix string, t *remote.Transfer, word string) error {
	out := transferView{1, root, prefix, []string{}, t.Same, []string{}, t.Objects}
	for _, name := range t.Moved {
		out.Moved = append(out.Moved, strings.TrimPrefix(name, "refs/heads/"))
	}
	for _, name := range t.Refused {
		out.Refused = append(out.Refused, strings.TrimPrefix(name, "refs/heads/"))
	}
	if c.Bool("json") {
		if err := printJSON(out); err != nil {
			return err
		}
	} else {
		say("%s %s below %s; %d had nothing new; %s sent\n", word, branchesOf(len(out.Moved)), prefix, out.Same, term.Count(out.Objects, "object"))
	}
	if len(out.Refused) > 0 {
		remark("hank: %s stay as they are, because something else is there on the other side: %s; another --prefix keeps both\n", branchesOf(len(out.Refused)), strings.Join(out.Refused, ", "))
		return exitWith(exitcode.Decision)
	}
	if word == "imported" {
		remark("to go on: hank status%s\n", executionOption(c))
	}
	return nil
}

func branchesOf(n int) string {
	if n == 1 {
		return "1 branch"
	}
	return fmt.Sprintf("%d branches", n)
}
