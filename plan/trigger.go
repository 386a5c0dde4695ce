package plan

import (
	"fmt"
	"regexp"
	"strconv"

	"hank/internal/typo"
	"hank/plan/jsonshape"
)

// events are the types of the events that sentinels see (schema 2 of the
// compatible system: categories server and agent).
var events = []string{
	"archive.completed", "archive.partial", "assistant.action", "budget.summary", "checkpoint.list", "codon.completed", "codon.extended",
	"codon.started", "error", "file.updated", "filetree.updated", "info", "loop.iteration.completed", "rig.output", "rig.setup.completed",
	"rig.setup.failed", "rollback.archiveRestore", "rollback.codonCheckpoint", "rollback.completed", "rollback.progress", "rollback.rigCleanup",
	"rollback.started", "server.idle", "state.snapshot", "state.transition", "token.usage", "tool.result",
}

// triggerRules looks for event types that do not exist and for regular
// expressions that do not compile, wherever they are in a trigger.
func (l *loader) triggerRules(doc *jsonshape.Document, pointer string, n *jsonshape.Node) {
	if n == nil {
		return
	}
	if n.Kind == '[' {
		for i := range n.Kids {
			l.triggerRules(doc, pointer+"/"+strconv.Itoa(i), &n.Kids[i])
		}
		return
	}
	if op, value := n.Member("operator"), n.Member("value"); op != nil && value != nil && op.Text == "matches" {
		if _, err := regexp.Compile(value.Text); err != nil {
			l.report(doc, pointer+"/value", "sentinel-regexp", "expressions are RE2: no look-around, no back-references", "%v", err)
		}
	}
	for i := range n.Kids {
		at := pointer + "/" + jsonshape.Escape(n.Names[i].Text)
		switch kid := &n.Kids[i]; {
		case n.Names[i].Text == "on" && kid.Kind == '[':
			for j := range kid.Kids {
				l.eventType(doc, fmt.Sprintf("%s/%d", at, j), kid.Kids[j].Text)
			}
		case n.Names[i].Text == "pattern" && kid.Kind == '[':
			for j := range kid.Kids {
				if t := kid.Kids[j].Step("type"); kid.Kids[j].Kind == '{' && t != nil {
					l.eventType(doc, fmt.Sprintf("%s/%d/type", at, j), t.Text)
				}
			}
			l.triggerRules(doc, at, kid)
		case kid.Kind == '{', kid.Kind == '[':
			l.triggerRules(doc, at, kid)
		}
	}
}

func (l *loader) eventType(doc *jsonshape.Document, pointer, event string) {
	if event == "*" {
		return
	}
	for _, e := range events {
		if e == event {
			return
		}
	}
	hint := ""
	if near := typo.Nearest(event, events); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	l.report(doc, pointer, "sentinel-event", hint, "unknown event %q", event)
}
