// Package plan reads hank.json, says everything that is wrong with it, and
// unrolls it into the list of codons that a run goes through.
//
// It is pure: it writes nothing, asks no clock, and reads only the directory of
// the hank through HankDir. The names and the meaning of the fields are those
// of the compatible system; what hank adds is marked "hank's addition".
package plan

import (
	"cmp"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hank/plan/config"
	"hank/plan/jsonshape"
	"hank/plan/loop"
	"hank/plan/model"
	"hank/plan/steps"
	"hank/plan/variables"
)

// CodonID is the id of a codon in hank.json, of a loop, or of a codon in a
// loop's iteration: review#0.
type CodonID string

// Hank is a program: the content of hank.json.
type Hank struct {
	Schema                 string         `json:"$schema,omitzero"`
	Meta                   *Meta          `json:"meta,omitzero"`
	Overrides              *Overrides     `json:"overrides,omitzero"`
	Requirements           *Requirements  `json:"requirements,omitzero"`
	GlobalSystemPromptFile Refs           `json:"globalSystemPromptFile,omitzero"`
	GlobalSystemPromptText string         `json:"globalSystemPromptText,omitzero"`
	Items                  []Item         `json:"hank"`
	Unknown                jsontext.Value `json:",embed"`

	Variables map[string]string `json:"variables,omitzero"` // hank's addition: placeholders of its own

	doc    *jsonshape.Document // positions, for diagnostics; nil in a Hank that was not parsed
	places []place             // its codons and loops
	known  *variables.Names    // the placeholders that its texts may have
}

// place is a codon or loop of a hank and where it is.
type place struct {
	pointer string // JSON pointer
	codon   *Codon // one of the two is set
	loop    *Loop
	inside  *Loop // the loop around a codon
}

// Title is what the hank is called.
func (h *Hank) Title() string {
	if h.Meta != nil && h.Meta.Name != "" {
		return h.Meta.Name
	}
	return "(unnamed hank)"
}

// Meta describes the hank to people.
type Meta struct {
	Name        string         `json:"name"`
	Version     string         `json:"version"`
	Description string         `json:"description,omitzero"`
	Author      string         `json:"author,omitzero"`
	Unknown     jsontext.Value `json:",embed"`
}

// Overrides are default settings. They win over
// hankweave.json and lose to the environment and the command line.
type Overrides struct {
	Model             string         `json:"model,omitzero"`
	DataHashTimeLimit int            `json:"dataHashTimeLimit,omitzero"` // milliseconds
	ShimIdleTimeout   int            `json:"shimIdleTimeout,omitzero"`   // seconds
	OnStuck           steps.OnStuck  `json:"onStuck,omitzero"`
	OnUsageLimit      steps.OnLimit  `json:"onUsageLimit,omitzero"`
	MaxUsageLimitWait float64        `json:"maxUsageLimitWait,omitzero"` // seconds
	Budget            *Budget        `json:"budget,omitzero"`
	Sandbox           config.Sandbox `json:"sandbox,omitzero"`
	RequirePrice      *bool          `json:"requirePrice,omitzero"`
	Unknown           jsontext.Value `json:",embed"`
}

// Settings are the overrides as a layer of settings; nil: there are none.
func (o *Overrides) Settings() *config.Settings {
	if o == nil {
		return nil
	}
	over := &config.Settings{Model: o.Model, ShimIdleTimeout: o.ShimIdleTimeout, OnUsageLimit: o.OnUsageLimit, MaxUsageLimitWait: o.MaxUsageLimitWait}
	if o.RequirePrice != nil && *o.RequirePrice { // a hank may ask for it, not lift what its user asks for
		over.RequirePrice = o.RequirePrice
	}
	if o.Sandbox == config.WorkspaceSandbox { // a hank may ask for it, not lift what its user asks for
		over.Sandbox = o.Sandbox
	}
	if b := o.Budget; b != nil {
		over.Budget = &config.Ceiling{MaxDollars: b.MaxDollars, MaxTimeSeconds: b.MaxTimeSeconds}
	}
	return over
}

// Requirements name required tools and environment variables.
type Requirements struct {
	Env     []string       `json:"env,omitzero"`   // environment variables
	Tools   []string       `json:"tools,omitzero"` // programs on the PATH
	Unknown jsontext.Value `json:",embed"`
}

// Item is a codon or a loop; exactly one of the two is set.
type Item struct {
	Codon *Codon
	Loop  *Loop
}

// MarshalJSONTo writes the codon or the loop.
func (i Item) MarshalJSONTo(e *jsontext.Encoder) error {
	if i.Loop != nil {
		return json.MarshalEncode(e, i.Loop)
	}
	return json.MarshalEncode(e, i.Codon)
}

// Loop repeats its codons.
type Loop struct {
	Type             string         `json:"type"` // "loop"
	ID               CodonID        `json:"id"`
	Name             string         `json:"name"`
	Description      string         `json:"description,omitzero"`
	TerminateOn      TerminateOn    `json:"terminateOn"`
	Codons           []Codon        `json:"codons"`
	Budget           *Budget        `json:"budget,omitzero"`
	ArchiveOnSuccess []string       `json:"archiveOnSuccess,omitzero"`
	Gate             *Gate          `json:"gate,omitzero"` // hank's addition: once, before or after all iterations
	Unknown          jsontext.Value `json:",embed"`

	progress string // the progress file, relative to the workspace; empty: no codon of it asks for one
}

// TerminateOn says when a loop ends.
type TerminateOn = loop.Rule

// The ends of a loop that need no verdict; package loop has the others.
const (
	IterationLimit  = loop.IterationLimit
	ContextExceeded = loop.ContextExceeded
)

// Continuation says in which agent session a codon works.
type Continuation string

// The continuation modes.
const (
	Fresh            Continuation = "fresh"
	ContinuePrevious Continuation = "continue-previous"
)

// OnFailure says what follows when a codon fails.
type OnFailure string

// The failure policies. An empty one is Abort.
const (
	Abort  OnFailure = "abort"
	Retry  OnFailure = "retry"
	Ignore OnFailure = "ignore"
)

// Codon is one agent step, with the fields of hank.json.
type Codon struct {
	Type                   string            `json:"type,omitzero"` // "codon" or absent
	ID                     CodonID           `json:"id"`
	Name                   string            `json:"name"`
	Description            string            `json:"description,omitzero"`
	PromptFile             Refs              `json:"promptFile,omitzero"`
	PromptText             string            `json:"promptText,omitzero"`
	AppendSystemPromptFile Refs              `json:"appendSystemPromptFile,omitzero"`
	AppendSystemPromptText string            `json:"appendSystemPromptText,omitzero"`
	Model                  model.Ref         `json:"model"` // a name in hank.json, resolved in a Program
	ContinuationMode       Continuation      `json:"continuationMode"`
	RigSetup               []Rig             `json:"rigSetup,omitzero"`
	CheckpointedFiles      []string          `json:"checkpointedFiles,omitzero"` // nil: everything; empty: nothing
	Env                    map[string]string `json:"env,omitzero"`
	OutputFiles            []Output          `json:"outputFiles,omitzero"`
	Sentinels              []Sentinel        `json:"sentinels,omitzero"`
	ArchiveOnSuccess       []string          `json:"archiveOnSuccess,omitzero"`
	OnFailure              OnFailure         `json:"onFailure,omitzero"`
	RetryConfig            *steps.Retries    `json:"retryConfig,omitzero"`
	ExhaustWithPrompt      string            `json:"exhaustWithPrompt,omitzero"`
	MaxExtensions          int               `json:"maxExtensions,omitzero"`
	AutoCompact            bool              `json:"autoCompact,omitzero"`
	ShimIdleTimeout        int               `json:"shimIdleTimeout,omitzero"` // seconds
	OnStuck                steps.OnStuck     `json:"onStuck,omitzero"`         // hank's addition
	Budget                 *CodonBudget      `json:"budget,omitzero"`

	// hank's additions.
	SkipIf  *steps.Condition   `json:"skipIf,omitzero"`
	Expect  *steps.Expectation `json:"expect,omitzero"`
	Timeout float64            `json:"timeout,omitzero"` // seconds
	Gate    *Gate              `json:"gate,omitzero"`
	Exec    []string           `json:"exec,omitzero"` // the program of a model exec/…, with its arguments

	OnUsageLimit      steps.OnLimit `json:"onUsageLimit,omitzero"`
	MaxUsageLimitWait float64       `json:"maxUsageLimitWait,omitzero"` // seconds

	Fallback []model.Fallback `json:"fallback,omitzero"` // for attempts that the provider of Model does not let work

	Unknown jsontext.Value `json:",embed"`
}

// CodonBudget limits one attempt chain of a codon; 0 is no limit.
type CodonBudget struct {
	MaxDollars       float64        `json:"maxDollars,omitzero"`
	MaxTimeSeconds   float64        `json:"maxTimeSeconds,omitzero"`
	MaxOutputTokens  int64          `json:"maxOutputTokens,omitzero"`
	MaxContextTokens int64          `json:"maxContextTokens,omitzero"`
	OnExceeded       OnExceeded     `json:"onExceeded,omitzero"`
	Unknown          jsontext.Value `json:",embed"`
}

// Budget limits a whole hank or a loop; 0 is no limit.
type Budget struct {
	MaxDollars     float64             `json:"maxDollars,omitzero"`
	MaxTimeSeconds float64             `json:"maxTimeSeconds,omitzero"`
	Allocation     Allocation          `json:"allocation,omitzero"`
	Shares         map[CodonID]float64 `json:"shares,omitzero"`
	OnExceeded     OnExceeded          `json:"onExceeded,omitzero"`
	Unknown        jsontext.Value      `json:",embed"`
}

// OnExceeded says how a codon ends whose budget ran out.
type OnExceeded string

// The ends by budget. An empty one is Complete.
const (
	Complete OnExceeded = "complete"
	Fail     OnExceeded = "fail"
	Pause    OnExceeded = "pause" // hank's addition: the run ends, and a later one continues the codon
)

// Allocation says how a budget is divided among children.
type Allocation string

// The allocations. An empty one is Shared.
const (
	Shared             Allocation = "shared"
	Proportional       Allocation = "proportional"
	ProportionalStrict Allocation = "proportional-strict"
)

// Rig is one set-up operation before a codon; Type is "copy" or "command" and
// the field of that name is set.
type Rig struct {
	Type         string         `json:"type"`
	Copy         *Copy          `json:"copy,omitzero"`
	Command      *Command       `json:"command,omitzero"`
	AllowFailure bool           `json:"allowFailure,omitzero"`
	Unknown      jsontext.Value `json:",embed"`
}

// Copy copies a file or directory of the hank into the workspace.
type Copy struct {
	From    string         `json:"from"`
	To      string         `json:"to"` // the whole target, relative to the workspace
	Unknown jsontext.Value `json:",embed"`
}

// Command runs a line by the system shell.
type Command struct {
	Run              string         `json:"run"`
	WorkingDirectory string         `json:"workingDirectory,omitzero"` // "project" (default) or "lastCopied"
	TimeoutSeconds   float64        `json:"timeoutSeconds,omitzero"`   // hank's addition; default 600
	Unknown          jsontext.Value `json:",embed"`
}

// DefaultCommandTimeout is the limit of a command that names none.
const DefaultCommandTimeout = 10 * time.Minute

// Timeout is how long the command may run.
func (c Command) Timeout() time.Duration {
	return cmp.Or(steps.Seconds(c.TimeoutSeconds), DefaultCommandTimeout)
}

// Output copies results out of the workspace after a codon completed.
type Output struct {
	Copy       []string       `json:"copy"`
	BeforeCopy []Rig          `json:"beforeCopy,omitzero"` // commands only
	Unknown    jsontext.Value `json:",embed"`
}

// Sentinel is an observer that a codon loads.
type Sentinel struct {
	Config   jsontext.Value `json:"sentinelConfig"` // a reference (string) or the configuration itself (object)
	Settings jsontext.Value `json:"settings,omitzero"`
	Unknown  jsontext.Value `json:",embed"`
}

// Name is the id of a sentinel whose configuration is in the hank, else the file of it.
func (s Sentinel) Name() string {
	if ref := s.ref(); ref != "" {
		return ref
	}
	var config struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(s.Config, &config) // what is wrong with it was reported
	return config.ID
}

// Required reports whether its codon fails where the sentinel is not there.
func (s Sentinel) Required() bool {
	var settings struct {
		Fail bool `json:"failCodonIfNotLoaded"`
	}
	return json.Unmarshal(s.Settings, &settings) == nil && settings.Fail
}

// ref is the reference to the sentinel's configuration file; empty if the
// configuration is in the hank itself.
func (s Sentinel) ref() string {
	var ref string
	if s.Config.Kind() == '"' && json.Unmarshal(s.Config, &ref) == nil {
		return ref
	}
	return ""
}

// Refs are paths relative to the directory of the hank. In JSON one path is a
// plain string.
type Refs []string

// MarshalJSONTo writes a string for one path, else an array.
func (r Refs) MarshalJSONTo(e *jsontext.Encoder) error {
	if len(r) == 1 {
		return e.WriteToken(jsontext.String(r[0]))
	}
	return json.MarshalEncode(e, []string(r))
}

// UnmarshalJSONFrom reads a string or an array of strings.
func (r *Refs) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != '"' {
		return json.UnmarshalDecode(d, (*[]string)(r))
	}
	var one string
	if err := json.UnmarshalDecode(d, &one); err != nil {
		return err
	}
	*r = Refs{one}
	return nil
}

// Failure is the codon's failure policy.
func (c Codon) Failure() OnFailure {
	if c.OnFailure == "" {
		return Abort
	}
	return c.OnFailure
}

// Limit is how long the agent of the codon may work; 0 is as long as it takes.
func (c Codon) Limit() time.Duration { return steps.Seconds(c.Timeout) }

// Policy is how the codon is tried again after failures of a kind.
func (c Codon) Policy(kind steps.Kind) steps.Policy {
	if !c.Retries(kind) {
		return steps.Policy{Rule: -1}
	}
	return c.RetryConfig.Policy(kind)
}

// Retries reports whether the codon is tried again after failures of a kind.
func (c Codon) Retries(kind steps.Kind) bool {
	return c.OnFailure == Retry || c.OnStuck == steps.RetryStuck && kind == "silent"
}

// Extensions is how often the codon may be prompted again by
// ExhaustWithPrompt.
func (c Codon) Extensions() int {
	switch {
	case c.ExhaustWithPrompt == "":
		return 0
	case c.MaxExtensions <= 0:
		return 100
	}
	return c.MaxExtensions
}

// String tells the kind and the id.
func (i Item) String() string {
	if i.Loop != nil {
		return fmt.Sprintf("loop %q", i.Loop.ID)
	}
	return fmt.Sprintf("codon %q", i.Codon.ID)
}
