package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"hank/cmd/hank/call"
	"hank/internal/advice"
	"hank/internal/prompt"
	"hank/internal/term"
	"hank/recovery/finding"
	"hank/recovery/layout"
	"hank/runtime"
	"hank/runtime/codon"
	"hank/runtime/control"
	"hank/runtime/exitcode"
	"hank/runtime/forecast"
	"hank/runtime/hankfile"
	"hank/runtime/land"
	"hank/runtime/live"
	"hank/runtime/preview"
	"hank/runtime/progress"
	"hank/runtime/report"
	"hank/runtime/report/eventlog"
	"hank/runtime/report/output"
	"hank/runtime/request"
	"hank/runtime/result"
	"hank/runtime/verdict"
	"hank/state"
	"hank/state/journal"
)

// driveFlags are those of run, resume and retry.
func driveFlags() []cli.Flag {
	return []cli.Flag{
		executionFlag,
		&cli.StringFlag{Name: "config", Usage: "settings `FILE` (default: ./hankweave.json, if present)"},
		&cli.StringFlag{Name: "model", Aliases: []string{"m"}, Usage: "use `MODEL` for every codon; kept until changed (none: the models of the hank)"},
		&cli.StringFlag{Name: "max-cost", Usage: "stop when all runs of the execution have spent `USD` together; kept until changed (none: no limit but the hank's budgets)"},
		&cli.StringFlag{Name: "max-time", Usage: "stop after `SECONDS` of work in all runs together; kept until changed (none: no limit but the hank's budgets)"},
		capFlag,
		&cli.IntFlag{Name: "shim-idle-timeout", Usage: "end an agent that shows no sign of activity for `SECONDS`"},
		&cli.BoolFlag{Name: "ignore-rig-failures", Usage: "continue if a rig fails"},
		&cli.BoolFlag{Name: "check-outputs", Usage: "run beforeCopy as a check where there is no output directory"},
		sandboxFlag,
		&cli.BoolFlag{Name: "allow-bypass", Usage: "agents may do everything without asking, also without a sandbox; remembered for each agent, for all your hanks"},
		&cli.BoolFlag{Name: "adopt", Usage: "if the hank has changed: use the new version"},
		&cli.BoolFlag{Name: "frozen", Usage: "if the hank has changed: keep the version that this execution uses"},
		&cli.BoolFlag{Name: "keep-tree", Usage: "if files were edited manually, or the checkpoint to restore is lost: keep the workspace as it is"},
		&cli.BoolFlag{Name: "restore", Usage: "if files were edited manually: restore the checkpoint first (the edits are saved in another one)"},
		&cli.IntFlag{Name: "stop-after", Usage: "stop after `N` codons"},
		&cli.StringFlag{Name: "until", Usage: "stop after `CODON`"},
		&cli.StringFlag{Name: "only", Usage: "run `CODON`, which must be next, and stop"},
		&cli.BoolFlag{Name: "wait", Usage: "at a gate: stay until it is answered, and continue by itself"},
		&cli.BoolFlag{Name: "detach", Usage: "run in the background; survives closing the terminal"},
		&cli.BoolFlag{Name: "unattended", EnvVars: []string{"HANK_UNATTENDED"}, Usage: "for supervisors: give up after three crashes in the same codon"},
		&cli.StringFlag{Name: "notify", Usage: "run `COMMAND` when the run ends or needs a decision, with the result as JSON on its standard input"},
		&cli.StringFlag{Name: "note", Usage: "attach the note `TEXT` to the run"},
		&cli.StringSliceFlag{Name: "label", Usage: "attach a label `KEY=VALUE` to the run"},
		&cli.BoolFlag{Name: "overwrite-output", Usage: "overwrite existing files in the output directory instead of renaming the new ones"},
		&cli.StringFlag{Name: "progress", Usage: "`FORM`: auto (default), tty (a few lines that change while a codon runs), plain (a line for each fact), quiet (the summary alone), or json (each event of the run as a line of JSON, and the result as the last line)"},
		opIDFlag, yesFlag, jsonFlag, breakLockFlag,
	}
}

func runCommand() *cli.Command {
	return &cli.Command{
		Name: "run", Usage: "run a hank to completion, or resume after a crash",
		ArgsUsage: "[HANK|DIR] [DATA]",
		Description: `HANK is a hank.json, DIR the directory that holds one (default: the one of the
execution, or ./hank.json). DATA is a file or directory that the codons read; it is
linked into the workspace as read_only_data_source. The execution is created here, or
in the directory that -e names.

The execution keeps what --output, --model, --sandbox, --max-cost, --max-time,
--checkpoint-cap, --replay and --noop are given until they are given again, and HANK, DATA, --workspace
and the answer about secrets permanently: a plain hank run continues with all of them. Other
options hold for one command.

--from begins a branch at any checkpoint of any run (hank status --tree draws the runs; for
TARGET see hank rollback --help): it restores the checkpoint as hank rollback does, with a
checkpoint of what is there, and hank rollback --undo as the way back, and runs on from
there. RUN can be a part of an ID. --dry-run shows what the command would do.

Running it again resumes: an interrupted codon is rerun from the state before it. A
failed codon stays failed until you run hank retry.

Examples: hank run my-hank ~/papers -e ~/runs/papers -o results
          hank run --max-cost 20 --detach --notify 'mail -s hank me@example.com'

Exit code 0: the hank is completed; 1: a codon failed; 3: invalid hank; 4: needs
your decision, named in the message; 5: locked by another hank process; 6: budget;
7: waiting at a gate for hank approve or hank reject, or held; 8: stopped before completion; 9: agent missing; 74: disk full or I/O error, work kept.`,
		Flags: append(driveFlags(),
			dryRunFlag,
			&cli.StringFlag{Name: "from", Usage: "begin a branch at `RUN[@TARGET]`: where a run ended, or a checkpoint on the way there; a SHA names any checkpoint"},
			&cli.StringFlag{Name: "data", Usage: "input data `PATH`; kept for the execution"},
			&cli.BoolFlag{Name: "now", Usage: "end the wait for a provider (usage limit, overload, network), of a run in progress or that an earlier run has left"},
			&cli.StringFlag{Name: "workspace", Usage: "work in this existing `DIR`; its own .git is never touched; kept for the execution"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "copy outputFiles to this `DIR`; kept until changed"},
			&cli.StringFlag{Name: "replay", Usage: "replay the agents recorded in the execution in `DIR` instead of running them: their output, costs (not paid) and file changes; later runs continue the replay (none: run agents again)"},
			&cli.BoolFlag{Name: "noop", Usage: "go through the plan without doing anything: every codon completes at once, no agent, script, rig or check runs, and nothing changes; later runs continue so (--replay none: run agents)"},
			&cli.BoolFlag{Name: "include-secrets", Usage: "include files whose names suggest secrets (.env, id_rsa, ...) in the checkpoints"},
			&cli.BoolFlag{Name: "exclude-secrets", Usage: "exclude such files from every checkpoint; a rollback does not touch them"},
			&cli.BoolFlag{Name: "fresh", Usage: "start with the files that are there: in a workspace without an execution, or if no state can be recovered"},
		),
		Action: func(c *cli.Context) error {
			if err := arguments(c, 0, 2); err != nil {
				return err
			}
			hank, data := hankfile.Arguments(c.Args().Slice())
			if c.String("data") != "" {
				data = c.String("data")
			}
			if hank != "" { // one that is named must be there, whatever the execution has frozen
				if _, err := hankfile.File(hank); err != nil {
					return err
				}
			}
			r, a, err := driveOptions(c, runtime.ModeRun)
			if err != nil {
				return err
			}
			r.Hank, r.Data, r.Workspace, r.Output, r.Replay = hank, data, c.String("workspace"), c.String("output"), c.String("replay")
			if c.Bool("noop") {
				if r.Replay != "" {
					return &exitcode.UsageError{Why: "--noop and --replay are mutually exclusive"}
				}
				r.Replay = request.Noop
			}
			a.Fresh, a.IncludeSecrets, a.ExcludeSecrets = c.Bool("fresh"), c.Bool("include-secrets"), c.Bool("exclude-secrets")
			if a.IncludeSecrets && a.ExcludeSecrets {
				return &exitcode.UsageError{Why: "--include-secrets and --exclude-secrets are mutually exclusive"}
			}
			if r.From = c.String("from"); r.From != "" && (a.KeepTree || a.Restore || a.Fresh) {
				return &exitcode.UsageError{Why: "--from brings the workspace to a checkpoint: it cannot be combined with --keep-tree, --restore or --fresh"}
			}
			r.Now = c.Bool("now")
			if c.Bool("dry-run") {
				return tellForecast(c, r, a)
			}
			if r.Now {
				if done, err := endWait(c, r.Execution); done || err != nil {
					return err
				}
			}
			return drive(c, r, a)
		},
	}
}

// endWait ends the wait of a run in progress, and reports whether there is one.
func endWait(c *cli.Context, execution string) (bool, error) {
	answer, err := live.Control(c.Context, execution, live.EndWait)
	var missing *layout.NotFoundError
	switch {
	case errors.Is(err, control.ErrNotRunning), errors.As(err, &missing):
		return false, nil
	case err != nil:
		return true, err
	case !answer.OK:
		return true, &finding.DecisionError{What: answer.Error}
	}
	return true, say("the wait is over: the run continues\n")
}

func resumeCommand() *cli.Command {
	return &cli.Command{
		Name: "resume", Usage: "resume the agent's interrupted session, keeping the current files",
		Description: `While hank run restarts an interrupted codon from the state before it, resume keeps
its partial work and continues the agent's session, if the agent can.

Example: hank resume -e DIR --max-cost 5

The exit codes are those of hank run.`,
		Flags: driveFlags(),
		Action: func(c *cli.Context) error {
			if err := arguments(c, 0, 0); err != nil {
				return err
			}
			r, a, err := driveOptions(c, runtime.ModeResume)
			if err != nil {
				return err
			}
			return drive(c, r, a)
		},
	}
}

func retryCommand() *cli.Command {
	return &cli.Command{
		Name: "retry", Usage: "reset to just before a codon and run from there", ArgsUsage: "[CODON]",
		Description: `Without CODON, the one that failed. The workspace is reset to the checkpoint before
the codon, and its rig runs again. A new codon that --adopt has put before it runs first, on the
same workspace. To undo: hank rollback --undo.

If you have changed the prompts, the script or the rig of the failed codon, or a file
that its rig copies, and nothing else of the hank, the change is used, and printed.
--frozen keeps the version that the execution uses. If anything else differs, hank asks.

--dry-run shows what the reset would change, what hank would ask first, and whether the codon
would run then; it runs nothing. Where the retry would end before the reset, or its reset would be
refused, it ends with its exit code.

Examples: hank retry
          hank retry review --dry-run
          hank retry review#1 --from rig-setup

The exit codes are those of hank run; 2: the codon has not run.`,
		Flags: append(driveFlags(), &cli.StringFlag{Name: "from", Usage: "`rig-setup`: reuse the rig's result; rerun only the agent"}, dryRunFlag),
		Action: func(c *cli.Context) error {
			if err := arguments(c, 0, 1); err != nil {
				return err
			}
			if from := c.String("from"); from != "" && from != "rig-setup" {
				return &exitcode.UsageError{Why: "--from takes rig-setup, not " + from}
			}
			r, a, err := driveOptions(c, runtime.ModeRetry)
			if err != nil {
				return err
			}
			r.Codon, r.FromRigSetup = state.CodonID(c.Args().First()), c.String("from") != ""
			if c.Bool("dry-run") {
				return previewRetry(c, r, a)
			}
			return drive(c, r, a)
		},
	}
}

// previewRetry shows what a retry moves, and what it asks first.
func previewRetry(c *cli.Context, r runtime.Request, a runtime.Answers) (err error) {
	if r.OpID != "" {
		return errDryOperation
	}
	if r.Execution, err = executionOf(c); err != nil {
		return err
	}
	then, err := forecast.AfterMove(c.Context, r, a)
	if err != nil {
		return err
	}
	p, err := preview.OfRetry(c.Context, r, a, then.Unmoved, work)
	if err != nil {
		return err
	}
	if p.Asks == nil { // what only a run that begins asks
		errors.As(then.Asked, &p.Asks)
	}
	if c.Bool("json") {
		then.Message = forThis(c, then.Message)
		form := output.RetryOf(report.RetryOf(p), then, call.ProblemForThis(c, p.Refused))
		return jsonEnding(form, form.Error)
	}
	if !p.Stays {
		printPreview(p.Preview, true)
	}
	for _, remark := range then.Remarks {
		say("%s\n", forThis(c, remark))
	}
	switch {
	case p.Refused != nil: // which is said at the end
	case then.Message != "" && p.Stays:
		say("the workspace stays as it is, and nothing runs: %s\n", forThis(c, then.Message))
	case then.Message != "":
		say("then nothing runs: %s\n", forThis(c, then.Message))
	case p.Stays:
		say("the workspace stays as it is, and %s on it\n", then.Begins(p.Codon))
	default:
		say("then %s\n", then.Begins(p.Codon))
	}
	if len(p.Uses) > 0 {
		say("%s: uses your changed %s\n", p.Codon, strings.Join(p.Uses, ", "))
	}
	if p.Asks != nil {
		say("hank asks first: %s\n", forThis(c, p.Asks.Error()))
	}
	return cmp.Or(p.Refused, exitWith(then.Refusal()))
}

// driveOptions reads the flags that run, resume and retry share.
func driveOptions(c *cli.Context, mode runtime.Mode) (r runtime.Request, a runtime.Answers, err error) {
	layers, settingsErr := settings(c)
	labels := map[string]string{}
	for _, l := range c.StringSlice("label") {
		key, value, ok := strings.Cut(l, "=")
		if !ok {
			return r, a, &exitcode.UsageError{Why: fmt.Sprintf("--label takes KEY=VALUE, not %q", l)}
		}
		labels[key] = value
	}
	for _, two := range [][2]string{{"adopt", "frozen"}, {"keep-tree", "restore"}} {
		if c.Bool(two[0]) && c.Bool(two[1]) {
			return r, a, &exitcode.UsageError{Why: fmt.Sprintf("--%s and --%s are mutually exclusive", two[0], two[1])}
		}
	}
	if c.IsSet("stop-after") && c.Int("stop-after") < 1 {
		return r, a, &exitcode.UsageError{Why: fmt.Sprintf("--stop-after takes a number of codons from 1 on, not %d", c.Int("stop-after"))}
	}
	if c.IsSet("until") && c.IsSet("only") {
		return r, a, &exitcode.UsageError{Why: "--until and --only are mutually exclusive"}
	}
	switch form := c.String("progress"); {
	case form != "json" && formOfProgress(c) == "":
		return r, a, notOneOf("progress", form, append(progress.Forms, "json")...)
	case form == string(progress.TTYForm) && (c.Bool("detach") || !progress.CanDraw(progressOut(c))):
		return r, a, &exitcode.UsageError{Why: "--progress tty needs a terminal that can erase a line; without one, use --progress plain"}
	case form == "json" && c.Bool("json"):
		return r, a, &exitcode.UsageError{Why: "--progress json and --json are mutually exclusive: the last line of the stream has what --json prints"}
	}
	limits, err := call.Limits(c)
	if err != nil {
		return r, a, err
	}
	r = runtime.Request{
		Mode: mode, Execution: c.String("execution"), Layers: layers, Limits: limits, Overwrite: c.Bool("overwrite-output"),
		StopAfter: c.Int("stop-after"), Wait: c.Bool("wait"), Unattended: c.Bool("unattended"),
		Until: state.CodonID(orDefault(c.String("only"), c.String("until"))), Only: c.IsSet("only"),
		OpID: c.String("op-id"), Note: c.String("note"), Labels: labels, Notify: c.String("notify"), Version: version,
	}
	a = runtime.Answers{
		Adopt: c.Bool("adopt"), Frozen: c.Bool("frozen"), KeepTree: c.Bool("keep-tree"), Restore: c.Bool("restore"),
		Yes: c.Bool("yes"), BreakLock: c.String("break-lock"),
	}
	if settingsErr != nil {
		result.Notify(c.Context, r, runtime.UI{Say: sayer(c), Form: resultForm}, nil, settingsErr)
	}
	return r, a, settingsErr
}

// formOfProgress is the form in which people are shown the run; empty: it is none. An
// earlier version called the default text.
func formOfProgress(c *cli.Context) progress.Form {
	switch form := c.String("progress"); {
	case form == "" || form == "text" || form == "json":
		return progress.AutoForm
	case slices.Contains(progress.Forms, form):
		return progress.Form(form)
	}
	return ""
}

// sayer prints progress.
func sayer(c *cli.Context) func(string) {
	out := progressOut(c)
	return func(line string) { printTo(out, "%s\n", forThis(c, line)) }
}

// progressOut is where progress goes: to standard error when JSON goes to
// standard output.
func progressOut(c *cli.Context) *os.File {
	if c.Bool("json") || streams(c) {
		return os.Stderr
	}
	return os.Stdout
}

// resultForm is what --notify is given.
func resultForm(result any) any { return output.ResultOf(result.(*runtime.Result)) }

// streams reports whether standard output has the events of the run.
func streams(c *cli.Context) bool { return c.String("progress") == "json" }

func confirmHuge(c *cli.Context) func(runtime.HugeWorkspace) bool {
	return func(h runtime.HugeWorkspace) bool {
		remark("The first checkpoint of %s would include at least %s (%s): %s.\nLargest directories, with the .gitignore line that excludes each:\n",
			h.Path, term.Count(int(h.Files), "file"), term.Bytes(h.Bytes), h.Why)
		for _, f := range h.Largest {
			remark("  %10s  %14s  %s\n", term.Bytes(f.Bytes), term.Count(int(f.Files), "file"), f.Ignore)
		}
		ask := asker(c)
		return ask != nil && ask(prompt.Question{Text: "Continue anyway?", Answers: prompt.YesNo}) == 0
	}
}

// drive runs and prints the result.
func drive(c *cli.Context, r runtime.Request, a runtime.Answers) error {
	if r.Mode != runtime.ModeRun { // only run makes an execution where there is none
		root, err := executionOf(c)
		if err != nil {
			return err
		}
		r.Execution = root
	}
	if c.Bool("detach") {
		return detach(c, r.Execution)
	}
	requests, stop := signals()
	defer stop()
	monitor := &codon.Monitor{}
	p := progress.Start(progressOut(c), formOfProgress(c), monitor, func(text string) string { return forThis(c, text) })
	screen.Store(p)
	ui := runtime.UI{Ask: asker(c), ConfirmHuge: confirmHuge(c), Say: func(line string) { p.Show(progress.Remark{Text: line}) }, Show: p.Show, Work: work, Monitor: monitor, Requests: requests, Form: resultForm}
	if streams(c) {
		ui.Stream = func(e journal.Event) error { return call.JSONLine(os.Stdout, output.EventOf(eventlog.Of(e))) }
	}
	res, err := runtime.Run(c.Context, r, a, ui)
	p.Stop()
	screen.Store(nil)
	if res != nil && res.RunID != "" && res.Repeats == nil {
		call.CatchUp(res.Execution)
	}
	if err != nil {
		if res == nil || !c.Bool("json") && !streams(c) {
			return err
		}
	}
	res = res.For(executionOption(c))
	form := output.ResultOf(res)
	if streams(c) {
		return cmp.Or(call.JSONLine(os.Stdout, output.ResultLine{Schema: 1, Type: "result", Data: form}), call.Ending(form.Error))
	}
	if c.Bool("json") {
		return jsonEnding(form, form.Error)
	}
	if res.Repeats != nil {
		return cmp.Or(sayRepeated(res.Repeats, res.Message), exitWith(res.Code))
	}
	ended := res.Ended()
	if ended.Changed && ended.Next == "" && res.Verdict == verdict.Completed {
		command, but := land.Command(c.Context, layout.Layout{Root: res.Execution, Workspace: res.Workspace})
		ended.Land, ended.LandBut = commandForThis(c, command), advice.Render(but, executionOption(c))
	}
	p.Show(ended)
	return exitWith(res.Code)
}
