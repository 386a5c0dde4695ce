package runtime

import (
	"io"

	"hank/internal/prompt"
	"hank/internal/sandbox"
	"hank/internal/secret"
	"hank/plan"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/runtime/codon"
	"hank/runtime/progress"
	"hank/state"
	"hank/state/journal"
)

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

	Limits LimitChange // of the execution, from now on
	Layers plan.Layers // settings of file, environment and command line

	Codon        state.CodonID // retry: the codon to go back to; empty is the one that failed
	FromRigSetup bool          // retry: keep the rig's work
	Replay       string        // play the transcripts of another execution instead of its agents, also in later runs; noReplay ends that
	StopAfter    int           // stop after so many codons; 0 is no limit
	Unattended   bool          // started by a supervisor: crashes are capped
	Note         string
	Labels       map[string]string
	Notify       string // command that gets the result as JSON on its standard input
	Version      string // of hank
	Environ      []string
	Kernel       *sandbox.Support // what can be confined; nil asks the kernel
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
	Say         func(line string)    // remarks and warnings, a line each; progress too, where Show is nil
	Show        func(progress.Event) // what happens in the run
	Work        execution.Work       // shows what takes its time
	Monitor     *codon.Monitor       // where the run shows what it does
	Requests    <-chan codon.Request // to stop or skip, from outside

	appended func(journal.Event, *state.State) // lets a test act between a transition and what follows it
}

// noModel undoes what -m has named before.
const noModel = "none"

// noReplay has agents run again in an execution that replays another one.
const noReplay = "none"

// layers are the settings around a program that was frozen with a model: that model
// stays until another is named.
func (r Request) layers(frozen string) plan.Layers {
	l := r.Layers
	switch l.Flags.Model {
	case "":
		l.Flags.Model = frozen
	case noModel:
		l.Flags.Model = ""
	}
	return l
}

// keepsTree reports whether a workspace that differs from its checkpoint stays as it
// is: resume keeps it unless told otherwise.
func (a Answers) keepsTree(mode Mode) bool {
	return a.KeepTree || mode == ModeResume && !a.Restore
}

// choose returns the index of the answer that the user chooses; -1 is none.
func (ui UI) choose(question string, answers ...string) int {
	if ui.Ask == nil {
		return -1
	}
	return ui.Ask(prompt.Question{Text: question, Answers: answers})
}

// question is a decision that is missing: open is the error where nobody takes it on
// the terminal.
type question struct {
	open    *finding.DecisionError
	choices []choice
	diff    func(io.Writer) error // shows what the question is about; nil: nothing can be shown
}

// choice is what the user can answer on the terminal. Without with it decides nothing.
type choice struct {
	text string
	with func(Answers) Answers
}

// answer puts a question to the user and returns the answers with that one.
func (ui UI) answer(q *question, a Answers) (Answers, error) {
	texts := make([]string, len(q.choices))
	for i, c := range q.choices {
		texts[i] = c.text
	}
	if len(texts) == 0 {
		return a, q.open
	}
	if ui.Ask == nil {
		return a, q.open
	}
	i := ui.Ask(prompt.Question{Text: q.open.What, Answers: texts, Diff: q.diff})
	if i < 0 || q.choices[i].with == nil {
		return a, q.open
	}
	return q.choices[i].with(a), nil
}

func (ui UI) say(line string) { secret.Say(ui.Say, line) }

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
