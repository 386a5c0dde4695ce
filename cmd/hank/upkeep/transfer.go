package upkeep

import (
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"hank/checkpoint/remote"
	"hank/cmd/hank/call"
	"hank/internal/shell"
	"hank/internal/term"
	"hank/recovery/execution"
	"hank/runtime/exitcode"
	"hank/runtime/report/output"
	"hank/runtime/transfer"
)

// exportCheckpoints is hank checkpoints export.
func exportCheckpoints(c *cli.Context, address string) error {
	v, err := call.View(c)
	if err != nil {
		return err
	}
	t, err := transfer.Export(c.Context, v, remoteOf(c, address), call.Work)
	if err != nil {
		return err
	}
	return printTransfer(c, t, "exported")
}

// importCheckpoints is hank checkpoints import: into the execution that is named or
// here, or into a new one where -e names nothing.
func importCheckpoints(c *cli.Context, address string) error {
	_ = call.OutliveReaders(c) // it writes
	root, err := call.ExecutionOf(c)
	if err != nil {
		if c.String("execution") == "" {
			return &exitcode.UsageError{Why: "no execution here to import into; create one with: hank checkpoints import " + shell.Path(remote.WithoutSecrets(address)) + " -e DIR"}
		}
		if root, err = filepath.Abs(c.String("execution")); err != nil {
			return err
		}
	}
	isNew := transfer.IsNew(root)
	t, err := transfer.Import(c.Context, root, remoteOf(c, address), execution.Options{BreakLock: c.String("break-lock"), Work: call.Work,
		KeepTree: c.Bool("keep-tree"), RestoreTree: c.Bool("restore"),
		IncludeSecrets: c.Bool("include-secrets"), ExcludeSecrets: c.Bool("exclude-secrets"),
		Warn: func(line string) { call.Remark("%s\n", call.ForThis(c, line)) }})
	if t != nil {
		for _, f := range t.Findings {
			call.Remark("%s: %s\n", f.Severity.Word(), call.ForThis(c, f.What))
		}
		if !isNew {
			remarkIgnored(c)
		}
	}
	if err != nil {
		return err
	}
	return printTransfer(c, t, "imported")
}

func remoteOf(c *cli.Context, address string) remote.Remote {
	return remote.Remote{Address: address, Prefix: strings.Trim(c.String("prefix"), "/"), Sessions: c.Bool("sessions")}
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
		call.Remark("note: %s %s no effect: an import into an existing execution does not change its workspace\n", strings.Join(given, " and "), have)
	}
}

func printTransfer(c *cli.Context, t *transfer.Transfer, word string) error {
	if c.Bool("json") {
		form := output.TransferOf(t)
		if err := call.JSONEnding(form, form.Error); err != nil {
			return err
		}
	} else {
		where := "to"
		if word == "imported" {
			where = "from"
		}
		call.Say("%s %s %s %s (%s; %d already up to date)\n", word, output.Branches(len(t.Moved)), where, t.Prefix, term.Count(t.Objects, "object"), t.Same)
	}
	if len(t.Refused) > 0 {
		call.Remark("hank: %s\n", output.Diverged(t))
		return call.ExitWith(exitcode.Decision)
	}
	if word == "imported" {
		call.Remark("next: hank status%s\n", call.ExecutionOption(c))
	}
	return nil
}
