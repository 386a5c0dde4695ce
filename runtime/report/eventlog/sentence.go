package eventlog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/dustin/go-humanize"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hank/internal/advice"
	"hank/internal/eventfields"
	"hank/internal/term"
	"hank/internal/typo"
	"hank/runtime/alert"
	"hank/runtime/exitcode"
	"hank/runtime/gate"
	"hank/runtime/harness"
	"hank/runtime/losses"
	"hank/runtime/report"
	"hank/runtime/usagelimit"
	"hank/runtime/verdict"
	"hank/state"
)

// repeating are the types of events that say what a transition says.
var repeating = []string{"codon.started", "codon.completed"}

// eventTypes are the types of events: those that are published, and hank's own.
func eventTypes() []string {
	types := []string{alert.Event, "checkpoint.private", "codon.fallback", "codon.stuck", "data.changed", "run.waited", "run.waiting", "sandbox.applied", losses.Deleted}
	for _, e := range eventfields.All() {
		types = append(types, e.Type)
	}
	return types
}

// transitionTypes are the types of transitions, of hank and of Hankweave.
var transitionTypes = []string{
	"AssistantMessageCountUpdated", "BranchesRemoved", "CheckpointCreated", "CodonFinalCostSet", "CodonStarted", "CodonTransitioned", "CostsIncremented",
	"CostsUpdated", "ExtensionCountUpdated", "GateAnswered", "GateClosed", "GateRequested", "HoldReleased", "HoldSet", "InitialCheckpointSet", "IntentClosed", "IntentOpened", "IterationJudged", "LimitsSet", "OperationAnswered", "PlanGrown", "PlanSet", "Rebased",
	"RunCompleted", "RunCrashed", "RunFailed", "RunPaused", "RunStarted", "SentinelStatesUpdated", "SentinelsUpdated",
}

// RunEnded is the name of the end of a run that has work left and has not failed: it waits at a gate
// or for a budget, is held, or has ended because the user, or a signal, has asked for it.
const RunEnded = "run.ended"

// asAsked are the reasons of such an end.
var asAsked = []state.EndReason{state.EndGate, state.EndHeld, state.EndUntil, state.EndStopped, state.EndSignal}

// settling is a codon whose work has ended, while its checkpoint is made.
const settling = "settling"

// statuses are those of a codon's record.
var statuses = []state.CodonStatus{state.Preparing, state.Starting, state.Initializing, state.Running, settling, state.Completed, state.Failed, state.Skipped}

// Names are those that events can be asked for by.
func Names() []string {
	names := append(slices.Concat(eventTypes(), transitionTypes), RunEnded)
	for _, of := range transitionTypes {
		names = append(names, scope{TransitionType: of}.name())
	}
	for _, status := range statuses {
		names = append(names, "codon."+string(status))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// CheckTypes refuses types of events that there are none of: each is the type of an
// event or of a transition, or a name that events are printed with.
func CheckTypes(types []string) error {
	for _, t := range types {
		names := Names()
		if slices.Contains(names, t) {
			continue
		}
		near := typo.Nearest(t, names)
		names = slices.DeleteFunc(names, func(name string) bool {
			return name != near && (len(t) < 3 || !strings.Contains(strings.ToLower(name), strings.ToLower(t)))
		})
		more := "no type is like it; all that occur: `hank events`"
		if len(names) > 0 {
			more = "did you mean " + listed(names, 0) + "?"
		}
		return &exitcode.UsageError{Why: fmt.Sprintf("there is no type of events %q; %s", t, more)}
	}
	return nil
}

// Name is the name that the event is printed with: its type, and for transitions one of
// the same form.
func (e Event) Name() string {
	if about := scopeOf(e.Data); about.TransitionType != "" {
		return about.name()
	}
	return e.Type
}

// name is the name of a transition.
func (s scope) name() string {
	switch s.TransitionType {
	case "CodonTransitioned":
		if s.Transition.Data.Record.Settling != nil {
			return "codon." + settling
		}
		return "codon." + cmp.Or(string(s.Transition.Data.Record.Status), "transitioned")
	case "RunFailed": // it has ended in order with work left
		if s.Transition.Data.Waits || slices.Contains(asAsked, s.Transition.Data.Reason) {
			return RunEnded
		}
	case "InitialCheckpointSet":
		return "checkpoint.created"
	case "Rebased":
		return "state.rebased"
	}
	for i, c := range s.TransitionType {
		if i > 0 && unicode.IsUpper(c) {
			return strings.ToLower(s.TransitionType[:i]) + "." + strings.ToLower(s.TransitionType[i:i+1]) + s.TransitionType[i+1:]
		}
	}
	return strings.ToLower(s.TransitionType)
}

// Sentence says in one line what has happened. The commands in it have the option, see
// ReadStatus.
func (e Event) Sentence(option string) string {
	text := ""
	if about := scopeOf(e.Data); about.TransitionType != "" {
		if t, err := state.Decode(e.Data); err == nil {
			text = transitionSentence(t, option)
		}
	} else {
		text = noteSentence(e.Type, e.Data)
	}
	return term.OneLine(cmp.Or(text, canonical(e.Data)))
}

// canonical is data as it is, with its members in one order.
func canonical(data jsontext.Value) string {
	data = slices.Clone(data)
	_ = data.Canonicalize() // what is no JSON stays as it is
	return string(data)
}

func transitionSentence(t state.Transition, option string) string {
	switch t := t.(type) {
	case state.Rebased:
		return "the journal begins here: " + t.Reason
	case state.InitialCheckpointSet:
		return "initial checkpoint " + report.Short(t.SHA)
	case state.PlanSet:
		return fmt.Sprintf("the plan has %s", term.Count(elements(t.Entries), "codon"))
	case state.PlanGrown:
		return fmt.Sprintf("after %s the plan has %s more, %d fewer", t.After, term.Count(elements(t.Add), "codon"), t.Drop)
	case state.RunStarted:
		return fmt.Sprintf("run %s begins: %s", t.Run.RunID, report.Run{Run: t.Run}.Origin())
	case state.RunCompleted:
		return fmt.Sprintf("run %s is completed", t.RunID)
	case state.RunFailed:
		return fmt.Sprintf("run %s has ended (%s): %s", t.RunID, t.Reason, report.FirstLine(advice.Render(t.Detail, option)))
	case state.RunPaused:
		return fmt.Sprintf("run %s is paused (%s): %s", t.RunID, t.Reason, report.FirstLine(advice.Render(t.Detail, option)))
	case state.RunCrashed:
		return fmt.Sprintf("run %s has crashed: %s", t.RunID, report.FirstLine(advice.Render(t.Detail, option)))
	case state.CodonStarted:
		return fmt.Sprintf("%s: attempt %d begins", t.Record.CodonID, max(1, t.Record.Attempt))
	case state.CodonTransitioned:
		return codonSentence(t.Record, option)
	case state.CostsUpdated:
		n := t.Tokens
		return fmt.Sprintf("%s: %s, %s tokens so far", t.CodonID, t.Cost.Text(), humanize.Comma(n.Input+n.Output+n.CacheCreation+n.CacheRead))
	}
	return moveSentence(t)
}

// codonSentence is what the next form of a codon's record says.
func codonSentence(k *state.Codon, option string) string {
	what := verdict.OfCodon(k, "").String()
	switch {
	case k.Status.Terminal():
		if k.EndTime != nil {
			what += " in " + term.Duration(k.EndTime.Sub(k.StartTime.Time))
		}
		if k.Bill().Cost > 0 {
			what += ", " + k.Bill().Text()
		}
		if sha := k.Checkpoint(); sha != "" {
			what += ", checkpoint " + report.Short(sha)
		}
		if more := verdict.Qualification(k); more != "" {
			what += ", " + more
		}
		if f := report.ShownCodon(k, option).FailureReason; f != nil {
			what += ": " + verdict.FailureLine(f)
		}
	case k.Settling != nil:
		what = "its work has ended, and its checkpoint is made"
	case k.Status == state.Preparing && k.RigSetupCheckpoint != "":
		what = "its rig has completed, checkpoint " + report.Short(k.RigSetupCheckpoint)
	case k.Status == state.Preparing:
		what = "its rig is next"
	case k.Status == state.Initializing:
		what = fmt.Sprintf("started, process %d", k.ClaudePid)
	case k.Status == state.Running && k.ClaudeSessionID != "":
		what = "running, session " + k.ClaudeSessionID
	}
	return fmt.Sprintf("%s: %s", k.CodonID, what)
}

// moveSentence is what transitions say that no run makes.
func moveSentence(t state.Transition) string {
	switch t := t.(type) {
	case state.CheckpointCreated:
		text := fmt.Sprintf("%s checkpoint %s on %s", t.Kind, report.Short(t.SHA), t.Branch)
		if t.CodonID != "" {
			text = string(t.CodonID) + ": " + text
		}
		if t.Note != "" {
			text += ": " + report.ShortNames(t.Note)
		}
		return text
	case state.IntentOpened:
		text := fmt.Sprintf("%s to checkpoint %s begins; what is there is in checkpoint %s", t.Intent.Kind, report.Short(t.Intent.To), report.Short(t.Intent.Safety))
		if len(t.Intent.Paths) > 0 {
			text += "; only " + strings.Join(t.Intent.Paths, ", ")
		}
		return text
	case state.IntentClosed:
		if t.Cancelled {
			return "the change of the workspace was given up"
		}
		return "the change of the workspace is complete"
	case state.BranchesRemoved:
		return fmt.Sprintf("hank gc removes %s", term.Count(len(t.Branches), "branch"))
	case state.OperationAnswered:
		return fmt.Sprintf("operation %s (hank %s) was answered, exit code %d", t.Operation.ID, t.Operation.Command, t.Operation.ExitCode)
	case state.IterationJudged:
		return fmt.Sprintf("%s: %s after iteration %d: %s", t.Judgement.LoopID, t.Judgement.Decision, t.Judgement.Iteration, t.Judgement.Reason)
	case state.SentinelsUpdated:
		return sentinelsSentence(t)
	case state.LimitsSet:
		var limits []string
		if t.Limits.MaxDollars > 0 {
			limits = append(limits, t.Limits.MaxDollars.Text())
		}
		if s := t.Limits.MaxTimeSeconds; s > 0 {
			limits = append(limits, fmt.Sprintf("%s of work", time.Duration(s*float64(time.Second))))
		}
		return "the limit of this execution: " + cmp.Or(strings.Join(limits, ", "), "none")
	}
	return gateSentence(t)
}

// gateSentence is what persons were asked and have decided.
func gateSentence(t state.Transition) string {
	switch t := t.(type) {
	case state.GateRequested:
		return gate.ViewOf(&t.Request, "").Waits() + " (checkpoint " + report.Short(t.Request.Checkpoint) + ")"
	case state.GateAnswered:
		return fmt.Sprintf("request %d: %s", t.Number, gate.AnswerSentence(t.Status, t.Answer))
	case state.GateClosed:
		return fmt.Sprintf("request %d has failed its codon", t.Number)
	case state.HoldSet:
		return "held " + report.HeldText(&t.Hold)
	case state.HoldReleased:
		return "released by " + gate.Person(t.By)
	}
	return ""
}

// elements is how many elements a JSON list has.
func elements(list jsontext.Value) int {
	var items []jsontext.Value
	_ = json.Unmarshal(list, &items) // what is none has none
	return len(items)
}

// note has the members of events that change no state.
type note struct {
	CodonID    string         `json:"codonId"`
	RunID      string         `json:"runId"`
	Action     string         `json:"action"`
	Content    string         `json:"content"`
	ToolName   string         `json:"toolName"`
	ToolInput  jsontext.Value `json:"toolInput"`
	Result     string         `json:"result"`
	IsError    bool           `json:"isError"`
	Stream     string         `json:"stream"`
	Line       string         `json:"line"`
	Message    string         `json:"message"`
	DurationMs int64          `json:"durationMs"`
	Count      int            `json:"commandCount"`
	Ignored    bool           `json:"ignored"`
	Extension  int            `json:"extensionNumber"`
	Archived   []string       `json:"archivedPaths"`
	Restored   []string       `json:"restoredPaths"`
	Failed     []struct {
		Path string `json:"path"`
	} `json:"failedPaths"`
	ToCheckpoint state.SHA `json:"toCheckpoint"`
	Checkpoint   state.SHA `json:"checkpoint"`
	Path         string    `json:"path"`
	Names        []string  `json:"names"`
	More         int       `json:"more"`
	Writable     []string  `json:"writable"`
	Codon        string    `json:"codon"`
	LoopID       string    `json:"loopId"`
	Iteration    int       `json:"iteration"`
	Reason       string    `json:"terminationReason"`
	Final        bool      `json:"final"`
	From         string    `json:"from"`
	To           string    `json:"to"`
	usagelimit.Waiting
	Cost state.USD `json:"totalCost"`
	state.Tokens
	File struct {
		CodonID string `json:"codonId"`
	} `json:"source"`
	Totals struct {
		Dollars state.USD `json:"actualDollars"`
		Seconds float64   `json:"actualTimeSeconds"`
	} `json:"totals"`
}

// noteSentence is what an event says that changes no state; empty where there are no
// words for it.
func noteSentence(of string, data jsontext.Value) string {
	if text := sentinelSentence(of, data); text != "" {
		return text
	}
	var n note
	if json.Unmarshal(data, &n) != nil {
		return ""
	}
	text := n.words(of)
	if text != "" && n.CodonID != "" {
		text = n.CodonID + ": " + text
	}
	return text
}

func (n note) words(of string) string {
	switch of {
	case "assistant.action":
		if n.Action == "tool_use" {
			return harness.ToolUse{Name: n.ToolName, Input: n.ToolInput}.String()
		}
		if n.Action == "thinking" {
			return "thinks: " + n.Content
		}
		return n.Content
	case "tool.result":
		answer := cmp.Or(report.FirstLine(n.Result), "(nothing)")
		if n.IsError {
			answer = "error: " + answer
		}
		return "⎿ " + answer
	case "rig.output":
		return strings.TrimPrefix(n.Stream+": ", "stdout: ") + n.Line
	case "rig.setup.completed":
		return fmt.Sprintf("its rig has completed in %s (%s)", term.Duration(time.Duration(n.DurationMs)*time.Millisecond), term.Count(n.Count, "operation"))
	case "rig.setup.failed":
		if n.Ignored {
			return "failure ignored: " + n.Message
		}
		return n.Message
	case "codon.extended":
		return fmt.Sprintf("one more prompt in the same session (%d)", n.Extension)
	case "error", "info", "server.idle":
		if n.Codon != "" {
			return n.Codon + ": " + n.Message
		}
		return n.Message
	case "token.usage":
		what := "more"
		if n.Final {
			what = "in all"
		}
		return fmt.Sprintf("%s, %s tokens %s", n.Cost.Text(), humanize.Comma(n.Sum()), what)
	case "loop.iteration.completed":
		text := fmt.Sprintf("%s: iteration %d is completed, %s", n.LoopID, n.Iteration, term.Duration(time.Duration(n.DurationMs)*time.Millisecond))
		if n.Reason != "" {
			text += "; the loop is over (" + strings.ReplaceAll(n.Reason, "_", " ") + ")"
		}
		return text
	case "checkpoint.private":
		return n.Path + " is in the checkpoints, and files of this name hold secrets"
	case "codon.fallback":
		return fmt.Sprintf("falls back from %s to %s: %s", n.From, n.To, n.Message)
	case "codon.stuck":
		return "the agent may be stuck: " + n.Message
	case "data.changed":
		return "the data has changed: " + listed(n.Names, n.More)
	case alert.Event:
		return n.Message
	case "run.waiting":
		return n.Waiting.Says()
	case "run.waited":
		return "the wait for the provider is over"
	case losses.Deleted:
		return "the transcripts of run " + n.RunID + " are deleted as no longer needed"
	case "sandbox.applied":
		return "agents, rigs and checks write only in " + strings.Join(n.Writable, ", ")
	case state.BudgetSummaryEvent:
		return fmt.Sprintf("all runs together have used %s and %s of work", n.Totals.Dollars.Text(), term.Duration(time.Duration(n.Totals.Seconds*float64(time.Second))))
	}
	return n.paths(of)
}

// paths is what events about files say.
func (n note) paths(of string) string {
	switch of {
	case "archive.completed":
		return "archived " + listed(n.Archived, 0)
	case "archive.partial":
		var failed []string
		for _, f := range n.Failed {
			failed = append(failed, f.Path)
		}
		return fmt.Sprintf("archived %s, and not %s", listed(n.Archived, 0), listed(failed, 0))
	case "rollback.archiveRestore":
		return "back from the archive: " + listed(n.Restored, 0)
	case "file.updated":
		return n.File.CodonID + ": " + n.Action + " " + n.Path
	case "rollback.started":
		return "rollback to checkpoint " + report.Short(n.ToCheckpoint)
	case "rollback.completed":
		return "rolled back to checkpoint " + report.Short(n.Checkpoint)
	}
	return ""
}

// listed are the first names of a list, of which more are not in it.
func listed(names []string, more int) string {
	const most = 5
	if len(names) > most {
		names, more = names[:most], more+len(names)-most
	}
	text := cmp.Or(strings.Join(names, ", "), "nothing")
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
