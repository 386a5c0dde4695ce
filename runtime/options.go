package runtime

import (
	"hank/internal/sandbox"
	"hank/plan"
	"hank/recovery/execution"
	"hank/runtime/agents"
	"hank/runtime/codon"
	"hank/runtime/exitcode"
	"hank/runtime/verdict"
	"hank/state"
	"hank/state/journal"
)

// Options say what to run and how. The zero value of every member is a
// sensible default.
type Options struct {
	Execution string // folder of the execution; empty is the current directory
	Hank      string // hank.json or its folder; empty is the one of the execution, or ./hank.json
	Data      string // folder or file that codons read
	Workspace string // an existing folder to work in, instead of agentRoot
	Output    string // where outputFiles are copied
	Overwrite bool   // replace what is in Output instead of renaming

	Limits LimitChange // of the execution, from now on
	Layers plan.Layers // settings of file, environment and command line

	forgetModel bool // -m none: the codons have their own models again

	Adopt    bool // a changed hank: go on with the new one
	Frozen   bool // a changed hank: go on with the old one
	KeepTree bool // a changed workspace: work on what is there
	Restore  bool // a changed workspace: put the checkpoint back
	Fresh    bool // nothing is left of the state: begin anew
	Yes      bool // do not ask before a first checkpoint of a huge folder

	IncludeSecrets bool // files for secrets (.env): the first checkpoint takes them in
	ExcludeSecrets bool // the same: no checkpoint ever does

	Codon        state.CodonID // retry: the codon to go back to; empty is the one that failed
	FromRigSetup bool          // retry: keep the rig's work
	Replay       string        // play the transcripts of another execution instead of its agents
	StopAfter    int           // end in order after so many codons; 0 is no limit
	Unattended   bool          // started by a supervisor: crashes are capped
	BreakLock    string
	Note         string
	Labels       map[string]string
	Notify       string // command that gets the result as JSON on its standard input
	Version      string // of hank
	Environ      []string
	Kernel       *sandbox.Support     // what can be confined; nil asks the kernel
	Requests     <-chan codon.Request // to stop or skip, from outside
	Ask          Asker                // nil: nobody is there to be asked
	Say          func(line string)    // progress and warnings for a person, a line each
	Work         execution.Work       // shows what takes its time
	Monitor      *codon.Monitor       // where the run shows what it does; may be nil
	ConfirmHuge  func(HugeFolder) bool

	appended func(journal.Event, *state.State) // lets a test act between a transition and what follows it
}

// LimitChange is what a command says about the limits of its execution. What is
// nil stays as it is, and 0 takes a limit away.
type LimitChange struct {
	MaxDollars     *state.USD
	MaxTimeSeconds *float64
}

// Asker puts a question with a few answers to a person and returns the index
// of the one that was chosen; -1 is none.
type Asker func(question string, answers []string) int

// HugeFolder describes a workspace whose first checkpoint would be large.
type HugeFolder struct {
	Path    string
	Why     string
	Files   int64
	Bytes   int64
	Largest []Folder
}

// Folder is one of the largest folders of a workspace.
type Folder struct {
	Path   string
	Files  int64
	Bytes  int64
	Ignore string // the line for .gitignore that leaves it out
}

// outputSchema is the version of what --json prints. It has nothing to do with
// that of the state.
const outputSchema = 1

// Result says how a run ended, for people and, as JSON, for programs.
type Result struct {
	Schema    int                 `json:"schema"`
	Code      exitcode.Code       `json:"exitCode"`
	RunID     state.RunID         `json:"runId,omitempty"`
	Status    state.RunStatus     `json:"status,omitempty"`
	EndReason state.EndReason     `json:"endReason,omitempty"`
	Verdict   verdict.Verdict     `json:"verdict,omitempty"` // on the run, for people
	Message   string              `json:"message"`
	Done      int                 `json:"codonsDone"`
	Planned   int                 `json:"codonsPlanned"`
	Codon     state.CodonID       `json:"codonId,omitempty"` // the one that ended the run
	Cost      state.USD           `json:"cost"`
	Limits    state.Limits        `json:"limits,omitzero"` // of the execution
	Execution string              `json:"execution"`
	Workspace string              `json:"workspace"`
	Output    string              `json:"output,omitempty"`
	Sandbox   *agents.Confinement `json:"sandbox,omitempty"` // what confined its processes, if anything
	Next      string              `json:"next,omitempty"`    // the command to go on with
	Finish    string              `json:"finish,omitempty"`  // the one that does again what a budget has cut off

	FinishFirst string `json:"finishFirst,omitempty"` // what a person must do before that

	state.Caveats // of the codons that are done
}
