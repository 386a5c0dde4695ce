// Package eventfields has the types of the events that the compatible system journals or
// sends (schema 2 of its events), and the fields of each.
//
// An Event is a type with its Fields; a Field is required unless it is Optional, and may
// have the Values that it is one of, or Fields of its own. Hosts of the fields are objects
// (Fields) or lists of objects (List).
//
// The package knows no event that was written: whoever writes one, or validates a
// condition on one, asks it. Hank's own events and fields are not in it.
package eventfields

import (
	"strings"
	"sync"
)

// Event is a type of events.
type Event struct {
	Type     string
	Category Category
	Fields   []Field
}

// Category says who is told of an event.
type Category string

// The categories. Connection events go to one client and are not journaled; sentinels see
// those of the server and of agents.
const (
	Server     Category = "server"
	Agent      Category = "agent"
	Sentinel   Category = "sentinel"
	Connection Category = "connection"
)

// Field is a field of the data of an event, or of an object in it.
type Field struct {
	Name     string
	Optional bool
	List     bool     // a list; Fields are those of its items
	Values   []string // the texts that it may have; nil: any
	Fields   []Field  // of the object; nil: it is none, or they are not known
}

// table has one line for each type: its category, its name, and its fields in the order
// of the reference. f? is optional, f[] a list, f=a|b one of these texts, f{…} an object.
const table = `
connection server.ready serverVersion executionPath agentRootPath dataPath port proxyPort? outputDirectory?
connection incomplete.codon codonId codonName message
connection pong message timestamp clientId?
connection history.batch events[] hasMore
server state.snapshot currentCodon? completedCodons[] fileTree[] totalCost totalTime recentFileAccess?{ path timestamp } isRollingBack
server state.transition transitionType runId? codonId? transition{ type data } resultingState{ currentRunId runCount totalCost currentRunCost }
server codon.started codonId codonName codonDescription? sessionId previousSessionId? startTime promptMetadata?{ name? description? tags? version? author? }
server codon.completed codonId success cost duration exitStatus{ type=success|error|killed code? signal? } failureReason? failureIgnored? budgetExceeded?{ currency limit used }
server codon.extended codonId codonName extensionNumber exhaustWithPrompt cumulativeTokens cumulativeCost
server token.usage codonId inputTokens outputTokens cacheCreationTokens cacheReadTokens totalCost modelId? modelUsage?
server loop.iteration.completed loopId iteration durationMs costUsd tokensUsed isFinal terminationReason?=iteration_limit|context_exceeded|sentinel_skip|failure
server error message codon? fatal severity?=fatal|codon|operation|warning context? code?
server info message
server server.idle reason=startup|codon-completed|all-codons-completed|rollback-completed message
server checkpoint.list runId checkpoints[]{ codonId codonName checkpointType sha status timestamp } currentBranch
server rollback.started fromRun fromCodon toCodon toCheckpoint checkpointType codonsToProcess[]
server rollback.codonCheckpoint codonId codonName checkpoint checkpointType message
server rollback.rigCleanup codonId codonName directories[] status=started|completed|failed|partial successfulCleanups? failedCleanups?[]{ directory error } error?
server rollback.progress currentStep totalSteps message
server rollback.completed fromRun toRun checkpoint codonId codonName checkpointType autoRestart
server rollback.archiveRestore codonId restoredPaths[] failedPaths?[]{ path error } status=completed|partial|failed
server archive.completed codonId archivedPaths[]
server archive.partial codonId archivedPaths[] failedPaths[]{ path error }
server budget.summary ceiling{ maxDollars? maxTimeSeconds? } allocation rows[]{ codonId loopContext? status=completed|failed|skipped|exceeded|running budget actual{ dollars timeSeconds outputTokens } } totals{ budgetDollars? actualDollars actualTimeSeconds }
agent assistant.action codonId action=thinking|message|tool_use content toolName? toolInput? toolUseId?
agent tool.result codonId toolUseId toolName result truncated originalLength executionTimeMs isError
agent file.updated path filename action=created|modified|deleted sha256 bytes source{ kind toolUseId? }
agent filetree.updated tree[]{ name path isDirectory children? lastModified? }
agent rig.setup.completed codonId rigType=command|commands commandCount durationMs createdCheckpoint
agent rig.setup.failed codonId failureType=command_failed|timeout|other exitCode? commandIndex? ignored
agent rig.output codonId stream=stdout|stderr line commandIndex
sentinel sentinel.loaded sentinelId codonId model triggerType executionStrategy conversational source=file|inline sourcePath?
sentinel sentinel.unloaded sentinelId codonId reason=codon-complete|fatal-error|consecutive-failures|shutdown errorType?=template|configuration|corruption|resource finalCost llmCallCount
sentinel sentinel.error sentinelId codonId errorType=llm-call-failed|template-render-failed|file-write-failed message retriable consecutiveFailureCount
sentinel sentinel.output sentinelId codonId triggerNumber outputType=text|structured content cost tokens{ input output } eventCount
sentinel sentinel.triggered sentinelId codonId triggerNumber strategy eventCount queueSize
`

// All returns every type, in the order of their categories.
var All = sync.OnceValue(func() []Event {
	var all []Event
	for _, line := range strings.Split(strings.TrimSpace(table), "\n") {
		words := strings.Fields(line)
		e := Event{Category: Category(words[0]), Type: words[1]}
		e.Fields, _ = read(words[2:])
		all = append(all, e)
	}
	return all
})

// Of returns the event of a type; nil if there is none.
func Of(eventType string) *Event {
	for _, e := range All() {
		if e.Type == eventType {
			return &e
		}
	}
	return nil
}

// read reads the fields of an object up to its end, and returns the words after it.
func read(words []string) (fields []Field, rest []string) {
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		if word == "}" {
			return fields, words
		}
		var f Field
		word, opens := strings.CutSuffix(word, "{")
		word, values, has := strings.Cut(word, "=")
		if has {
			f.Values = strings.Split(values, "|")
		}
		word, f.List = strings.CutSuffix(word, "[]")
		f.Name, f.Optional = strings.CutSuffix(word, "?")
		if opens {
			f.Fields, words = read(words)
		}
		fields = append(fields, f)
	}
	return fields, nil
}
