package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"hank/cmd/hank/call"
	"hank/internal/term"
	"hank/recovery"
	"hank/recovery/finding"
	"hank/runtime/control"
	"hank/runtime/exitcode"
	"hank/runtime/live"
	"hank/runtime/report/output"
	"hank/runtime/verdict"
	"hank/state"
)

func stopCommand() *cli.Command {
	return &cli.Command{
		Name: "stop", Usage: "gracefully stop the current run", ArgsUsage: "[CODON]",
		Description: `The running codon is terminated, and its work is saved. hank run then reruns it from
the state before it; hank resume continues its session. With --after-codon it may
finish first. The run itself ends with exit code 8. With CODON, --run or --attempt nothing is
stopped unless this is what is running when the request arrives.

Examples: hank stop --after-codon --wait
          hank stop review#1 --attempt 2

Exit code 0: stop requested (with --wait: the run has ended); 2: no run in progress;
4: what was named is not running; 5: the run does not answer, and the request is
withdrawn.`,
		Flags: []cli.Flag{executionFlag, seenRunFlag, seenAttemptFlag,
			&cli.BoolFlag{Name: "after-codon", Usage: "let the running codon finish"},
			&cli.BoolFlag{Name: "wait", Usage: "wait until the run has ended"},
			jsonFlag},
		Action: func(c *cli.Context) error {
			if err := arguments(c, 0, 1); err != nil {
				return err
			}
			command, said := "stop", "stopping the run"
			if c.Bool("after-codon") {
				command, said = "stop-after-codon", "the run will stop after the current codon"
			}
			return tell(c, command, said)
		},
	}
}

func skipCommand() *cli.Command {
	return &cli.Command{
		Name: "skip", Usage: "skip the running codon and continue with the next", ArgsUsage: "[CODON]",
		Description: `What the codon has done so far stays in the workspace and gets a checkpoint.
To run it later: hank retry CODON. Nothing but the codon that runs when the request arrives is
skipped: not the next one, if it ends at this moment. With CODON, --run or --attempt it is
skipped only if it is that one. While no codon is running and the command of a loop is asked whether
the loop continues, skip without CODON ends that command, which counts as continue.

Example: hank skip review#1 -e DIR

Exit code 0: skip requested; 2: no run in progress; 4: what was named is not running, or
nothing is, as between two attempts; 5: the run does not answer, and the request is withdrawn.`,
		Flags: []cli.Flag{executionFlag, seenRunFlag, seenAttemptFlag, opIDFlag, jsonFlag},
		Action: func(c *cli.Context) error {
			if err := arguments(c, 0, 1); err != nil {
				return err
			}
			if id := c.Args().First(); id != "" {
				return tell(c, "skip", fmt.Sprintf("the run was asked to skip codon %s", id))
			}
			return tell(c, "skip", "the run was asked to skip the codon that is running")
		},
	}
}

// What a stop or a skip is for, beside its codon.
var (
	seenRunFlag     = &cli.StringFlag{Name: "run", Usage: "only if `RUN` is in progress"}
	seenAttemptFlag = &cli.IntFlag{Name: "attempt", Usage: "only if it is attempt `N` at CODON"}
)

// patience is how long a run may take to answer before its request is withdrawn.
const patience = 5 * time.Second

// tell sends a command to the live run.
func tell(c *cli.Context, command, said string) error {
	v, err := view(c)
	if err != nil {
		return err
	}
	root := v.Layout.Root
	target := control.Target{Run: state.RunID(c.String("run")), Codon: state.CodonID(c.Args().First()), Attempt: c.Int("attempt")}
	if target.Attempt != 0 && target.Codon == "" {
		return &exitcode.UsageError{Why: "--attempt needs a CODON"}
	}
	asked, again, err := live.SkipOperation(v.State, c.String("op-id"), target, output.AnsweredOf(root, command, "", nil), time.Now())
	if err != nil {
		return err
	}
	if again != nil {
		if c.Bool("json") {
			return printJSON(output.AnsweredOf(root, command, "", nil))
		}
		return sayRepeated(again, "skip requested")
	}
	limited, cancel := context.WithTimeout(c.Context, patience)
	defer cancel()
	answer, err := live.Act(limited, root, command, live.Arguments{Target: target, Operation: asked})
	if errors.Is(err, control.ErrNotRunning) && v.Live {
		return &control.UnansweredError{Execution: term.ShortPath(root), Err: fmt.Errorf("%s takes no requests at the moment; try again", holder(v))}
	}
	if errors.Is(err, control.ErrNotRunning) && target != (control.Target{}) {
		return &finding.DecisionError{What: fmt.Sprintf("no run is in progress any more in %s; nothing was stopped or skipped", term.ShortPath(root))}
	}
	if errors.Is(err, control.ErrNotRunning) {
		return &exitcode.UsageError{Why: fmt.Sprintf("no run in progress in %s; see: `hank status`", term.ShortPath(root))}
	}
	var mute *control.UnansweredError
	if errors.As(err, &mute) && v.Live && v.Holder != nil {
		return fmt.Errorf("%w; if process %d is suspended, continue it with: kill -CONT %d", err, v.Holder.PID, v.Holder.PID)
	}
	if err != nil {
		return err
	}
	var refused error
	switch why := "request rejected by the run in " + term.ShortPath(root) + ": " + answer.Error; {
	case answer.Denied, answer.Stale:
		refused = &finding.DecisionError{What: why}
	case !answer.OK:
		refused = &exitcode.UsageError{Why: why}
	}
	if c.Bool("json") {
		if err := printJSON(output.AnsweredOf(root, command, forThis(c, answer.Error), call.ProblemForThis(c, refused))); err != nil {
			return err
		}
	} else if answer.OK && !c.Bool("wait") {
		if answer.Loop != "" {
			said = fmt.Sprintf("no codon is running: the run was asked to end the command of loop %s, which counts as continue", answer.Loop)
		}
		say("%s\n", said)
	}
	if refused != nil {
		return refused
	}
	if c.Bool("wait") {
		return sayEnded(c, root)
	}
	return nil
}

// holder names the command that holds an execution.
func holder(v *recovery.View) string {
	if v.Holder == nil {
		return "the command that holds it"
	}
	return fmt.Sprintf("%s (process %d)", v.Holder.Command, v.Holder.PID)
}

// sayEnded waits until the run has ended, and says how: one that was to stop may
// have come to its end before.
func sayEnded(c *cli.Context, root string) error {
	if err := untilFree(c.Context, root); err != nil || c.Bool("json") {
		return err
	}
	v, err := recovery.Read(root)
	if err != nil {
		return err
	}
	if how := verdict.OfExecution(v); how != verdict.Stopped {
		return say("the run has ended: %s\n", how)
	}
	return say("the run has stopped\n")
}

// untilFree waits until nobody holds the execution.
func untilFree(ctx context.Context, root string) error {
	for {
		v, err := recovery.Read(root)
		if err != nil || !v.Live {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}
