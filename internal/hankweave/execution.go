// Package hankweave lays out executions for tests as Hankweave 0.12 leaves them:
// its state.json, journal, lock and meta, and a store that stock git has made.
// Shapes and values follow its documentation and public source.
package hankweave

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Options say what is laid out.
type Options struct {
	// Pid is that of the running runtime: in the lock file and in the newest
	// run. 0 stands for one that is gone.
	Pid int
	// Heartbeat is when the runs began, and the lock's last sign of life; zero
	// is now.
	Heartbeat time.Time
	// Data is what the workspace's link leads to; empty: there is none.
	Data string
	// Packed: the journal has been packed at the end of a run.
	Packed bool
	// Failed: the run that failed is the newest one, and Hankweave has ended in order.
	Failed bool
}

// gone is a pid that no system gives away.
const gone = 1 << 30

// Hank is the program of the execution. Two of its ids break hank's rule, and
// two of its codons do not say what they track.
const Hank = `{
  "$schema": "https://hankweave.southbridge.ai/schema.json",
  "meta": {"name": "adopted", "version": "1.0.0"},
  "hank": [
    {"id": "gather notes", "name": "Gather", "promptText": "mkdir -p notes; echo gathered >>notes/a.md; echo own >scratch.tmp", "model": "shell",
     "continuationMode": "fresh", "checkpointedFiles": ["notes/**"]},
    {"type": "loop", "id": "review", "name": "Review", "terminateOn": {"type": "iterationLimit", "limit": 3}, "codons": [
      {"id": "look", "name": "Look", "promptText": "echo seen >>seen.txt", "model": "shell", "continuationMode": "fresh"},
      {"id": "mend/fix", "name": "Mend", "promptText": "mkdir -p fixes; ls fixes | wc -l >fixes/$(ls fixes | wc -l); echo mended >>notes/a.md", "model": "shell",
       "continuationMode": "fresh", "checkpointedFiles": ["fixes/**"]}]},
    {"id": "report", "name": "Report", "promptText": "cat notes/a.md >report.md", "model": "shell", "continuationMode": "fresh", "checkpointedFiles": ["report.md"]},
    {"id": "publish", "name": "Publish", "promptText": "echo done >published", "model": "shell", "continuationMode": "fresh"}
  ]
}
`

// Execution names what was laid out.
type Execution struct {
	Root, Hank string            // directories
	Runs       []string          // oldest first: completed, failed, running
	SHA        map[string]string // commits, by what they are of: initial, gather, look0, mend0, look1error, look1
}

// Lay makes an execution in a new directory root, its hank in root.hank beside it.
func Lay(root string, o Options) (*Execution, error) {
	b := &builder{o: o, x: &Execution{Root: root, Hank: root + ".hank", SHA: map[string]string{},
		Runs: []string{"1736000000000-a1b2c", "1736000100000-d3e4f", "1736000200000-g5h6i"}}}
	if o.Pid == 0 {
		b.o.Pid = gone
	}
	if o.Heartbeat.IsZero() {
		b.o.Heartbeat = time.Now()
	}
	b.lay()
	return b.x, b.err
}

type builder struct {
	o   Options
	x   *Execution
	err error
}

func (b *builder) path(name string) string {
	return filepath.Join(b.x.Root, filepath.FromSlash(name))
}

func (b *builder) write(name, text string) {
	if b.err == nil {
		b.err = os.MkdirAll(filepath.Dir(name), 0o755)
	}
	if b.err == nil {
		b.err = os.WriteFile(name, []byte(text), 0o644)
	}
}

func (b *builder) json(name string, v any) {
	text, err := json.MarshalIndent(v, "", "  ")
	if b.err == nil {
		b.err = err
	}
	b.write(name, string(text))
}

// git runs stock git as Hankweave does and returns what it printed.
func (b *builder) git(args ...string) string {
	if b.err != nil {
		return ""
	}
	home := b.path(".hankweave/checkpoints")
	cmd := exec.Command("git", args...)
	cmd.Dir = b.path("agentRoot")
	cmd.Env = append(os.Environ(), "GIT_DIR="+home+"/.hankweavecheckpoints", "GIT_WORK_TREE="+cmd.Dir, "HOME="+home, "XDG_CONFIG_HOME="+home,
		"GIT_AUTHOR_NAME=Hankweave Runtime", "GIT_AUTHOR_EMAIL=runtime@hankweave.invalid", "GIT_COMMITTER_NAME=Hankweave Runtime", "GIT_COMMITTER_EMAIL=runtime@hankweave.invalid")
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		b.err = fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(out.String())
}

// checkpoint commits paths on a run's branch, from the tree of parent.
func (b *builder) checkpoint(name, status, codon, title string, run int, parent string, paths ...string) {
	b.git("read-tree", b.x.SHA[parent])
	if len(paths) > 0 {
		b.git(append([]string{"add", "-f", "--"}, paths...)...)
	}
	id := b.x.Runs[run]
	message := fmt.Sprintf("%s:%s [run:%s] %s\n\nCodon: %s\nStatus: %s\nTimestamp: 2025-01-04T12:00:00.000Z\nDuration: 1200ms\n", status, codon, id, title, codon, status)
	b.x.SHA[name] = b.git("commit-tree", "-p", b.x.SHA[parent], "-m", message, b.git("write-tree"))
	b.git("update-ref", "refs/heads/run-"+id, b.x.SHA[name])
}

func (b *builder) lay() {
	b.write(filepath.Join(b.x.Hank, "hank.json"), Hank)
	b.write(b.path("agentRoot/.gitignore"), "*.tmp\n")
	b.write(b.path("agentRoot/mine.txt"), "the person's own\n")
	if b.err == nil && b.o.Data != "" {
		b.err = os.Symlink(b.o.Data, b.path("agentRoot/read_only_data_source"))
	}
	b.write(b.path(".hankweave/checkpoints/.gitconfig"), "[user]\n\tname = Hankweave Runtime\n")
	b.git("init", "-q", "-b", "main")
	b.git("config", "commit.gpgsign", "false")
	b.git("commit", "-q", "--allow-empty", "-m", "Initial checkpoint setup")
	b.x.SHA["initial"] = b.git("rev-parse", "HEAD")
	b.write(b.path("agentRoot/notes/a.md"), "gathered\n")
	b.write(b.path("agentRoot/scratch.tmp"), "own\n")
	b.checkpoint("gather", "completed", "gather notes", "Gather", 0, "initial", "notes")
	b.write(b.path("agentRoot/seen.txt"), "seen\n")
	b.checkpoint("look0", "completed", "look#0", "Look", 1, "gather")
	b.write(b.path("agentRoot/fixes/0"), "0\n")
	b.write(b.path("agentRoot/notes/a.md"), "gathered\nmended\n")
	b.checkpoint("mend0", "completed", "mend/fix#0", "Mend", 1, "look0", "notes", "fixes")
	b.checkpoint("look1error", "error", "look#1", "Look", 1, "mend0")
	b.git("update-ref", "--no-deref", "HEAD", b.x.SHA["mend0"]) // detached: the last restore
	b.checkpoint("look1", "completed", "look#1", "Look", 2, "mend0")
	b.git("pack-refs", "--all")
	b.write(b.path("agentRoot/fixes/half"), "unfinished\n")
	b.write(b.path("agentRoot/notes/a.md"), "gathered\nmended\nhalf\n")
	if b.err == nil {
		b.err = os.Symlink("a.md", b.path("agentRoot/notes/link"))
	}
	b.state()
	b.others()
}

type object = map[string]any

func (b *builder) record(id, status string, more object) object {
	o := object{"codonId": id, "startTime": "2025-01-04T12:00:00.000Z", "status": status, "traceId": "trace-" + id}
	if status == "completed" {
		o["endTime"], o["exitCode"], o["resultMessageReceived"] = "2025-01-04T12:02:30.000Z", 0, true
		o["claudeSessionId"], o["claudePid"], o["finalCost"], o["extensionCount"] = "session-"+id, 900123, 0.25, 0
		o["finalTokens"] = object{"inputTokens": 2000, "outputTokens": 1200, "cacheCreationTokens": 0, "cacheReadTokens": 800, "reasoningTokens": 7}
		o["sentinels"] = object{"executed": []any{}, "totalCost": 0.01, "droppedTriggers": 2}
	}
	if n := strings.IndexByte(id, '#'); n > 0 {
		at := map[string]int{"look": 0, "mend/fix": 1}[id[:n]]
		o["loopContext"] = object{"loopId": "review", "iteration": int(id[n+1] - '0'), "codonIndexInLoop": at, "startedBy": "autostart"}
	}
	for k, v := range more {
		o[k] = v
	}
	return o
}

// log is the transcript of a record, by the path that Hankweave gives it.
func (b *builder) log(run int, id, said string) string {
	name := ".hankweave/runs/" + b.x.Runs[run] + "/" + strings.NewReplacer("#", "-", "/", "_").Replace(id) + "-claude.log"
	b.write(b.path(name), `{"type":"system","subtype":"init","session_id":"s","timestamp":"2025-01-04T12:00:01.000Z"}
{"type":"assistant","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"`+said+`"}]},"timestamp":"2025-01-04T12:00:02.000Z"}
`)
	return name
}

func (b *builder) run(i int, status string, start object, codons ...any) object {
	id := b.x.Runs[i]
	return object{"runId": id, "runFolder": b.path(".hankweave/runs/" + id), "gitBranch": "run-" + id, "startingConditions": start, "codons": codons,
		"status": status, "startTime": b.o.Heartbeat.UTC().Format(time.RFC3339Nano), "serverPid": b.o.Pid, "clients": []string{"tui"}}
}

func (b *builder) from(run int, after, sha, reason string) object {
	return object{"type": "continuation", "reason": reason, "source": object{"runId": b.x.Runs[run], "afterCodon": after, "checkpointSha": b.x.SHA[sha], "pickedBy": "ladder"}}
}

func (b *builder) state() {
	completed := b.run(0, "completed", object{"type": "fresh"},
		b.record("gather notes", "completed", object{"completionCheckpoint": b.x.SHA["gather"], "claudeLogPath": b.log(0, "gather notes", "I gathered")}))
	failed := b.run(1, "failed", b.from(0, "gather notes", "gather", "rollback"),
		b.record("look#0", "completed", object{"completionCheckpoint": b.x.SHA["look0"], "claudeLogPath": b.log(1, "look#0", "I looked")}),
		b.record("mend/fix#0", "completed", object{"completionCheckpoint": b.x.SHA["mend0"], "claudeLogPath": b.log(1, "mend/fix#0", "I mended")}),
		b.record("look#1", "failed", object{"endTime": "2025-01-04T12:01:45.000Z", "failedDuring": "running", "exitCode": 1, "partialCost": 0.05,
			"partialTokens": object{"inputTokens": 1, "outputTokens": 1, "cacheCreationTokens": 0, "cacheReadTokens": 0},
			"failureReason": object{"type": "timeout", "retriable": true, "message": "API request timed out after 30s"}, "errorCheckpoint": b.x.SHA["look1error"]}))
	failed["endTime"] = "2025-01-04T12:01:46.000Z"
	running := b.run(2, "running", b.from(1, "mend/fix#0", "mend0", "continue"),
		b.record("look#1", "completed", object{"completionCheckpoint": b.x.SHA["look1"], "claudeLogPath": b.log(2, "look#1", "I looked again")}),
		b.record("mend/fix#1", "running", object{"claudePid": 900124, "claudeSessionId": "session-live", "claudeLogPath": b.log(2, "mend/fix#1", "half of it"),
			"currentCost": 0.02, "currentTokens": object{"inputTokens": 5, "outputTokens": 5, "cacheCreationTokens": 0, "cacheReadTokens": 0},
			"assistantMessageCount": 1, "extensionCount": 0, "sentinels": object{"loaded": []any{}, "totalCost": 0}}))
	runs, current := []any{running, failed, completed}, any(b.x.Runs[2])
	if b.o.Failed {
		runs, current = runs[1:], nil
	}
	doc := object{"runs": runs, "currentRunId": current, "executionPlan": b.plan(), "telemetrySession": object{"id": "t-1"}}
	b.json(b.path(".hankweave/state.json"), doc)
	b.json(b.path(".hankweave/state.json.bak"), doc)
}

// plan is the plan as Hankweave keeps it: whole codons, absolute paths, models
// with their prices.
func (b *builder) plan() []any {
	entry := func(id, codon, name string, more object) object {
		c := object{"id": codon, "name": name, "promptFile": []string{b.x.Hank + "/prompt.md"}, "continuationMode": "fresh",
			"model": object{"providerId": "anthropic", "modelId": "claude-sonnet-4-5", "name": "Claude Sonnet 4.5", "cost": object{"input": 3, "output": 15}, "limits": object{"context": 200000}}}
		for k, v := range more {
			c[k] = v
		}
		r := b.record(id, "", nil)
		e := object{"codon": c, "codonId": id, "expandedAt": "2025-01-04T12:00:00.000Z"}
		if loop, ok := r["loopContext"]; ok {
			e["loopContext"] = loop
		}
		return e
	}
	fixes := object{"checkpointedFiles": []string{"fixes/**"}}
	return []any{entry("gather notes", "gather notes", "Gather", object{"checkpointedFiles": []string{"notes/**"}}),
		entry("look#0", "look", "Look", nil), entry("mend/fix#0", "mend/fix", "Mend", fixes),
		entry("look#1", "look", "Look", nil), entry("mend/fix#1", "mend/fix", "Mend", fixes),
		entry("report", "report", "Report", object{"checkpointedFiles": []string{"report.md"}}), entry("publish", "publish", "Publish", nil)}
}

func (b *builder) others() {
	b.json(b.path(".hankweave/execution-meta.json"), object{"version": "1.2.0", "readOnlySourceDataPath": b.o.Data, "readOnlySourceResolvedDataPath": b.o.Data,
		"dataHash": "9f86d081884c7d65", "hankHash": "2c26b46b68ffc68f", "hankPath": filepath.Join(b.x.Hank, "hank.json"), "linkType": "symlink",
		"createdAt": "2025-01-04T12:00:00.000Z", "lastUsed": "2025-01-04T12:05:00.000Z", "hankweaveVersion": "0.12.0", "installedBy": "npx",
		"environment": object{"invocationMethod": "npx", "platform": "linux", "arch": "x64", "osRelease": "6.1", "runtime": "bun 1.2"}})
	at := b.o.Heartbeat.UTC().Format("2006-01-02T15:04:05.000Z")
	if !b.o.Failed {
		b.json(b.path(".hankweave/runtime.lock"), object{"pid": b.o.Pid, "lockId": "5f0c0000-0000-4000-8000-00000000000a", "runId": b.x.Runs[2],
			"startTime": at, "lastHeartbeat": at, "port": 7777})
	}
	b.write(b.path(".hankweave/events/events.meta.json"), `{"count":3,"eventSchemaVersion":2}`)
	events := ""
	for i, e := range []string{`"server.started","data":{"port":7777}`, `"codon.started","data":{"codonId":"gather notes","runId":"` + b.x.Runs[0] + `"}`, `"state.transition","data":{"transitionType":"CodonCompleted","runId":"` + b.x.Runs[0] + `","codonId":"gather notes"}`} {
		events += fmt.Sprintf(`{"id":"evt-%d","timestamp":"2025-01-04T12:00:0%d.000Z","type":%s}`+"\n", i, i, e)
	}
	if b.o.Packed {
		b.write(b.path(".hankweave/events/events.jsonl.zst"), "(\xb5/\xfd packed")
		b.write(b.path(".hankweave/events/journal.meta.json"), `{"sha256":"00"}`)
		b.write(b.path(".hankweave/events/cas/ab/cdef"), "body")
	} else {
		b.write(b.path(".hankweave/events/events.jsonl"), events)
	}
	b.write(b.path(".hankweave/logs/server.log"), "started\n")
}
