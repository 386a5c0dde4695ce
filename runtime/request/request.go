package request

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"hank/internal/prompt"
	"hank/internal/sandbox"
	"hank/internal/secret"
	"hank/internal/term"
	"hank/plan/config"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/runtime/agents"
	"hank/runtime/codon"
	"hank/runtime/progress"
	"hank/state"
	"hank/state/journal"
)

// Absolute returns a path that does not depend on where this process is; one
// that is not given stays so.
func Absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil && path != "" {
		return abs
	}
	return path
}

// OutputDir is where output files are to be copied, and whether a setting says so and no
// option. Empty: neither does.
func (r Request) OutputDir() (dir string, setting bool) {
	if r.Output != "" {
		return r.Output, false
	}
	dir = r.Layers.Merge(nil).OutputDirectory
	return dir, dir != ""
}

// Limit changes limits as the command says.
func (r Request) Limit(next state.Limits) state.Limits {
	if c := r.Limits.MaxDollars; c != nil {
		next.MaxDollars = *c
	}
	if c := r.Limits.MaxTimeSeconds; c != nil {
		next.MaxTimeSeconds = *c
	}
	return next
}

// RemarkUnkept says of a command that ends with a question which of its limits its
// answer has to give again.
func (ui UI) RemarkUnkept(r Request) {
	var given []string
	for _, l := range []struct {
		flag  string
		given bool
	}{
		{"--max-cost", r.Limits.MaxDollars != nil},
		{"--max-time", r.Limits.MaxTimeSeconds != nil},
		{"--checkpoint-cap", r.Layers.Flags.CheckpointCap != ""},
	} {
		if l.given {
			given = append(given, l.flag)
		}
	}
	switch n := len(given); n {
	case 0:
	case 1:
		ui.Remark("note: " + given[0] + " of this command is not kept: give it again with the answer")
	default:
		ui.Remark(fmt.Sprintf("note: %s and %s of this command are not kept: give them again with the answer", strings.Join(given[:n-1], ", "), given[n-1]))
	}
}

// ProcessEnviron is what every agent and rig gets: hank's own environment with the
// overlay HANKWEAVE_NAME=value (NAME=value; the value unset removes NAME), and
// without the variables that are meant for hank.
func (r Request) ProcessEnviron() []string { return agents.Overlay(r.source()) }

// SentinelEnviron is the environment that sentinels get.
func (r Request) SentinelEnviron() []string { return agents.SentinelEnviron(r.source()) }

func (r Request) source() []string {
	if r.Environ == nil {
		return os.Environ()
	}
	return r.Environ
}

// Support is what the run may count on.
func (r Request) Support() sandbox.Support {
	if r.Kernel != nil {
		return *r.Kernel
	}
	return sandbox.Kernel()
}

// Request is what a command asks for. The zero value of every field but Mode is a
// sensible default.
type Request struct {
	Mode      Mode
	Execution string // directory of the execution; empty is the current directory
	Hank      string // hank.json or its directory; empty is the one of the execution, or ./hank.json
	Data      string // directory or file that codons read
	Workspace string // an existing directory to work in, instead of agentRoot
	Output    string // where outputFiles are copied
	Overwrite bool   // replace what is in Output instead of renaming

	Limits LimitChange   // of the execution, from now on
	Layers config.Layers // settings of file, environment and command line

	Codon        state.CodonID // retry: the codon to go back to; empty is the one that failed
	FromRigSetup bool          // retry: keep the rig's work
	Replay       string        // play the transcripts of another execution instead of its agents, also in later runs; NoReplay ends that
	StopAfter    int           // stop after so many codons; 0 is no limit
	Until        state.CodonID // stop after this codon; empty: continue to the end
	Only         bool          // run Until and nothing else
	From         string        // RUN or RUN@TARGET, where a branch is to begin; empty: none
	Wait         bool          // at a gate: stay until it is answered
	Now          bool          // end the wait for a provider that an earlier run has left
	Unattended   bool          // started by a supervisor: crashes are capped
	DryRun       bool          // it is only told what the command would do
	Note         string
	Labels       map[string]string
	Notify       string // command that gets the result as JSON on its standard input
	Version      string // of hank
	Environ      []string
	Kernel       *sandbox.Support // what can be confined; nil asks the kernel
	OpID         string           // with which the command is carried out once, however often it is given; empty: none
	Operation    *state.Operation // that OpID stands for; the runtime fills it in
}

// Answers are decisions that the user has taken in advance. A question on the
// terminal adds to a copy.
type Answers struct {
	Adopt    bool // a changed hank: continue with the new one
	Frozen   bool // a changed hank: continue with the old one
	KeepTree bool // a changed workspace: work on what is there
	Restore  bool // a changed workspace: put the checkpoint back
	Fresh    bool // nothing is left of the state: start over
	Yes      bool // do not ask before a first checkpoint of a huge directory

	IncludeSecrets bool // files for secrets (.env): the first checkpoint includes them
	ExcludeSecrets bool // the same: no checkpoint ever does

	BreakLock string // lockId of a holder to be ignored, where locks cannot be trusted
}

// UI is how a run talks with whoever started it. What is nil is not there.
type UI struct {
	Ask         Asker // nil: not running interactively
	ConfirmHuge func(HugeWorkspace) bool
	Say         func(line string)         // remarks and warnings, a line each; progress too, where Show is nil
	Show        func(progress.Event)      // what happens in the run
	Work        execution.Work            // shows what takes its time
	Monitor     *codon.Monitor            // where the run shows what it does
	Requests    <-chan codon.Request      // to stop or skip, from outside
	Stream      func(journal.Event) error // gets each event of the command once it is durable; its error ends that
	Form        func(result any) any      // as what the result is given to the command of Notify; nil: as it is

	Appended func(journal.Event, *state.State) // lets a test act between a transition and what follows it
}

// noModel undoes what -m has named before.
const noModel = "none"

// NoReplay has agents run again in an execution that replays another one.
const NoReplay = "none"

// Noop, in the place of an execution to be replayed, has no codon do anything.
const Noop = "noop"

// ReplayText says what a run does that replays an execution, or in which no codon does anything.
func ReplayText(from string) string {
	if from == Noop {
		return "noop: no agent or script runs, nothing changes, and nothing is paid; `hank run --replay none` ends that, for the codons that are still to come"
	}
	return fmt.Sprintf("replaying %s: no agent runs, and nothing is paid", term.ShortPath(from))
}

// Replays reports whether an execution is to be replayed.
func (r Request) Replays() bool { return r.Replay != "" && r.Replay != NoReplay && r.Replay != Noop }

// LayersFor are the settings around a program that was frozen with a model: that model
// stays until another is named.
func (r Request) LayersFor(frozen string) config.Layers {
	l := r.Layers
	switch l.Flags.Model {
	case "":
		l.Flags.Model = frozen
	case noModel:
		l.Flags.Model = ""
	}
	return l
}

// KeepsTree reports whether a workspace that differs from its checkpoint stays as it
// is: resume keeps it unless told otherwise.
func (a Answers) KeepsTree(mode Mode) bool {
	return a.KeepTree || mode == ModeResume && !a.Restore
}

// Choose returns the index of the answer that the user chooses; -1 is none.
func (ui UI) Choose(question string, answers ...string) int {
	if ui.Ask == nil {
		return -1
	}
	return ui.Ask(prompt.Question{Text: question, Answers: answers})
}

// Question is a decision that is missing: open is the error where nobody takes it on
// the terminal.
type Question struct {
	Open    *finding.DecisionError
	Choices []Choice
	Diff    func(io.Writer) error // shows what the question is about; nil: nothing can be shown
}

// Choice is what the user can answer on the terminal. Without with it decides nothing.
type Choice struct {
	Text string
	With func(Answers) Answers
}

// Answer puts a question to the user and returns the answers with that one.
func (ui UI) Answer(q *Question, a Answers) (Answers, error) {
	texts := make([]string, len(q.Choices))
	for i, c := range q.Choices {
		texts[i] = c.Text
	}
	if len(texts) == 0 {
		return a, q.Open
	}
	if ui.Ask == nil {
		return a, q.Open
	}
	i := ui.Ask(prompt.Question{Text: q.Open.What, Answers: texts, Diff: q.Diff})
	if i < 0 || q.Choices[i].With == nil {
		return a, q.Open
	}
	return q.Choices[i].With(a), nil
}

func (ui UI) Remark(line string) { secret.Say(ui.Say, line) }

// LimitChange is what a command says about the limits of its execution. What is
// nil stays as it is, and 0 takes a limit away.
type LimitChange struct {
	MaxDollars     *state.USD
	MaxTimeSeconds *float64
}

// Asker puts a question to the user and returns the index of the answer that was
// chosen, or prompt.Cancelled.
type Asker func(prompt.Question) int

// HugeWorkspace describes a workspace whose first checkpoint would be large.
type HugeWorkspace struct {
	Path    string
	Why     string
	Files   int64
	Bytes   int64
	Largest []Directory
}

// Directory is one of the largest directories of a workspace.
type Directory struct {
	Path   string
	Files  int64
	Bytes  int64
	Ignore string // the line for .gitignore that leaves it out
}

// Mode is what the user asked for.
type Mode string

// The modes.
const (
	ModeRun    Mode = "run"    // bring the hank to its end
	ModeResume Mode = "resume" // the same, on the tree as it is and in the session that was interrupted
	ModeRetry  Mode = "retry"  // go back to before a codon, and on from there
)
