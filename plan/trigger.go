package plan

import (
	"fmt"
	"regexp"
	"strconv"

	"hank/internal/typo"
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
// expressions that do not compile, wherever they stand in a trigger.
func (l *loader) triggerRules(doc *document, pointer string, n *node) {
	if n == nil {
		return
	}
	if n.kind == '[' {
		for i := range n.kids {
			l.triggerRules(doc, pointer+"/"+strconv.Itoa(i), &n.kids[i])
		}
		return
	}
	if op, value := n.member("operator"), n.member("value"); op != nil && value != nil && op.text == "matches" {
		if _, err := regexp.Compile(value.text); err != nil {
			l.report(doc, pointer+"/value", "sentinel-regexp", "expressions are RE2: no look-around, no back-references", "%v", err)
		}
	}
	for i := range n.kids {
		at := pointer + "/" + escape(n.names[i].text)
		switch kid := &n.kids[i]; {
		case n.names[i].text == "on" && kid.kind == '[':
			for j := range kid.kids {
				l.eventType(doc, fmt.Sprintf("%s/%d", at, j), kid.kids[j].text)
			}
		case n.names[i].text == "pattern" && kid.kind == '[':
			for j := range kid.kids {
				if t := kid.kids[j].step("type"); kid.kids[j].kind == '{' && t != nil {
					l.eventType(doc, fmt.Sprintf("%s/%d/type", at, j), t.text)
				}
			}
			l.triggerRules(doc, at, kid)
		case kid.kind == '{', kid.kind == '[':
			l.triggerRules(doc, at, kid)
		}
	}
}

func (l *loader) eventType(doc *document, pointer, event string) {
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
	l.report(doc, pointer, "sentinel-event", hint, "there is no event %q", event)
}
