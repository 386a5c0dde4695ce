package runtime

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"hank/internal/eventfields"
	"hank/internal/short"
	"hank/internal/vfs"
	"hank/runtime/exitcode"
	"hank/state"
	"hank/state/journal"
)

// mayBeNull are the required fields of which an event may not know the value when it is
// written. docs/compatibility.md says why, in a row for each.
var mayBeNull = []string{
	"codon.started.sessionId",
	"codon.completed.exitStatus", "codon.completed.exitStatus.signal",
	"tool.result.toolName", "tool.result.executionTimeMs",
	"file.updated.sha256", "file.updated.bytes",
	"rollback.started.fromRun", "rollback.started.fromCodon", "rollback.started.toCodon",
	"rollback.completed.fromRun", "rollback.completed.toRun", "rollback.completed.codonId", "rollback.completed.codonName",
	"state.transition.resultingState.currentRunId",
}

// hanksOwn are the values that a field of hank's has beside those of the reference.
var hanksOwn = map[string][]string{"loop.iteration.completed.terminationReason": {"budget", "verdict"}}

// checkEvents looks whether every event of a journal has all that the reference requires of
// its type, and returns the types, and the required fields that were null.
func checkEvents(t *testing.T, dir string) (types map[string]int, nulls []string) {
	t.Helper()
	types = map[string]int{}
	err := journal.Read(vfs.OS, dir, 0, func(e journal.Event) error {
		types[e.Type]++
		of := eventfields.Of(e.Type)
		if of == nil {
			return nil // hank's own
		}
		var data map[string]any
		if err := json.Unmarshal(e.Data, &data); err != nil {
			t.Errorf("event %d (%s): %v", e.Seq, e.Type, err)
			return nil
		}
		for _, problem := range lacks(e.Type, of.Fields, data, &nulls) {
			t.Errorf("event %d: %s: %s", e.Seq, problem, e.Data)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(nulls)
	return types, slices.Compact(nulls)
}

// lacks lists what an object does not have that it must, or has and may not.
func lacks(at string, fields []eventfields.Field, data map[string]any, nulls *[]string) (problems []string) {
	for _, f := range fields {
		name := at + "." + f.Name
		value, there := data[f.Name]
		switch {
		case !there && f.Optional:
			continue
		case !there:
			problems = append(problems, name+" is missing")
			continue
		case value == nil:
			if !f.Optional && !slices.Contains(mayBeNull, name) {
				problems = append(problems, name+" is null")
			}
			*nulls = append(*nulls, name)
			continue
		}
		if text, isText := value.(string); f.Values != nil && (!isText || !slices.Contains(f.Values, text) && !slices.Contains(hanksOwn[name], text)) {
			problems = append(problems, fmt.Sprintf("%s is %v", name, value))
		}
		items, isList := value.([]any)
		if f.List != isList {
			problems = append(problems, fmt.Sprintf("%s is %v", name, value))
		}
		if !f.List {
			items = []any{value}
		}
		for _, item := range items {
			if object, isObject := item.(map[string]any); isObject && f.Fields != nil {
				problems = append(problems, lacks(name, f.Fields, object, nulls)...)
			} else if f.Fields != nil {
				problems = append(problems, fmt.Sprintf("%s is %v", name, item))
			}
		}
	}
	if exit, is := data["type"].(string); is && strings.HasSuffix(at, ".exitStatus") {
		for of, needs := range map[string]string{"error": "code", "killed": "signal"} {
			if _, has := data[needs]; exit == of && !has {
				problems = append(problems, at+" has no "+needs)
			}
		}
	}
	return problems
}

// richHank has of everything that makes events: a rig, retries, an ignored failure, a
// skip, a loop, an archive, files that come, change and go, costs, and a budget.
const richHank = `{
  "overrides": {"budget": {"maxDollars": 5}},
  "hank": [
    {"id": "first", "name": "First", "model": "shell", "continuationMode": "fresh", "archiveOnSuccess": ["draft"],
     "rigSetup": [{"type": "command", "command": {"run": "echo rig; false"}, "allowFailure": true}, {"type": "command", "command": {"run": "echo rig > rigged"}}],
     "promptText": "echo one; echo a > a; echo b > b; echo d > draft; echo '::hank usage {\"inputTokens\": 3, \"outputTokens\": 4, \"costUSD\": 0.01}'; echo '::hank usage {\"outputTokens\": 1, \"costUSD\": 0.02}'"},
    {"id": "again", "name": "Again", "model": "shell", "continuationMode": "fresh", "onFailure": "retry", "retryConfig": {"maxAttempts": 2, "delayMs": 1},
     "promptText": "if [ -e ../tried ]; then rm b; echo c > a; else touch ../tried; exit 7; fi"},
    {"id": "lost", "name": "Lost", "model": "shell", "continuationMode": "fresh", "onFailure": "ignore", "promptText": "kill -9 $$"},
    {"id": "idle", "name": "Idle", "model": "shell", "continuationMode": "fresh", "skipIf": {"command": {"run": "true"}}, "promptText": "true"},
    {"type": "loop", "id": "l", "name": "Loop", "terminateOn": {"type": "iterationLimit", "limit": 2}, "codons": [
      {"id": "x", "name": "X", "model": "shell", "continuationMode": "fresh", "promptText": "echo x; echo '::hank usage {\"inputTokens\": 5, \"costUSD\": 0.1}'"},
      {"id": "y", "name": "Y", "model": "shell", "continuationMode": "fresh", "promptText": "echo y"}]},
    {"id": "end", "name": "End", "model": "shell", "continuationMode": "fresh", "promptText": "echo end > a; exit 3"}
  ]}`

// Every event that the journal has, of whatever happened, has the fields that the
// reference requires of its type; and what the reference has and hank can know is there.
func TestEveryEventHasTheFieldsOfTheReference(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := stageOf(t, richHank)
	s.must(ModeRun, exitcode.Failed)
	s.must(ModeRetry, exitcode.Failed)
	s.mustRollback("again")
	s.must(ModeRun, exitcode.Failed)
	s.mustRollback("initial")
	types, nulls := checkEvents(t, s.view().Layout.Events())
	for _, want := range []string{"codon.started", "codon.completed", "assistant.action", "rig.output", "rig.setup.failed", "rig.setup.completed", "token.usage",
		"file.updated", "loop.iteration.completed", "error", "archive.completed", "budget.summary", "rollback.started", "rollback.completed", "state.transition"} {
		if types[want] == 0 {
			t.Errorf("no %s was written, but %v", want, slices.Sorted(maps.Keys(types)))
		}
	}
	for _, never := range []string{"state.snapshot", "filetree.updated", "checkpoint.list", "rollback.codonCheckpoint", "rollback.rigCleanup", "rollback.progress",
		"pong", "history.batch", "incomplete.codon"} {
		if types[never] > 0 {
			t.Errorf("%s was written", never)
		}
	}
	for of := range types {
		if strings.HasPrefix(of, "server.") || strings.HasPrefix(of, "sentinel.") {
			t.Errorf("%s was written", of)
		}
	}
	if !slices.Contains(nulls, "codon.started.sessionId") || !slices.Contains(nulls, "codon.completed.exitStatus") || !slices.Contains(nulls, "rollback.started.toCodon") {
		t.Errorf("unknown: %q", nulls)
	}
	if got := s.told("loop.iteration.completed"); len(got) < 2 || got[0]["isFinal"] != false || got[1]["isFinal"] != true || got[1]["terminationReason"] != "iteration_limit" ||
		got[0]["costUsd"] != 0.1 || got[0]["tokensUsed"] != 5.0 {
		t.Errorf("iterations: %v", got)
	}
	if got := s.told("token.usage"); len(got) < 3 || got[0]["totalCost"] != 0.01 || got[1]["totalCost"] != 0.02 || got[1]["outputTokens"] != 1.0 ||
		got[2]["totalCost"] != 0.03 || got[2]["final"] != true || got[2]["outputTokens"] != 5.0 {
		t.Errorf("usage: %v", got)
	}
	exits := map[any]any{}
	for _, e := range s.told("codon.completed") {
		exits[e["codonId"]] = fmt.Sprint(e["exitStatus"])
	}
	for id, want := range map[string]string{"first": "map[type:success]", "lost": "map[signal:SIGKILL type:killed]", "idle": "<nil>", "end": "map[code:3 type:error]"} {
		if exits[id] != want {
			t.Errorf("%s came out as %v, want %s", id, exits[id], want)
		}
	}
	files := map[string]string{}
	for _, e := range s.told("file.updated") {
		if source, _ := e["source"].(map[string]any); source["codonId"] == "first" || source["codonId"] == "again" {
			files[fmt.Sprint(source["codonId"], ":", e["path"])] = fmt.Sprint(e["action"], " ", e["sha256"], " ", e["bytes"])
		}
	}
	// sha256 of "c\n"
	if got := files["again:a"]; got != "modified a3a5e715f0cc574a73c3f9bebb6bc24f32ffd5b67b387244c2c909da779a1478 2" || files["again:b"] != "deleted <nil> <nil>" || !strings.HasPrefix(files["first:a"], "created ") {
		t.Errorf("files: %v", files)
	}
	for _, e := range s.told("file.updated") {
		if source, _ := e["source"].(map[string]any); source["kind"] != "checkpoint" {
			t.Errorf("the source of a file: %v", e)
		}
	}
	// The codon is told before its rig, and so before its session, which its record has.
	if started, rig := s.told("codon.started")[0]["seq"].(uint64), s.told("rig.output")[0]["seq"].(uint64); started >= rig {
		t.Errorf("the codon starts with event %d, its rig has written event %d", started, rig)
	}
	runs := s.view().State.Runs
	if first := runs[len(runs)-1].Codon(0); first.CodonID != "first" || first.ClaudeSessionID == "" {
		t.Errorf("the record of %s has session %q", first.CodonID, first.ClaudeSessionID)
	}
	worked := 0.0 // on the first iteration
	for i := range runs[len(runs)-1].Len() {
		if c := runs[len(runs)-1].Codon(i); c.LoopContext != nil && c.LoopContext.Iteration == 0 {
			worked += float64(c.EndTime.Sub(c.StartTime.Time).Milliseconds())
		}
	}
	if got := s.told("loop.iteration.completed")[0]["durationMs"]; got != worked || worked == 0 {
		t.Errorf("the first iteration has taken %v, and its codons %v", got, worked)
	}
	for _, e := range s.told("rollback.completed") {
		if to, there := e["toRun"]; !there || to != nil || e["autoRestart"] != false {
			t.Errorf("a rollback is told as %v", e)
		}
	}
	severities := map[any]any{}
	for _, e := range s.told("error") {
		severities[e["codon"]] = e["severity"]
	}
	if severities["again"] != "codon" || severities["lost"] != "warning" || severities["end"] != "fatal" {
		t.Errorf("errors: %v", severities)
	}
	// A later run's iterations, costs and totals say what the state says.
	transitions := s.told("state.transition")
	for _, e := range transitions {
		if of := e["transitionType"]; slices.Contains([]any{"CostsIncremented", "AssistantMessageCountUpdated", "ExtensionCountUpdated", "CodonFinalCostSet", "SentinelStatesUpdated"}, of) {
			t.Errorf("a transition is told as %v", of)
		}
	}
	total := transitions[len(transitions)-1]["resultingState"].(map[string]any)["totalCost"].(float64)
	if state.Dollars(total) != s.view().State.TotalCost() {
		t.Errorf("the last transition led to %v, and the state has cost %s", total, s.view().State.TotalCost())
	}
}

// So have those of an agent, which are played again from its recording.
func TestEveryEventOfAnAgentHasTheFieldsOfTheReference(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := newStage(t, fixture(t, "claude"))
	s.opts.Replay = fixture(t, "claude/recording")
	s.must(ModeRun, exitcode.Done)
	types, nulls := checkEvents(t, s.view().Layout.Events())
	if types["tool.result"] == 0 || types["token.usage"] == 0 || types["assistant.action"] == 0 || types["file.updated"] == 0 {
		t.Errorf("written: %v", types)
	}
	if got := s.told("codon.completed"); got[0]["harness"] != "replay" {
		t.Errorf("what is played is told as %v", got[0])
	}
	if slices.Contains(nulls, "tool.result.toolName") || slices.Contains(nulls, "tool.result.executionTimeMs") {
		t.Errorf("a tool that was called is not known when it answers: %q", nulls)
	}
}

// What a codon changes is told as far as it can be told at a bounded cost.
func TestEventsOfFilesAreBounded(t *testing.T) {
	t.Parallel()
	s := stageOf(t, `{"hank": [{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "for i in $(seq 150); do echo $i > f$i; done; head -c 5000000 /dev/zero > big"}]}`)
	s.must(ModeRun, exitcode.Done)
	files, infos := s.told("file.updated"), s.told("info")
	if len(files) != 100 || len(infos) != 1 || !strings.Contains(fmt.Sprint(infos[0]["message"]), "51 files more") {
		t.Errorf("%d events of files, %v", len(files), infos)
	}
	if files[0]["path"] != "big" || files[0]["sha256"] != nil || files[0]["bytes"] != 5e6 {
		t.Errorf("the large file is told as %v", files[0])
	}
}

// told are the data of all events of a type, and the number of each.
func (s *stage) told(of string) (all []map[string]any) {
	s.t.Helper()
	err := journal.Read(vfs.OS, s.view().Layout.Events(), 0, func(e journal.Event) error {
		if e.Type != of {
			return nil
		}
		var data map[string]any
		err := json.Unmarshal(e.Data, &data)
		data["seq"] = e.Seq
		all = append(all, data)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return all
}
