// Package harness is the border between hank and the programs that do a
// codon's work. A harness knows how one agent command line is started, what
// the lines that it prints mean, and how to tell a good end from a bad one. It
// starts nothing itself: the keeper does.
//
//   - A Request is one turn: a prompt for a new session of the agent, or for one that
//     exists. A Command is the process for it.
//   - A Check is what is known of an agent before anything is spent.
//   - A Reader turns lines into Observations (a message, the use of a tool, what was
//     used), and in the end into a Verdict: success, or the reason of the failure.
//   - Evidence is what an agent said of a failure; Classify makes the reason of it.
//
// A package below this one is one harness (claude, codex, gemini, opencode, pi, exec, shell, replay,
// noop), but for transcript, which is the file that keeps what was printed, and conformance,
// which are the tests that each harness must pass. None of them knows executions or
// checkpoints.
package harness

import (
	"context"
	"syscall"
	"time"

	"hank/state"
	"hank/state/agentend"
)

// Request is one turn that a codon wants from an agent: a first prompt, or
// one more prompt in a session that exists.
type Request struct {
	Prompt       string
	SystemPrompt string            // appended to the agent's own
	Model        string            // as the agent's command line wants it
	Provider     string            // whose model it is, as the name of the model says
	Effort       string            // how much the model is to think; empty leaves it to the agent
	Session      string            // session to continue; empty starts a new one
	SessionCost  state.USD         // what the agent has reported for that session before this turn
	Attempt      string            // names this attempt, unique in the execution
	Turn         int               // counts the attempt's processes from 0; a codon that is extended has several
	Workspace    string            // absolute; the agent's working directory
	Home         string            // absolute; the agent's own configuration and sessions, kept between codons
	Temp         string            // absolute; thrown away with the attempt
	AutoCompact  bool              // let the agent compact its context instead of failing
	Environ      []string          // the caller's environment, KEY=value; nil means os.Environ()
	Env          map[string]string // the codon's env, after hank's overlay; it wins over everything
	Agent        Check             // what preflight found; a zero Check is looked up on the PATH
	// SessionTokens is what the agent had counted for that session before this turn, if
	// it is Metered.
	SessionTokens state.Tokens
}

// Command is a process that the keeper can start.
type Command struct {
	Args  []string // Args[0] is looked up on the PATH of Env
	Env   []string // the whole environment, KEY=value
	Dir   string
	Stdin []byte // closed after the last byte; nil is an empty input
	// StopSignal ends the agent gracefully; after StopGrace what is left is killed.
	StopSignal syscall.Signal
	StopGrace  time.Duration
	// Session is the session's id if it is known before the agent prints it, so
	// that an agent that prints nothing counts as running.
	Session string
}

// Harness drives one kind of agent. It has no state of its own and may be used
// by several goroutines.
type Harness interface {
	// Name is the word that is stored in records: shell, claude, replay.
	Name() string
	// Command returns how to start the agent for a request.
	Command(Request) (Command, error)
	// Reader returns a new reader of the lines of the attempt that Command
	// described for the same request.
	Reader(Request) Reader
	// Check reports whether the agent can be started here, without spending
	// money and without the network.
	Check(ctx context.Context, env []string) Check
	// LoginFiles are the user's own files and directories that the agent writes to in an
	// environment, because its login is there. A sandbox lets them be written.
	LoginFiles(env []string) []string
	// Permission is the mode in which the agent is started, in the agent's own words: it may
	// do everything that its user may, and asks nobody. Empty: no model decides what it does.
	Permission() string
}

// Metered is a Harness whose agent counts the tokens of a session, and not those of a
// turn. Of a session that is continued it tells what the agent has counted.
type Metered interface {
	SessionTokens(Request) (state.Tokens, error)
}

// Accounting is a Harness whose agent keeps an account of its requests in files of its own.
type Accounting interface {
	// Account returns what the last turn of a session has used by these files, in total after
	// each of its requests to the model. The request is the one that the turn was started
	// with, and SessionTokens of it says where the turn begins. Of a turn that has an end the
	// Reader knows it all; this is for one that was killed together with its reader.
	Account(req Request, session string) []Usage
}

// Settling is a Reader that estimates what a request has used until the agent's own files tell
// it. Settle reads them for a turn that was read from its transcript and has no end there. It
// returns what the turn has used, and whether nothing of that is an estimate any more.
type Settling interface {
	Settle(Request) (used Usage, exact bool)
}

// Broker is a Harness whose agent works with the models of many providers, each with
// credentials of its own.
type Broker interface {
	// CheckProvider looks for the credentials for a provider, as hank's lists call it, in an
	// environment with the codon's own variables. uses is as Credentials of a Check, and
	// problem says in one sentence with the remedy that there are none; both are empty where
	// hank does not know where they may be.
	CheckProvider(provider string, env []string) (uses, problem string)
}

// Check is what a preflight found out about an agent.
type Check struct {
	Found    bool   // the program is there
	Path     string // where
	Version  string
	LoggedIn bool // credentials are configured, as far as can be seen offline
	// Credentials are those that the agent will use: the name of a variable, or a login and
	// its file. Empty if it needs none, or has none.
	Credentials string
	Problem     string // one sentence with the remedy; empty if the agent can be used
	Note        string // what the user should know although it works; empty if nothing
}

// Reader makes sense of what an agent prints, a line at a time. It is used by
// one goroutine.
type Reader interface {
	// Line returns what one line of the standard output means. It never fails:
	// agents print whatever they like, and a line that is not understood means
	// nothing. The line has no newline and is not kept.
	Line(line []byte) []Observation
	// Stderr is Line for the standard error. Most agents say there why they
	// could not even start.
	Stderr(line []byte) []Observation
	// End judges the attempt when the process is gone and every line was
	// seen. exitCode is -1 for a death by signal, and signal then its name
	// (SIGTERM).
	End(exitCode int, signal string) Verdict
}

// Plain marks a Reader of a program whose lines are text, as a script's are, and no
// events: whoever shows them shows them as they are.
type Plain interface{ Plain() }

// Repeating is a Reader of an agent that prints what it says again and again while it
// grows, and then whole. Repeats reports whether a line is such a part. It is a sign of
// life, means nothing, and is in no transcript: together they are many times as long as
// all that the agent says.
type Repeating interface{ Repeats(line []byte) bool }

// Polled is a Reader of an agent that writes what its requests have used into files of its own
// while it prints nothing. Poll returns what they tell since they were read last, which may be
// nothing. It is called about once a second, and may come before the lines that the agent prints
// of the same.
type Polled interface{ Poll() []Observation }

// Observation is something that an agent did. The concrete types are
// SessionStarted, Message, ToolUse, ToolResult, Usage, Retrying,
// ContextExceeded, Notice and Result. Where one has Of, a subagent did it, which the
// tool use of that ID has started.
type Observation interface{ observation() }

// SessionStarted tells the session's id, needed to continue it.
type SessionStarted struct {
	ID    string
	Model string
}

// Message is text of the agent.
type Message struct {
	Text     string
	Thinking bool
	Failed   bool // the agent's program wrote it in the model's place: the provider gave an error
	Of       string
}

// ToolUse is a call of a tool. Input is JSON.
type ToolUse struct {
	ID, Name string
	Input    []byte
	Of       string
}

// ToolResult is the answer of a tool.
type ToolResult struct {
	ToolUseID string
	Text      string
	IsError   bool
	Of        string
}

// Usage is what the attempt has used so far, in total and not as a
// difference. Context is the size of the last request in tokens, caches
// included; 0 if unknown.
type Usage struct {
	Model  string
	Tokens state.Tokens
	Cost   state.USD // 0 if the agent reports no money
	Priced bool      // Cost is the agent's own figure
	// PerRequest is set if each Usage tells of one request to the model more than the one
	// before it. Its price is that of the requests, and not that of their sum.
	PerRequest bool
	Context    int64
	Final      bool // the agent's own account of a turn that has ended: there is nothing left to stop
}

// Retrying tells that the agent waits for its provider.
type Retrying struct {
	Attempt int
	After   time.Duration
	Why     string
	Class   string // of what it waits for, where the agent names it; empty: Why tells it
	// Refused is set if waiting cannot help: see Refused.
	Refused *state.FailureReason
	// GivenUp is set if the agent would wait for ever, and has waited long enough.
	GivenUp *state.FailureReason
}

// ContextExceeded tells that the context window is full (or was compacted
// without anybody having asked for it).
type ContextExceeded struct{ Message string }

// Notice is what the agent's program says of its own work: that it told the model
// something, or refused a tool. Only those who read a transcript need it. Of a notice
// about the use of a tool For is the ID: a tool that has not answered yet will say it.
type Notice struct{ Text, For string }

// Result is the agent's own account of a turn. Text mostly repeats its last message;
// Why is set where the turn did not end well.
type Result struct{ Text, Why string }

func (SessionStarted) observation()  {}
func (Message) observation()         {}
func (ToolUse) observation()         {}
func (ToolResult) observation()      {}
func (Usage) observation()           {}
func (Retrying) observation()        {}
func (ContextExceeded) observation() {}
func (Notice) observation()          {}
func (Result) observation()          {}

// Verdict is the judgement of one attempt.
type Verdict struct {
	Success         bool
	ResultSeen      bool // the agent itself reported its end
	ContextExceeded bool
	Failure         *state.FailureReason // nil if Success
	Session         string
	Text            string // the agent's last words
	Usage           Usage
	Denied          []string // tools that were refused
	// AgentEnd is what the agent reports of its own end.
	AgentEnd agentend.Report
}
