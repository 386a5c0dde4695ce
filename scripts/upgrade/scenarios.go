package main

import "os"

// scenarios are all of them. In a run of the program, transition.acknowledged:N is after the initial
// checkpoint (1), the plan (2), the run's beginning (3) and then the first codon's
// transitions: 4 preparing, 5 starting, 6 running, 9 completing-sentinels, 10
// completed. What the codon work is killed at is counted from its own run.
var scenarios = []scenario{
	// An execution without a run, and one whose run has no codon.
	{"created", func(w *maker) { w.killed("transition.acknowledged:2", "run", "hank", "-e", "e") }},
	{"begun", func(w *maker) {
		w.killed("transition.acknowledged:3", "run", "hank", "-e", "e")
		w.want(`"status": "running"`)
	}},

	// Each status of a codon, as a kill leaves it.
	{"preparing", func(w *maker) { w.killed("transition.acknowledged:4", "run", "hank", "-e", "e"); w.want(`"preparing"`) }},
	{"rig-in-work", func(w *maker) { w.killed("rig.built:1", "run", "hank", "-e", "e"); w.want(`"preparing"`) }},
	{"starting", func(w *maker) { w.killed("transition.acknowledged:5", "run", "hank", "-e", "e"); w.want(`"starting"`) }},
	{"initializing", func(w *maker) {
		w.write("hank/hank.json", `{"hank": [{"id": "ask", "name": "Ask", "model": "haiku", "continuationMode": "fresh", "promptText": "ask"}]}`)
		w.write("bin/claude", "#!/bin/sh\n[ \"$1\" != --version ] || { echo '2.0.0 (Claude Code)'; exit 0; }\ntouch \"$GATE/started\"\nsleep 60\n")
		if w.err == nil {
			w.err = os.Chmod(w.path("bin/claude"), 0o755)
		}
		w.env = []string{"ANTHROPIC_API_KEY=none"}
		w.start("run", "hank", "-e", "e")
		w.signal(os.Kill)
		w.end(-1)
		w.want(`"initializing"`)
	}},
	{"running", func(w *maker) {
		w.start("run", "hank", "-e", "e")
		w.signal(os.Kill)
		w.end(-1)
		w.off("wait")
		w.want(`"running"`)
	}},
	{"completing", func(w *maker) {
		w.killed("transition.acknowledged:9", "run", "hank", "-e", "e")
		w.want(`"completing-sentinels"`)
	}},
	{"checkpoint-packed", func(w *maker) { w.killed("checkpoint.packed:3", "run", "hank", "-e", "e") }},
	{"checkpoint-unacknowledged", func(w *maker) { w.killed("checkpoint.referenced:3", "run", "hank", "-e", "e") }},
	{"between-codons", func(w *maker) { w.killed("transition.acknowledged:10", "run", "hank", "-e", "e") }},
	{"in-loop", func(w *maker) { w.killed("transition.acknowledged:28", "run", "hank", "-e", "e"); w.want(`"round#1"`) }},
	{"archiving", func(w *maker) { w.killed("archive.removed:1", "run", "hank", "-e", "e") }},
	{"journal-torn", func(w *maker) { w.killed("journal.appended:9", "run", "hank", "-e", "e") }},
	{"snapshot-half", func(w *maker) { w.killed("snapshot.written:2", "run", "hank", "-e", "e") }},
	{"run-ended", func(w *maker) { w.killed("run.ended:1", "run", "hank", "-e", "e") }},

	// Each way in which a run ends.
	{"completed", func(w *maker) { w.finished() }},
	{"outputs", func(w *maker) { w.run(0, "run", "hank", "-e", "e", "-o", "e/results") }},
	{"failed", func(w *maker) { w.failed() }},
	{"stopped", func(w *maker) {
		w.start("run", "hank", "-e", "e")
		w.run(0, "stop", "--wait", "-e", "e")
		w.end(8)
		w.off("wait")
	}},
	{"stopped-between", func(w *maker) { w.run(8, "run", "hank", "-e", "e", "--stop-after", "2") }},
	{"interrupted", func(w *maker) {
		w.start("run", "hank", "-e", "e")
		w.signal(os.Interrupt)
		w.end(130)
		w.off("wait")
	}},
	{"skipped", func(w *maker) {
		w.start("run", "hank", "-e", "e")
		w.run(0, "skip", "-e", "e")
		w.off("wait")
		w.end(0)
	}},
	{"budget-codon", func(w *maker) { w.on("spend"); w.finished(); w.off("spend"); w.want(`"budgetExceeded"`) }},
	{"budget-run", func(w *maker) { w.run(6, "run", "hank", "-e", "e", "--max-cost", "0.3") }},
	{"settling", func(w *maker) { // the agent has ended, and its checkpoint has no room
		w.on("large")
		w.run(4, "run", "hank", "-e", "e", "--checkpoint-cap", "60KB")
		w.off("large")
		w.want(`"settling"`)
	}},

	// Several runs.
	{"crash-recorded", func(w *maker) {
		w.killed("transition.acknowledged:6", "run", "hank", "-e", "e")
		w.run(0, "run", "-e", "e")
	}},
	{"retried", func(w *maker) { w.failed(); w.run(0, "retry", "-e", "e") }},
	{"retried-rig", func(w *maker) { w.failed(); w.run(0, "retry", "--from", "rig-setup", "-e", "e") }},
	{"resumed", func(w *maker) {
		w.start("run", "hank", "-e", "e")
		w.run(0, "stop", "--wait", "-e", "e")
		w.end(8)
		w.off("wait")
		w.run(0, "resume", "-e", "e")
	}},
	{"edited", func(w *maker) { // checkpoints made by hand, and hank's own
		w.run(8, "run", "hank", "-e", "e", "--stop-after", "1")
		w.write("e/agentRoot/notes.txt", "by hand\n")
		w.run(0, "run", "-e", "e", "--keep-tree")
		w.want(`"finish"`)
	}},
	{"program-changed", func(w *maker) {
		w.failed()
		w.write("hank/prompts/work.sh", "echo other >>work.txt\n")
		w.run(0, "retry", "-e", "e", "--adopt")
	}},

	// Moves.
	{"rolled-back", func(w *maker) { w.finished(); w.run(0, "rollback", "--to", "round#0", "--yes", "-e", "e") }},
	{"rolled-back-twice", func(w *maker) {
		w.finished()
		w.run(0, "rollback", "--to", "work", "--yes", "-e", "e")
		w.write("e/agentRoot/rounds.txt", "by hand\n")
		w.run(0, "rollback", "--to", "prepare", "--yes", "-e", "e")
	}},
	{"rollback-undone", func(w *maker) {
		w.finished()
		w.run(0, "rollback", "--to", "round#0", "--yes", "-e", "e")
		w.run(0, "rollback", "--undo", "--yes", "-e", "e")
	}},
	{"failure-undone", func(w *maker) {
		w.failed()
		w.run(0, "rollback", "--to", "prepare", "--yes", "-e", "e")
		w.run(0, "rollback", "--undo", "--yes", "-e", "e")
	}},
	{"failure-rolled-back", func(w *maker) { w.failed(); w.run(0, "rollback", "--to", "prepare", "--yes", "-e", "e") }},
	{"rolled-back-run", func(w *maker) {
		w.finished()
		w.run(0, "rollback", "--to", "round#0", "--yes", "-e", "e")
		w.run(0, "run", "-e", "e")
	}},
	{"restored", func(w *maker) {
		w.finished()
		w.run(0, "restore", "--from", "optional", "--yes", "part.txt", "-e", "e")
	}},
	{"branch-removed", func(w *maker) {
		w.finished()
		w.run(0, "rollback", "--to", "initial", "--yes", "-e", "e")
		w.run(0, "run", "-e", "e")
		w.run(0, "rollback", "--to", "prepare", "--yes", "-e", "e")
		w.run(0, "run", "-e", "e")
		w.run(0, "gc", "--older-than", "0s", "--apply", "-e", "e")
	}},

	// Moves that a kill has left, each with its intent open but the first.
	{"move-safe", func(w *maker) { w.finished(); w.killed("move.safe", "rollback", "--to", "prepare", "--yes", "-e", "e") }},
	{"move-intended", func(w *maker) {
		w.finished()
		w.killed("move.intended", "rollback", "--to", "prepare", "--yes", "-e", "e")
	}},
	{"move-renaming", func(w *maker) {
		w.finished()
		w.killed("restore.renamed", "rollback", "--to", "round#0", "--yes", "-e", "e")
	}},
	{"move-deleting", func(w *maker) {
		w.finished()
		w.killed("restore.deleted", "rollback", "--to", "prepare", "--yes", "-e", "e")
	}},
	{"move-applied", func(w *maker) {
		w.finished()
		w.killed("move.applied", "rollback", "--to", "prepare", "--yes", "-e", "e")
	}},
	{"undo-killed", func(w *maker) {
		w.finished()
		w.run(0, "rollback", "--to", "prepare", "--yes", "-e", "e")
		w.killed("move.applied", "rollback", "--undo", "--yes", "-e", "e")
	}},
	{"retry-killed", func(w *maker) { w.failed(); w.killed("move.applied", "retry", "-e", "e") }},

	// Begun by Hankweave.
	{"adopted", func(w *maker) { w.adopted(); w.run(0, "run", "-e", "e") }},
	{"adoption-killed", func(w *maker) { w.adopted(); w.killed("transition.acknowledged:2", "run", "-e", "e") }},
}
