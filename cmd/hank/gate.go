package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"hank/cmd/hank/call"
	"hank/runtime"
	"hank/runtime/exitcode"
	"hank/runtime/gate"
	"hank/runtime/report/output"
	"hank/state"
)

func approveCommand() *cli.Command {
	return answerCommand(state.GateApproved, &cli.Command{
		Name: "approve", Usage: "answer yes at a gate that a run waits at", ArgsUsage: "GATE",
		Description: `GATE is the id of the gate, which hank status prints with the file to look at and the
checkpoint that is judged. With --checkpoint the answer counts only for that
checkpoint. A gate of the kind reply needs --reply: the text reaches the next prompt.

A run that waits (hank run --wait) continues by itself; else hank run continues. An
answer is given once: the same one again changes nothing, and another one is refused.
The agents of an execution may not answer.

Examples: hank approve plan-ok
          hank approve plan-ok --checkpoint 1a2b3c4d5e6f --reply 'Leave the tests alone'

Exit code 0: approved, also if it was before; 2: no such gate, or its reply is missing;
4: refused: the gate does not wait, has expired, was answered otherwise or judges another
checkpoint; 5: locked by another hank process.`,
	})
}

func rejectCommand() *cli.Command {
	return answerCommand(state.GateRejected, &cli.Command{
		Name: "reject", Usage: "answer no at a gate that a run waits at", ArgsUsage: "GATE",
		Description: `The codon of the gate fails, and its onFailure applies: the run ends, or the codon is
run again, or the plan continues. --reply says why: the text reaches the prompt of
the codon when it is run again. Everything else is as with hank approve.

Example: hank reject plan-ok --reply 'Step 3 deletes the archive'

Exit code 0: rejected, also if it was before; 2: no such gate; 4: refused: the gate
does not wait, has expired, was answered otherwise or judges another checkpoint; 5:
locked by another hank process.`,
	})
}

// answerCommand fills in what both have in common.
func answerCommand(status state.GateStatus, command *cli.Command) *cli.Command {
	command.Flags = []cli.Flag{executionFlag,
		&cli.StringFlag{Name: "reply", Usage: "give `TEXT` to the next prompt"},
		&cli.StringFlag{Name: "checkpoint", Usage: "answer only if checkpoint `SHA` is what is judged"},
		opIDFlag, jsonFlag}
	command.Action = func(c *cli.Context) error {
		if err := arguments(c, 1, 1); err != nil {
			return err
		}
		if sha := c.String("checkpoint"); c.IsSet("checkpoint") && (len(sha) < 4 || len(sha) > 40 || strings.Trim(strings.ToLower(sha), "0123456789abcdef") != "") {
			return &exitcode.UsageError{Why: fmt.Sprintf("--checkpoint takes the SHA of a checkpoint, at least 4 digits of it, not %q", sha)}
		}
		if c.String("reply") == "TEXT" { // as the command is printed; an answer is final
			return &exitcode.UsageError{Why: "TEXT stands for your words: --reply 'what is to be done'; nothing was answered"}
		}
		root, err := executionOf(c)
		if err != nil {
			return err
		}
		done, err := runtime.AnswerGate(c.Context, root, gate.Answer{Gate: c.Args().First(), Status: status, Reply: c.String("reply"), Checkpoint: c.String("checkpoint")}, c.String("op-id"))
		if err != nil {
			return err
		}
		r := done.Gate
		text := fmt.Sprintf("%s (checkpoint %.12s)", gate.Sentence(r), r.Checkpoint)
		if known := done.Repeats; known != nil {
			if done.Repeats = nil; !c.Bool("json") {
				return sayRepeated(known, text)
			}
		}
		return sayDecided(c, done, func() string {
			if done.Unchanged {
				return fmt.Sprintf("%s on %s already; nothing has changed", text, r.Answer.Time.Local().Format(time.DateTime))
			}
			return text + call.Continues(root, settingsHere(c), done.Live, r.Status == state.GateRejected)
		})
	}
	return command
}

func holdCommand() *cli.Command {
	return &cli.Command{
		Name: "hold", Usage: "keep an execution from running until hank release", ArgsUsage: "[REASON]",
		Description: `While an execution is held, hank run, resume and retry do nothing and end with exit
code 7, and print REASON. A run in progress ends after its codon. The agents of an
execution may not hold it.

Example: hank hold 'the budget is being discussed'

Exit code 0: held, also if it was before; 4: refused; 5: locked by another hank
process.`,
		Flags: []cli.Flag{executionFlag, jsonFlag},
		Action: func(c *cli.Context) error {
			if err := arguments(c, 0, 1); err != nil {
				return err
			}
			root, err := executionOf(c)
			if err != nil {
				return err
			}
			done, err := runtime.SetHold(c.Context, root, c.Args().First())
			if err != nil {
				return err
			}
			return sayDecided(c, done, func() string {
				switch {
				case done.Unchanged:
					return "held since " + done.Hold.Time.Local().Format(time.DateTime) + " already; to let it run: `hank release`"
				case done.Live:
					return "held; the run ends before its next codon; to let it run: `hank release`"
				}
				return "held; to let it run: `hank release`"
			})
		},
	}
}

func releaseCommand() *cli.Command {
	return &cli.Command{
		Name: "release", Usage: "let an execution run again after hank hold",
		Description: `It starts nothing: hank run continues.

Example: hank release -e DIR

Exit code 0: not held any more, also if it was not before; 4: refused; 5: locked by
another hank process.`,
		Flags: []cli.Flag{executionFlag, jsonFlag},
		Action: func(c *cli.Context) error {
			if err := arguments(c, 0, 0); err != nil {
				return err
			}
			root, err := executionOf(c)
			if err != nil {
				return err
			}
			done, err := runtime.ReleaseHold(c.Context, root)
			if err != nil {
				return err
			}
			return sayDecided(c, done, func() string {
				if done.Unchanged {
					return "not held; nothing has changed"
				}
				return "released" + call.Continues(root, settingsHere(c), done.Live, false)
			})
		},
	}
}

// sayDecided prints what came of a decision.
func sayDecided(c *cli.Context, done *runtime.Decided, text func() string) error {
	if c.Bool("json") {
		return printJSON(output.DecidedOf(done))
	}
	return say("%s\n", forThis(c, text()))
}
