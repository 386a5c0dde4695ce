package plan

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"hank/plan/diagnostic"
)

// broken is a hank with one thing wrong, and what must be said about it.
type broken struct {
	name  string
	hank  string
	files map[string]string
	more  func(fstest.MapFS)
	want  string // the rule
	at    string // the position: where this stands last in the hank; $ is its end
	file  string // or the file, if it is not the hank
	hint  string // part of the hint
}

const sentinelHead = `"id": "s", "name": "S", "model": "anthropic/claude-haiku-4-5", "userPromptText": "x", "execution": {"strategy": "immediate"}, `

const onError = `"trigger": {"type": "event", "on": ["error"]}`

func withSentinel(config string) string {
	return hankOf(shellCodon("a", `"sentinels": [{"sentinelConfig": {`+config+`}}]`))
}

func withBudget(budget string, items ...string) string {
	return `{"overrides": {"budget": ` + budget + `}, "hank": [` + strings.Join(items, ", ") + `]}`
}

func copyOf(from, to string) string {
	return fmt.Sprintf(`"rigSetup": [{"type": "copy", "copy": {"from": %q, "to": %q}}]`, from, to)
}

var brokenHanks = []broken{
	// JSON
	{name: "no JSON", hank: "hank: []", want: "syntax", at: `hank: []`},
	{name: "an empty file", hank: " \n", want: "syntax", at: " \n"},
	{name: "a file cut off", hank: "{\n \"hank\": [", want: "syntax", at: "$"},
	{name: "bytes that are not UTF-8", hank: "{\"hank\": [\"\xff\"]}", want: "syntax", at: "\xff"},
	{name: "a byte order mark", hank: "\ufeff" + hankOf(shellCodon("a")), want: "byte-order-mark", at: "\ufeff"},
	{name: "a comment", hank: "{ // why\n\"hank\": [" + shellCodon("a") + "]}", want: "comment", at: "//"},
	{name: "a block comment", hank: hankOf(shellCodon("a")) + "/* the end", want: "comment", at: `/* the end`},
	{name: "a trailing comma", hank: `{"hank": [` + shellCodon("a") + `,]}`, want: "trailing-comma", at: ",]}"},
	{name: "text behind", hank: hankOf(shellCodon("a")) + "\n}", want: "trailing-data", at: "}"},
	{name: "a name twice", hank: hankOf(shellCodon("a", `"name": "B"`)), want: "duplicate-field", at: `"name"`},
	{name: "columns count characters", hank: "{\"hank\": [" + shellCodon("a", `"description": "äöü€𝄞"`, `"x": 1`) + "]}", want: "unknown-field", at: `"x": 1}`},

	// fields
	{name: "a typo of the table", hank: hankOf(shellCodon("a", `"trackedFiles": []`)), want: "unknown-field", at: `"trackedFiles"`, hint: "did you mean checkpointedFiles?"},
	{name: "a typo by distance", hank: hankOf(shellCodon("a", `"chekpointedFile": []`)), want: "unknown-field", at: `"chekpointedFile"`, hint: "did you mean checkpointedFiles?"},
	{name: "a codon field at the root", hank: `{"promptText": "x", "hank": [` + shellCodon("a") + `]}`, want: "unknown-field", at: `"promptText": "x"`, hint: "is a field of a codon"},
	{name: "a field of nobody at the root", hank: `{"zebra": 1, "hank": [` + shellCodon("a") + `]}`, want: "unknown-field", at: `"zebra": 1`, hint: "the fields are $schema, meta, "},
	{name: "a nested unknown", hank: hankOf(shellCodon("a", `"outputFiles": [{"copy": ["a"], "to": "b"}]`)), want: "unknown-field", at: `"to": "`},
	{name: "a rig's unknown", hank: hankOf(shellCodon("a", `"rigSetup": [{"type": "command", "command": {"run": "x", "cwd": "y"}}]`)), want: "ignored-field", at: `"cwd": "`},
	{name: "a missing field", hank: `{"hank": [{"id": "a", "name": "A", "model": "shell", "promptText": "x"}]}`, want: "missing-field", at: `{"id": "`},
	{name: "no items", hank: `{"hank": []}`, want: "bad-value", at: "[]}"},
	{name: "the root is no object", hank: `[]`, want: "wrong-type", at: "[]"},
	{name: "a number in quotes", hank: hankOf(shellCodon("a", `"shimIdleTimeout": "30"`)), want: "wrong-type", at: `"30"}]}`, hint: "without quotes"},
	{name: "null", hank: hankOf(shellCodon("a", `"env": null`)), want: "wrong-type", at: `null}]}`, hint: "leave the field out"},
	{name: "a fraction", hank: hankOf(shellCodon("a", `"shimIdleTimeout": 1.5`)), want: "wrong-type", at: `1.5}]}`},
	{name: "a huge number", hank: hankOf(shellCodon("a", `"budget": {"maxTimeSeconds": 1e999}`)), want: "bad-value", at: `1e999}`},
	{name: "out of range", hank: hankOf(shellCodon("a", `"shimIdleTimeout": 1801`)), want: "bad-value", at: `1801}]}`},
	{name: "zero dollars", hank: hankOf(agentCodon("a", "fresh", `"budget": {"maxDollars": 0}`)), want: "bad-value", at: "0}}]}"},
	{name: "a wrong word", hank: hankOf(shellCodon("a", `"onFailure": "retyr"`)), want: "bad-value", at: `"retyr"`, hint: `did you mean "retry"?`},
	{name: "a loop without a type", hank: hankOf(`{"id": "l", "name": "L", "terminateOn": ` + limit(2) + `, "codons": [` + shellCodon("a", `"onFailure": "ignore"`) + `]}`), want: "missing-field", at: `{"id": "l"`, hint: `add "type": "loop"`},
	{name: "a prompt under a wrong name", hank: hankOf(strings.Replace(shellCodon("a"), `"promptText"`, `"prompt"`, 1)), want: "unknown-field", at: `"prompt"`, hint: "promptText"},
	{name: "a required field under a wrong name", hank: hankOf(strings.Replace(shellCodon("a"), `"continuationMode"`, `"continuation"`, 1)), want: "unknown-field", at: `"continuation"`, hint: "continuationMode"},
	{name: "nested loops", hank: hankOf(loopOf("l", limit(2), loopOf("m", limit(2), shellCodon("a", `"onFailure": "ignore"`)))), want: "bad-value", at: `"loop", "id": "m"`},
	{name: "an unknown type", hank: hankOf(`{"type": "lopp"}`), want: "bad-value", at: `"lopp"`, hint: `did you mean "loop"?`},
	{name: "a loop without end", hank: hankOf(loopOf("l", `{"limit": 3}`, shellCodon("a"))), want: "missing-field", at: `{"limit"`},
	{name: "a key in a script", hank: hankOf(strings.Replace(shellCodon("a"), `"true"`, `"curl -H 'x-api-key: `+aKey+`'"`, 1)), want: "literal-secret", at: `"curl`},
	{name: "a key in env", hank: hankOf(shellCodon("a", `"env": {"MY_KEY": "`+aKey+`"}`)), want: "literal-secret", at: `"sk-`},
	{name: "a copied .env", hank: hankOf(shellCodon("a", `"rigSetup": [{"type": "copy", "copy": {"from": "files", "to": "files"}}]`)), files: map[string]string{"files/.env": "A=1", "files/.env.example": "A="}, want: "private-file", at: `{"hank`},
	{name: "a setting without effect", hank: `{"overrides": {"dataHashTimeLimit": 5}, "hank": [` + shellCodon("a") + `]}`, want: "no-effect", at: `"dataHashTimeLimit"`},
	{name: "a setting of sentinels that hank does not have", hank: `{"overrides": {"sentinel": {"waitForAllHealthChecks": true, "enablePersistence": false}}, "hank": [` + shellCodon("a") + `]}`, want: "sentinel-setting", at: `true, "ena`, hint: "failCodonIfNotLoaded"},
	{name: "an environment name", hank: hankOf(shellCodon("a", `"env": {"A=B": "x"}`)), want: "bad-value", at: `"x"}}]}`},
	{name: "a blank command", hank: hankOf(shellCodon("a", `"rigSetup": [{"type": "command", "command": {"run": " "}}]`)), want: "bad-value", at: `" "}}]}`},
	{name: "a tool with a path", hank: `{"requirements": {"tools": ["/bin/sh"]}, "hank": [` + shellCodon("a") + `]}`, want: "bad-value", at: `"/bin/sh"`},

	// codons
	{name: "an id with a slash", hank: hankOf(`{"id": "a/b", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "x"}`), want: "bad-id", at: `"a/b", "`},
	{name: "an id that begins with a dot", hank: hankOf(strings.Replace(shellCodon("a"), `"id": "a"`, `"id": ".a"`, 1)), want: "bad-id", at: `".a"`},
	{name: "an id of 129 characters", hank: hankOf(strings.Replace(shellCodon("a"), `"id": "a"`, `"id": "`+strings.Repeat("a", 129)+`"`, 1)), want: "bad-id", at: `"aaa`},
	{name: "an id of a loop with #", hank: hankOf(loopOf("l#1", limit(2), shellCodon("a"))), want: "bad-id", at: `"l#1", "`},
	{name: "an id twice, once in a loop", hank: hankOf(shellCodon("a"), loopOf("l", limit(2), shellCodon("a"))), want: "duplicate-id", at: `"a", "`},
	{name: "ids by case", hank: hankOf(shellCodon("a"), shellCodon("A", `"description": "x"`)), want: "similar-id", at: `"A", "`},
	{name: "a name twice", hank: hankOf(shellCodon("a"), strings.Replace(shellCodon("b"), "Codon b", "Codon a", 1)), want: "duplicate-name", at: `"Codon a"`, hint: "give each its own name"},
	{name: "both global prompts", hank: `{"globalSystemPromptText": "x", "globalSystemPromptFile": "g.md", "hank": [` + shellCodon("a") + `]}`, files: map[string]string{"g.md": "g"}, want: "exclusive-fields", at: `"x", "`},
	{name: "both system prompts", hank: hankOf(agentCodon("a", "fresh", `"appendSystemPromptText": "x"`, `"appendSystemPromptFile": "g.md"`)), files: map[string]string{"g.md": "g"}, want: "exclusive-fields", at: `"x", "`},
	{name: "no prompt", hank: hankOf(`{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh"}`), want: "prompt-missing", at: `{"id": "`},
	{name: "an empty prompt is none", hank: hankOf(`{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": ""}`), want: "prompt-missing", at: `{"id": "`},
	{name: "both prompts", hank: hankOf(shellCodon("a", `"promptFile": "g.md"`)), files: map[string]string{"g.md": "g"}, want: "prompt-twice", at: `"true"`},
	{name: "a blank prompt", hank: hankOf(`{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": " \n"}`), want: "prompt-empty", at: `" \n"`},
	{name: "an empty prompt file", hank: fromFile("p.md"), files: map[string]string{"p.md": ""}, want: "no-prompt", file: "p.md"},
	{name: "an empty script file", hank: strings.Replace(fromFile("p.sh"), "haiku", "shell", 1), files: map[string]string{"p.sh": ""}, want: "prompt-empty", file: "p.sh"},
	{name: "a prompt that is a comment", hank: strings.Replace(hankOf(agentCodon("a", "fresh")), "Do it.", " <!-- TODO --> ", 1), want: "no-prompt", at: `" <!--`},
	{name: "a prompt file of front matter alone", hank: fromFile("p.md"), files: map[string]string{"p.md": "---\nname: x\n---\n<!-- later -->\n"}, want: "no-prompt", file: "p.md"},
	{name: "a long command of a rig", hank: hankOf(shellCodon("a", `"rigSetup": [{"type": "command", "command": {"run": "`+long+`"}}]`)), want: "too-long", at: `"xx`},
	{name: "a long check", hank: hankOf(shellCodon("a", `"expect": {"command": {"run": "`+long+`"}}`)), want: "too-long", at: `"xx`},
	{name: "a long variable of a codon", hank: hankOf(shellCodon("a", `"env": {"V": "`+long[2:]+`"}`)), want: "too-long", at: `"xx`},
	{name: "a long variable", hank: `{"variables": {"V": "` + long[2:] + `"}, "hank": [` + shellCodon("a") + `]}`, want: "too-long", at: `"xx`},
	{name: "a long argument of exec", hank: hankOf(`{"id": "a", "name": "A", "model": "exec/mine", "continuationMode": "fresh", "promptText": "Do it.", "exec": ["mine", "` + long + `"]}`), want: "too-long", at: `"xx`},
	{name: "system prompts that are too long together", hank: `{"globalSystemPromptText": "` + long[:70000] + `", "hank": [` + agentCodon("a", "fresh", `"appendSystemPromptText": "`+long[:61070]+`"`) + `]}`, want: "too-long", at: `{"id"`},
	{name: "a system prompt that is too long as a setting", hank: hankOf(strings.Replace(agentCodon("a", "fresh", `"appendSystemPromptText": "x`+strings.Repeat(`\n`, 65600)+`"`), "sonnet", "gpt-5", 1)), want: "too-long", at: `{"id"`},
	{name: "a system prompt that is too long for a fallback", hank: hankOf(strings.Replace(agentCodon("a", "fresh", `"fallback": ["gpt-5", "opencode/big-pickle"], "appendSystemPromptText": "`+long+`"`), `"sonnet", "continuationMode`, `"gemini-2.5-pro", "continuationMode`, 1)), want: "too-long", at: `"gpt-5"`},
	{name: "a long system prompt", hank: hankOf(agentCodon("a", "fresh", `"appendSystemPromptText": "`+long+`"`)), want: "too-long", at: `{"id"`},
	{name: "a copy into a directory that nothing makes", hank: hankOf(shellCodon("a", copyOf("t", "a/b/c"))), files: map[string]string{"t/x": ""}, want: "target-parent", at: `"a/b/c"`, hint: "mkdir -p a/b"},
	{name: "a copy below a copy that does not make its directory", hank: hankOf(shellCodon("a", `"rigSetup": [{"type": "copy", "copy": {"from": "t", "to": "a"}}, {"type": "copy", "copy": {"from": "t", "to": "a/d/x"}}, {"type": "copy", "copy": {"from": "t", "to": "a/e/x"}}]`)), files: map[string]string{"t/d/x": ""}, want: "target-parent", at: `"a/e/x"`},
	{name: "a copy into a file that is copied", hank: hankOf(shellCodon("a", `"rigSetup": [{"type": "copy", "copy": {"from": "u", "to": "x"}}, {"type": "copy", "copy": {"from": "u", "to": "x/y"}}]`)), files: map[string]string{"u": "u"}, want: "bad-target", at: `"x/y"`},
	{name: "a copy into a file of a directory that is copied", hank: hankOf(shellCodon("a", `"rigSetup": [{"type": "copy", "copy": {"from": "t", "to": "x"}}, {"type": "copy", "copy": {"from": "u", "to": "x/d/f/y"}}]`)), files: map[string]string{"u": "u", "t/d/f": ""}, want: "bad-target", at: `"x/d/f/y"`},
	{name: "a copy into a file that an earlier codon copies", hank: hankOf(shellCodon("a", copyOf("u", "x")), shellCodon("b"), shellCodon("c", copyOf("u", "x/y"))), files: map[string]string{"u": "u"}, want: "target-file", at: `"x/y"`},
	{name: "an output with a name that no file has", hank: hankOf(shellCodon("a", `"outputFiles": [{"copy": ["*/`+long[:256]+`"]}]`)), want: "bad-path", at: `"*/x`},
	{name: "an expectation of a name that no file has", hank: hankOf(shellCodon("a", `"expect": {"files": ["`+long[:256]+`"]}`)), want: "bad-path", at: `"xx`},
	{name: "a required variable with =", hank: `{"requirements": {"env": ["A=B"]}, "hank": [` + shellCodon("a") + `]}`, want: "bad-value", at: `"A=B"`},
	{name: "a copy of what hank takes for its own", hank: hankOf(shellCodon("a", copyOf("t", "x"))), files: map[string]string{"t/d/.Hankweave-rig-new/f": ""}, want: "bad-target", at: `"t"`},
	{name: "a copy with a path that is too long", hank: hankOf(shellCodon("a", `"rigSetup": [{"type": "command", "command": {"run": "true"}}, {"type": "copy", "copy": {"from": "u", "to": "`+strings.Repeat("d/", 2048)+`xy"}}]`)), files: map[string]string{"u": "u"}, want: "bad-target", at: `"d/d`},
	{name: "a copy with a name that no file has", hank: hankOf(shellCodon("a", `"rigSetup": [{"type": "copy", "copy": {"from": "u", "to": "d/`+long[:256]+`"}}]`)), files: map[string]string{"u": "u"}, want: "bad-target", at: `"d/x`},
	{name: "a large prompt file", hank: fromFile("p.md"), files: map[string]string{"p.md": strings.Repeat("x", 1<<20+1)}, want: "prompt-large", file: "p.md"},
	{name: "a prompt file in latin-1", hank: fromFile("p.md"), files: map[string]string{"p.md": "\xe4"}, want: "prompt-encoding", file: "p.md"},
	{name: "a prompt file with NUL", hank: fromFile("p.md"), files: map[string]string{"p.md": "a\x00b"}, want: "prompt-encoding", file: "p.md"},
	{name: "an unknown placeholder", hank: fromFile("p.md"), files: map[string]string{"p.md": "<%DATADIR%>"}, want: "unknown-placeholder", file: "p.md"},
	{name: "front matter without end", hank: fromFile("p.md"), files: map[string]string{"p.md": "---\nname: x\n"}, want: "frontmatter", file: "p.md"},
	{name: "two gates with an id", hank: hankOf(shellCodon("a", `"gate": {"id": "g", "when": "after", "kind": "approve", "summary": "Good?"}`), shellCodon("b", `"gate": {"id": "g", "when": "after", "kind": "approve", "summary": "Good?"}`)), want: "duplicate-gate", at: `"g", "when": "after", "kind": "approve", "summary": "Good?"}}]}`},
	{name: "a gate that asks nothing", hank: hankOf(shellCodon("a", `"gate": {"id": "g", "when": "after", "kind": "approve", "summary": "  "}`)), want: "bad-value", at: `"  "`},
	{name: "an artifact outside", hank: hankOf(shellCodon("a", `"gate": {"id": "g", "when": "after", "kind": "approve", "summary": "Good?", "artifact": "../x"}`)), want: "bad-path", at: `"../x"`},
	{name: "a gate without a kind", hank: hankOf(shellCodon("a", `"gate": {"id": "g", "when": "after", "summary": "Good?"}`)), want: "missing-field", at: `{"id": "g"`},
	{name: "a gate that asks at another time", hank: hankOf(shellCodon("a", `"gate": {"id": "g", "when": "during", "kind": "reply", "summary": "Good?"}`)), want: "bad-value", at: `"during"`},
	{name: "retryConfig alone", hank: hankOf(shellCodon("a", `"retryConfig": {}`)), want: "retry-config", at: "{}}"},
	{name: "a variable in small letters", hank: `{"variables": {"topic": "x"}, "hank": [` + shellCodon("a") + `]}`, want: "variable-name", at: `"x"}`},
	{name: "a variable of hank's own", hank: `{"variables": {"ITERATION": "x"}, "hank": [` + shellCodon("a") + `]}`, want: "variable-name", at: `"x"}`},
	{name: "a mistyped variable", hank: `{"variables": {"TOPIC": "x"}, "hank": [` + strings.Replace(shellCodon("a"), `"promptText": "`, `"promptText": "<%TOPICS%>`, 1) + `]}`, want: "unknown-placeholder", at: `"<%TOPICS`, hint: "did you mean <%TOPIC%>?"},
	{name: "a condition without parts", hank: hankOf(shellCodon("a", `"skipIf": {}`)), want: "empty-check", at: "{}}"},
	{name: "an expectation without parts", hank: hankOf(shellCodon("a", `"expect": {}`)), want: "empty-check", at: "{}}"},
	{name: "an expectation of no files", hank: hankOf(shellCodon("a", `"expect": {"files": []}`)), want: "bad-value", at: "[]}"},
	{name: "a blank marker", hank: hankOf(shellCodon("a", `"expect": {"marker": " "}`)), want: "bad-value", at: `" "}`},
	{name: "a condition outside", hank: hankOf(shellCodon("a", `"skipIf": {"files": ["../b"]}`)), want: "bad-path", at: `"../b"`},
	{name: "an expected file of the data", hank: hankOf(shellCodon("a", `"expect": {"files": ["<%DATA_DIR%>/b"]}`)), want: "bad-path", at: `"<%DATA`},
	{name: "a condition on an output", hank: hankOf(shellCodon("a", `"skipIf": {"files": ["<%OUTPUT_DIR%>/b"]}`)), want: "bad-path", at: `"<%OUTPUT`},
	{name: "an expected file of an absolute variable", hank: `{"variables": {"V": "/tmp/x"}, "hank": [` + shellCodon("a", `"expect": {"files": ["<%V%>/b"]}`) + `]}`, want: "bad-path", at: `"<%V%>`},
	{name: "an expected file of an empty variable", hank: `{"variables": {"V": ""}, "hank": [` + shellCodon("a", `"expect": {"files": ["<%V%>"]}`) + `]}`, want: "bad-path", at: `"<%V%>`},
	{name: "a condition on a variable that is no pattern", hank: `{"variables": {"V": "a[b"}, "hank": [` + shellCodon("a", `"skipIf": {"files": ["<%V%>"]}`) + `]}`, want: "bad-glob", at: `"<%V%>`},
	{name: "an expected progress file outside of a loop", hank: hankOf(shellCodon("a", `"expect": {"files": ["<%PROGRESS_FILE%>"]}`)), want: "placeholder-place", at: `{"files"`},
	{name: "a condition on a progress file outside of a loop", hank: hankOf(shellCodon("a", `"skipIf": {"files": ["<%PROGRESS_FILE%>"]}`)), want: "placeholder-place", at: `["<%PROGRESS`},
	{name: "an expected pattern that is none", hank: hankOf(shellCodon("a", `"expect": {"files": ["b[c"]}`)), want: "bad-glob", at: `"b[c"`},
	{name: "an expected pattern that takes away", hank: hankOf(shellCodon("a", `"expect": {"files": ["b", "!c"]}`)), want: "bad-glob", at: `"!c"`},
	{name: "an unknown placeholder in an expected file", hank: hankOf(shellCodon("a", `"expect": {"files": ["out-<%ITERATOIN%>"]}`)), want: "unknown-placeholder", at: `"out-`},
	{name: "an unknown placeholder in a marker", hank: hankOf(shellCodon("a", `"expect": {"marker": "<%ITERATOIN%>"}`)), want: "unknown-placeholder", at: `"<%`},
	{name: "a marker of two lines of a script", hank: hankOf(shellCodon("a", `"expect": {"marker": "one\ntwo"}`)), want: "bad-value", at: `"one`},
	{name: "a placeholder in a rig", hank: hankOf(shellCodon("a", `"rigSetup": [{"type": "command", "command": {"run": "ls <%AGENT_ROOT%>"}}]`)), want: "placeholder-literal", at: `"ls`, hint: "HANK_WORKSPACE"},
	{name: "a variable of the hank in a check", hank: `{"variables": {"TOPIC": "x"}, "hank": [` + shellCodon("a", `"expect": {"command": {"run": "grep <%TOPIC%> f"}}`) + `]}`, want: "placeholder-literal", at: `"grep`, hint: "HANK_VAR_TOPIC"},
	{name: "a placeholder in a condition's command", hank: hankOf(shellCodon("a", `"skipIf": {"command": {"run": "test -f <%DATA_DIR%>/f"}}`)), want: "placeholder-literal", at: `"test`, hint: "HANK_DATA"},
	{name: "a placeholder in the environment", hank: hankOf(shellCodon("a", `"env": {"W": "<%AGENT_ROOT%>"}`)), want: "placeholder-literal", at: `"<%AGENT`},
	{name: "a placeholder as an argument", hank: hankOf(`{"id": "a", "name": "A", "model": "exec/mine", "continuationMode": "fresh", "promptText": "Do it.", "exec": ["mine", "<%AGENT_ROOT%>"]}`), want: "placeholder-literal", at: `"<%AGENT`},
	{name: "a placeholder in a pattern", hank: hankOf(shellCodon("a", `"checkpointedFiles": ["<%AGENT_ROOT%>/f"]`)), want: "placeholder-literal", at: `"<%AGENT`},
	{name: "a placeholder in a target", hank: hankOf(shellCodon("a", copyOf("t", "<%AGENT_ROOT%>/x"))), files: map[string]string{"t": "t"}, want: "placeholder-literal", at: `"<%AGENT`},
	{name: "a placeholder in the rule of a loop", hank: hankOf(loopOf("l", `{"type": "command", "limit": 3, "until": "test <%ITERATION%> = 2"}`, shellCodon("a", `"onFailure": "ignore"`))), want: "placeholder-literal", at: `"test <%`, hint: "HANK_ITERATION"},
	{name: "a blank condition", hank: hankOf(shellCodon("a", `"skipIf": {"command": {"run": " "}}`)), want: "bad-value", at: `" "}`},
	{name: "a dangerous condition", hank: hankOf(shellCodon("a", `"skipIf": {"command": {"run": "rm -rf /"}}`)), want: "dangerous-command", at: `"rm -rf /"`},
	{name: "a dangerous check", hank: hankOf(shellCodon("a", `"expect": {"command": {"run": "rm -rf /"}}`)), want: "dangerous-command", at: `"rm -rf /"`},
	{name: "a condition's typo", hank: hankOf(shellCodon("a", `"skipIf": {"exists": "a"}`)), want: "unknown-field", at: `"exists"`, hint: "did you mean files?"},
	{name: "skip", hank: hankOf(shellCodon("a", `"skip": {}`)), want: "unknown-field", at: `"skip"`, hint: "did you mean skipIf?"},
	{name: "a kind that is never retried", hank: hankOf(shellCodon("a", `"onFailure": "retry", "retryConfig": {"rules": [{"on": ["auth"]}]}`)), want: "bad-value", at: `"auth"`},
	{name: "a kind twice", hank: hankOf(shellCodon("a", `"onFailure": "retry", "retryConfig": {"rules": [{"on": ["rig"]}, {"on": ["exit", "rig"]}]}`)), want: "unused-rule", at: `"rig"]}]}`},
	{name: "a timeout after the budget", hank: hankOf(shellCodon("a", `"timeout": 7`, `"budget": {"maxTimeSeconds": 7}`)), want: "timeout-unused", at: "7, "},
	{name: "maxExtensions alone", hank: hankOf(shellCodon("a", `"maxExtensions": 3`)), want: "unused-extensions", at: "3}]}"},
	{name: "a pattern that is none", hank: hankOf(shellCodon("a", `"checkpointedFiles": ["a", "b[c"]`)), want: "bad-glob", at: `"b[c"]}`},
	{name: "an output pattern that is none", hank: hankOf(shellCodon("a", `"outputFiles": [{"copy": ["{a"]}]`)), want: "bad-glob", at: `"{a"]}`},
	{name: "an archive pattern that climbs", hank: hankOf(shellCodon("a", `"archiveOnSuccess": ["a/../../b"]`)), want: "bad-path", at: `"a/../../b"`},
	{name: "an absolute pattern of a loop", hank: hankOf(strings.Replace(loopOf("l", limit(2), shellCodon("a")), `"codons"`, `"archiveOnSuccess": ["/etc"], "codons"`, 1)), want: "bad-path", at: `"/etc"`},
	{name: "a dangerous rig", hank: hankOf(shellCodon("a", `"rigSetup": [{"type": "command", "command": {"run": "cd x && rm -rf ~/"}}]`)), want: "dangerous-command", at: `"cd x && rm -rf ~/"`},
	{name: "a dangerous script", hank: hankOf(`{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "cat x > /dev/sda"}`), want: "dangerous-command", at: `"cat x > /dev/sda"`},
	{name: "a script with the line ends of Windows", hank: hankOf(`{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptFile": "a.sh"}`), files: map[string]string{"a.sh": "set -eu\r\ntrue\r\n"}, want: "script-crlf", file: "a.sh"},
	{name: "a script with the line ends of Windows that is a system prompt, too", hank: hankOf(`{"id": "s", "name": "S", "model": "sonnet", "continuationMode": "fresh", "promptText": "x", "appendSystemPromptFile": "a.sh"}`, `{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptFile": "a.sh"}`), files: map[string]string{"a.sh": "set -eu\r\ntrue\r\n"}, want: "script-crlf", file: "a.sh"},
	{name: "a dangerous script that is repeated", hank: hankOf(shellCodon("a", `"exhaustWithPrompt": "cat x > /dev/sda"`)), want: "dangerous-command", at: `"cat x > /dev/sda"`},
	{name: "a target that climbs", hank: hankOf(shellCodon("a", copyOf("t", "../x"))), files: map[string]string{"t": "t"}, want: "bad-target", at: `"../x"`},
	{name: "a target that is the workspace", hank: hankOf(shellCodon("a", copyOf("t", "x/.."))), files: map[string]string{"t": "t"}, want: "bad-target", at: `"x/.."`},
	{name: "a target in .git", hank: hankOf(shellCodon("a", copyOf("t", "x/.GIT/hooks"))), files: map[string]string{"t": "t"}, want: "bad-target", at: `"x/.GIT/hooks"`},
	{name: "a target in the data", hank: hankOf(shellCodon("a", copyOf("t", "read_only_data_source/x"))), files: map[string]string{"t": "t"}, want: "bad-target", at: `"read_only_data_source/x"`},
	{name: "a target twice", hank: hankOf(shellCodon("a", `"rigSetup": [{"type": "copy", "copy": {"from": "t", "to": "x"}}, {"type": "copy", "copy": {"from": "t", "to": "./x"}}]`)), files: map[string]string{"t": "t"}, want: "target-twice", at: `"./x"}`},

	// order
	{name: "a rule without a limit", hank: hankOf(loopOf("l", `{"type": "plateau", "vote": "tree"}`, shellCodon("a"))), want: "missing-field", at: `{"type": "plateau"`},
	{name: "a limit of another name", hank: hankOf(loopOf("l", `{"type": "command", "maxIterations": 3, "limit": 3, "until": "true"}`, shellCodon("a"))), want: "unknown-field", at: `"maxIterations"`, hint: "did you mean limit?"},
	{name: "a vote of nobody", hank: hankOf(loopOf("l", `{"type": "plateau", "limit": 3, "vote": "trees"}`, shellCodon("a"))), want: "bad-value", at: `"trees"`},
	{name: "a rule that is none", hank: hankOf(loopOf("l", `{"type": "queue", "limit": 3}`, shellCodon("a"))), want: "bad-value", at: `"queue"`},
	{name: "a blank until", hank: hankOf(loopOf("l", `{"type": "command", "limit": 3, "until": " "}`, shellCodon("a"))), want: "bad-value", at: `" "`},
	{name: "a dangerous until", hank: hankOf(loopOf("l", `{"type": "command", "limit": 3, "until": "rm -rf /"}`, shellCodon("a"))), want: "dangerous-command", at: `"rm -rf /"`},
	{name: "a limit inside of any", hank: hankOf(loopOf("l", `{"type": "any", "limit": 3, "of": [{"type": "command", "limit": 2, "until": "true"}]}`, shellCodon("a"))), want: "unknown-field", at: `"limit": 2`},
	{name: "any of nothing", hank: hankOf(loopOf("l", `{"type": "any", "limit": 3, "of": []}`, shellCodon("a"))), want: "bad-value", at: `[]`},
	{name: "all of a full context", hank: hankOf(loopOf("l", `{"type": "all", "limit": 3, "of": [{"type": "contextExceeded"}]}`, shellCodon("a"))), want: "bad-value", at: `"contextExceeded"`},
	{name: "nothing tracked", hank: hankOf(loopOf("l", `{"type": "plateau", "limit": 3, "vote": "tree"}`, shellCodon("a", `"checkpointedFiles": []`))), want: "plateau-untracked", at: `"tree"`},
	{name: "tracked only behind the loop", hank: hankOf(loopOf("l", `{"type": "plateau", "limit": 3, "vote": "tree"}`, shellCodon("a", `"checkpointedFiles": ["!x"]`)), shellCodon("b")), want: "plateau-untracked", at: `"tree"`},
	{name: "a judge who is not there", hank: hankOf(shellCodon("j"), loopOf("l", `{"type": "plateau", "limit": 3, "vote": "judge", "judge": "j"}`, shellCodon("a"))), want: "judge-unknown", at: `"j"}`},
	{name: "a vote without a judge", hank: hankOf(loopOf("l", `{"type": "plateau", "limit": 3, "vote": "judge"}`, shellCodon("a"))), want: "missing-field", at: `{"type": "plateau"`},
	{name: "a judge of trees", hank: hankOf(loopOf("l", `{"type": "plateau", "limit": 3, "vote": "tree", "judge": "a"}`, shellCodon("a"))), want: "vote-field", at: `"a"}, "codons"`},
	{name: "lines of an agent", hank: hankOf(loopOf("l", `{"type": "plateau", "limit": 3, "vote": "agent", "minChangedLines": 3}`, shellCodon("a"))), want: "vote-field", at: `3}, "codons"`},
	{name: "a plateau with its defaults behind the limit", hank: hankOf(loopOf("l", `{"type": "plateau", "limit": 1, "vote": "tree"}`, shellCodon("a"))), want: "plateau-unreachable", at: `{"type": "plateau"`},
	{name: "a plateau behind the limit", hank: hankOf(loopOf("l", `{"type": "plateau", "limit": 2, "vote": "tree", "consensus": 3}`, shellCodon("a"))), want: "plateau-unreachable", at: `{"type": "plateau"`},
	{name: "ignored outside", hank: hankOf(loopOf("l", `{"type": "plateau", "limit": 3, "vote": "tree", "ignore": ["../x"]}`, shellCodon("a"))), want: "bad-path", at: `"../x"`},
	{name: "a voter who is not asked", hank: hankOf(loopOf("l", `{"type": "plateau", "limit": 3, "vote": "agent"}`, agentCodon("a", "fresh"))), want: "vote-unasked", at: `{"id": "a"`},
	{name: "a voter who remembers", hank: hankOf(agentCodon("z", "fresh"), loopOf("l", `{"type": "plateau", "limit": 3, "vote": "agent"}`, strings.Replace(agentCodon("a", "continue-previous"), "Do it.", "<%DECISION_FILE%>", 1))), want: "vote-remembered", at: `"continue-previous"`},
	{name: "a progress file outside of a loop", hank: hankOf(strings.Replace(agentCodon("a", "fresh"), "Do it.", "<%PROGRESS_FILE%>", 1)), want: "placeholder-place", at: `"<%PROGRESS_FILE%>"`},
	{name: "a decision that nobody wants", hank: hankOf(loopOf("l", limit(2), strings.Replace(agentCodon("a", "fresh"), "Do it.", "<%DECISION_FILE%>", 1))), want: "placeholder-place", at: `"<%DECISION_FILE%>"`},
	{name: "fresh in an endless loop", hank: hankOf(agentCodon("z", "fresh"), loopOf("l", untilFull, agentCodon("a", "fresh"))), want: "loop-fresh-codon", at: `"fresh"`, hint: `set "continue-previous"`},
	{name: "an endless loop of scripts", hank: hankOf(loopOf("l", untilFull, shellCodon("a"))), want: "loop-never-ends", at: `{"type"`},
	{name: "a rig in a loop", hank: hankOf(loopOf("l", limit(2), shellCodon("a", `"rigSetup": [{"type": "command", "command": {"run": "x"}}]`))), want: "loop-rig-failure", at: `{"type"`},
	{name: "abort in a loop", hank: hankOf(loopOf("l", limit(2), shellCodon("a", `"onFailure": "abort"`))), want: "loop-abort", at: `"abort"`},
	{name: "abort by default in a loop", hank: hankOf(loopOf("l", limit(2), shellCodon("a"))), want: "loop-abort", at: `{"type": "loop"`},
	{name: "nothing to continue", hank: hankOf(agentCodon("a", "continue-previous")), want: "continue-first", at: `"continue-previous"`, hint: `set "fresh"`},
	{name: "nothing to continue in a loop", hank: hankOf(loopOf("l", limit(2), agentCodon("a", "continue-previous"))), want: "continue-first", at: `"continue-previous"`, hint: `set "fresh"`},
	{name: "nothing to continue in an endless loop", hank: hankOf(loopOf("l", untilFull, agentCodon("a", "continue-previous"))), want: "continue-first", at: `"continue-previous"`, hint: `put a codon with "fresh" before the loop`},
	{name: "fresh in an endless loop that is first", hank: hankOf(loopOf("l", untilFull, agentCodon("a", "fresh"))), want: "loop-fresh-codon", at: `"fresh"`, hint: `put a codon with "fresh" before the loop and set "continue-previous"`},
	{name: "fresh in an endless loop after a script", hank: hankOf(shellCodon("z"), loopOf("l", untilFull, agentCodon("a", "fresh"))), want: "loop-fresh-codon", at: `"fresh"`, hint: `put a codon with "fresh" before the loop and set "continue-previous"`},
	{name: "continue a script in an endless loop", hank: hankOf(shellCodon("z"), loopOf("l", untilFull, agentCodon("a", "continue-previous"))), want: "continue-model", at: `"continue-previous"`, hint: `put a codon with "fresh" before the loop, or`},
	{name: "continue a full context", hank: hankOf(agentCodon("z", "fresh"), loopOf("l", untilFull, agentCodon("y", "continue-previous")), agentCodon("a", "continue-previous")), want: "continue-after-exhausted", at: `"continue-previous"`},
	{name: "continue an exhausted codon", hank: hankOf(agentCodon("z", "fresh", `"exhaustWithPrompt": "more"`), agentCodon("a", "continue-previous")), want: "continue-after-exhausted", at: `"continue-previous"`},
	{name: "continue a loop that ends exhausted", hank: hankOf(loopOf("l", limit(1), agentCodon("z", "fresh", `"exhaustWithPrompt": "more"`)), agentCodon("a", "continue-previous")), want: "continue-after-exhausted", at: `"continue-previous"`},
	{name: "continue with another model", hank: hankOf(strings.Replace(agentCodon("z", "fresh"), "sonnet", "opus", 1), agentCodon("a", "continue-previous")), want: "continue-model", at: `"continue-previous"`},
	{name: "continue inside a loop with another model", hank: hankOf(loopOf("l", limit(1), strings.Replace(agentCodon("z", "fresh"), "sonnet", "opus", 1), agentCodon("a", "continue-previous"))), want: "continue-model", at: `"continue-previous"`},
	{name: "continue a shell codon", hank: hankOf(shellCodon("z"), agentCodon("a", "continue-previous")), want: "continue-model", at: `"continue-previous"`},
	{name: "continue around a loop", hank: hankOf(agentCodon("y", "fresh"), loopOf("l", limit(2), agentCodon("a", "continue-previous"), strings.Replace(agentCodon("z", "fresh"), "sonnet", "opus", 1))), want: "continue-wrap", at: `"continue-previous"`},
	{name: "continue a shell codon around a loop", hank: hankOf(agentCodon("y", "fresh"), loopOf("l", limit(2), agentCodon("a", "continue-previous"), shellCodon("z"))), want: "continue-model", at: `"continue-previous"`},
	{name: "continue a shell codon around a loop that may be over", hank: hankOf(agentCodon("y", "fresh"), loopOf("l", untilFull, agentCodon("a", "continue-previous"), shellCodon("z"))), want: "continue-wrap", at: `"continue-previous"`},
	{name: "continue without files", hank: hankOf(agentCodon("z", "fresh", `"checkpointedFiles": []`), agentCodon("a", "continue-previous")), want: "continue-untracked", at: `"continue-previous"`},
	{name: "continue what may be skipped", hank: hankOf(agentCodon("z", "fresh", `"skipIf": {"files": ["z"]}`), agentCodon("a", "continue-previous")), want: "continue-after-skip", at: `"continue-previous"`},
	{name: "continue after fallback", hank: hankOf(agentCodon("z", "fresh", `"fallback": ["gpt-5"]`), agentCodon("a", "continue-previous")), want: "continue-after-fallback", at: `"continue-previous"`, hint: `set "fresh"`},
	{name: "a script that falls back", hank: hankOf(shellCodon("a", `"fallback": ["haiku"]`)), want: "fallback-shell", at: `"haiku"`},
	{name: "a script to fall back to", hank: hankOf(agentCodon("a", "fresh", `"fallback": ["shell"]`)), want: "fallback-shell", at: `"shell"`},
	{name: "a fallback twice", hank: hankOf(agentCodon("a", "fresh", `"fallback": ["haiku", {"model": "haiku", "harness": "claude"}]`)), want: "fallback-twice", at: `{"model": "haiku"`},
	{name: "a fallback to itself", hank: hankOf(agentCodon("a", "fresh", `"fallback": ["sonnet"]`)), want: "fallback-twice", at: `"sonnet"]`},
	{name: "an unknown fallback", hank: hankOf(agentCodon("a", "fresh", `"fallback": ["haikku"]`)), want: "unknown-model", at: `"haikku"`, hint: "haiku"},
	{name: "a fallback of an unknown agent", hank: hankOf(agentCodon("a", "fresh", `"fallback": [{"model": "haiku", "harness": "exec"}]`)), want: "bad-value", at: `"exec"`},
	{name: "a fallback of a program that is not named", hank: hankOf(agentCodon("a", "fresh", `"fallback": ["exec/mine"]`)), want: "exec-program", at: `"exec/mine"`},
	{name: "continue after ignore", hank: hankOf(agentCodon("z", "fresh", `"onFailure": "ignore"`), agentCodon("a", "continue-previous")), want: "continue-after-ignore", at: `"continue-previous"`, hint: `set "fresh"`},

	// budgets
	{name: "shares without allocation", hank: withBudget(`{"maxDollars": 1, "shares": {"a": 1}}`, agentCodon("a", "fresh")), want: "budget-shares", at: `{"a": 1}`},
	{name: "shares of strangers", hank: withBudget(`{"maxDollars": 1, "allocation": "proportional", "shares": {"a": 0.5, "x": 0.5}}`, agentCodon("a", "fresh")), want: "budget-shares", at: `0.5}}}`, hint: "are a"},
	{name: "shares over 1", hank: withBudget(`{"maxDollars": 1, "allocation": "proportional", "shares": {"a": 0.7, "b": 0.4}}`, agentCodon("a", "fresh"), agentCodon("b", "fresh")), want: "budget-shares", at: `{"a": 0.7, "`},
	{name: "proportional without dollars", hank: withBudget(`{"allocation": "proportional"}`, agentCodon("a", "fresh")), want: "budget-allocation", at: `{"allocation"`},
	{name: "a cap above the share", hank: withBudget(`{"maxDollars": 10, "allocation": "proportional", "shares": {"a": 0.5}}`, agentCodon("a", "fresh", `"budget": {"maxDollars": 6}`), agentCodon("b", "fresh")), want: "budget-cap", at: `6}}, {"`},
	{name: "money for nobody", hank: withBudget(`{"maxDollars": 10, "allocation": "proportional", "shares": {"a": 0.5}}`, agentCodon("a", "fresh")), want: "budget-unused", at: `{"a": 0.5}`},
	{name: "no money", hank: withBudget(`{"maxDollars": 10, "allocation": "proportional", "shares": {"a": 1}}`, agentCodon("a", "fresh"), agentCodon("b", "fresh")), want: "budget-zero", at: `{"id": "`},
	{name: "no money in a loop", hank: hankOf(strings.Replace(loopOf("l", limit(2), agentCodon("a", "fresh"), agentCodon("b", "fresh")), `"codons"`, `"budget": {"maxDollars": 10, "allocation": "proportional-strict", "shares": {"a": 1}}, "codons"`, 1)), want: "budget-zero", at: `{"id": "`},
	{name: "exhaust against the clock", hank: hankOf(agentCodon("a", "fresh", `"exhaustWithPrompt": "x"`, `"budget": {"maxTimeSeconds": 6}`)), want: "budget-exhaust", at: "6}}]}"},
	{name: "fail and retry", hank: hankOf(agentCodon("a", "fresh", `"onFailure": "retry"`, `"budget": {"maxDollars": 6, "onExceeded": "fail"}`)), want: "budget-fail-retry", at: `"retry"`},
	{name: "fail for others", hank: withBudget(`{"maxDollars": 10}`, agentCodon("a", "fresh"), agentCodon("b", "fresh", `"budget": {"onExceeded": "fail"}`)), want: "budget-fail-late", at: `"fail"`},
	{name: "longer than the loop", hank: hankOf(strings.Replace(loopOf("l", limit(2), agentCodon("a", "fresh", `"budget": {"maxTimeSeconds": 6}`)), `"codons"`, `"budget": {"maxTimeSeconds": 5}, "codons"`, 1)), want: "budget-time-loop", at: `6}}]}]}`},
	{name: "dollars for a program", hank: hankOf(codonOf("a", "fresh", "exec/mine", `, "exec": ["my-agent"], "budget": {"maxOutputTokens": 6}`)), want: "budget-late", at: `["my-agent"]`},
	{name: "dollars for a script", hank: hankOf(shellCodon("a", `"budget": {"maxDollars": 6}`)), want: "budget-shell-price", at: `{"maxDollars"`},

	// references
	{name: "no such prompt", hank: fromFile("prompts/wirte.md"), files: map[string]string{"prompts/write.md": "x"}, want: "missing-reference", at: `"prompts/wirte.md"`, hint: `did you mean "prompts/write.md"?`},
	{name: "a prompt below a file", hank: fromFile("a/b"), files: map[string]string{"a": "x"}, want: "missing-reference", at: `"a/b"}`},
	{name: "a prompt outside", hank: fromFile("../x"), want: "bad-reference", at: `"../x"`},
	{name: "a prompt outside and back", hank: fromFile("a/../../b/x"), want: "bad-reference", at: `"a/../../b/x"`},
	{name: "an absolute prompt", hank: fromFile("/etc/passwd"), want: "bad-reference", at: `"/etc/passwd"`},
	{name: "a Windows prompt", hank: fromFile(`C:\x`), want: "bad-reference", at: `"C:\\x`},
	{name: "a drive", hank: fromFile(`c:x`), want: "bad-reference", at: `"c:x"}`},
	{name: "a number in a list of files", hank: hankOf(`{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptFile": ["p", 2]}`), files: map[string]string{"p": "x"}, want: "wrong-type", at: `2]}]}`},
	{name: "a copy of nothing", hank: hankOf(shellCodon("a", `"rigSetup": [{"type": "copy", "copy": {"from": "", "to": "x"}}]`)), want: "bad-value", at: `"", "to"`},
	{name: "the second of a list", hank: hankOf(`{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptFile": ["p", "q"]}`), files: map[string]string{"p": "x"}, want: "missing-reference", at: `"q"]}]}`},
	{name: "a folder as prompt", hank: fromFile("d"), files: map[string]string{"d/x": "x"}, want: "irregular-reference", at: `"d"}]}`},
	{name: "a link as prompt", hank: fromFile("l"), files: map[string]string{"x": "x"}, more: link("l", "x"), want: "symlink-reference", at: `"l"}]}`},
	{name: "a prompt through a link", hank: fromFile("l/x"), files: map[string]string{"d/x": "x"}, more: link("l", "d"), want: "symlink-reference", at: `"l/x"}`},
	{name: "a FIFO as prompt", hank: fromFile("f"), more: special("f", fs.ModeNamedPipe), want: "irregular-reference", at: `"f"}]}`},
	{name: "the whole hank copied", hank: hankOf(shellCodon("a", copyOf("./x/..", "y"))), files: map[string]string{"x/y": ""}, want: "copy-root", at: `"./x/.."`},
	{name: "a copy of .git", hank: hankOf(shellCodon("a", copyOf("t", "y"))), files: map[string]string{"t/.git/HEAD": ""}, want: "copy-git", at: `"t", "`},
	{name: "a copy out of .git", hank: hankOf(shellCodon("a", copyOf(".git/hooks", "y"))), files: map[string]string{".git/hooks/x": ""}, want: "copy-git", at: `".git/hooks"`},
	{name: "a copy with rules", hank: hankOf(shellCodon("a", copyOf("t", "y"))), files: map[string]string{"t/d/.gitignore": ""}, want: "copy-gitignore", at: `"t", "`},
	{name: "a copy with a link", hank: hankOf(shellCodon("a", copyOf("t", "y"))), files: map[string]string{"t/x": ""}, more: link("t/l", "x"), want: "copy-irregular", at: `"t", "`},
	{name: "a copy with a socket", hank: hankOf(shellCodon("a", copyOf("t", "y"))), files: map[string]string{"t/x": ""}, more: special("t/s", fs.ModeSocket), want: "copy-irregular", at: `"t", "`},
	{name: "a copy with ignored files", hank: hankOf(shellCodon("a", copyOf("t", "y"))), files: map[string]string{"t/x": "", "t/x.log": ""}, want: "copy-ignored", at: `"t", "`},
	{name: "a copy with files ignored by the hank", hank: hankOf(shellCodon("a", copyOf("t", "y"))), files: map[string]string{"t/x.log": "", "t/gen/x": "", ".gitignore": "# gen\ngen/\n"}, want: "copy-ignored", at: `"t", "`},
	{name: "a sentinel that is not there", hank: hankOf(shellCodon("a", `"sentinels": [{"sentinelConfig": "s.json"}]`)), want: "missing-reference", at: `"s.json"`},
	{name: "a mistyped prompt of a sentinel file", hank: hankOf(shellCodon("a", `"sentinels": [{"sentinelConfig": "s/s.json"}]`)), files: map[string]string{"s/s.json": "{" + sentinelHead + onError + `, "userPromptFile": "promt.md"}`, "s/prompt.md": "x"}, want: "missing-reference", file: "s/s.json", hint: `did you mean "prompt.md"?`},
	{name: "a limit in a codon", hank: hankOf(shellCodon("a", `"maxTimeSeconds": 5`)), want: "unknown-field", at: `"maxTimeSeconds"`, hint: "did you mean budget.maxTimeSeconds?"},
	{name: "the end by a budget in a codon", hank: hankOf(shellCodon("a", `"onExceeded": "fail"`)), want: "unknown-field", at: `"onExceeded"`, hint: "did you mean budget.onExceeded?"},
	{name: "a sentinel file with an unknown field", hank: hankOf(shellCodon("a", `"sentinels": [{"sentinelConfig": "s/s.json"}]`)), files: map[string]string{"s/s.json": "{" + sentinelHead + onError + `, "x": 1}`}, want: "unknown-field", file: "s/s.json"},
	{name: "a prompt of a sentinel file", hank: hankOf(shellCodon("a", `"sentinels": [{"sentinelConfig": "s/s.json"}]`)), files: map[string]string{"s/s.json": "{" + sentinelHead + onError + `, "systemPromptFile": "../../p.md"}`}, want: "bad-reference", file: "s/s.json"},
	{name: "a sentinel twice", hank: hankOf(shellCodon("a", `"sentinels": [{"sentinelConfig": {`+sentinelHead+onError+`}}, {"sentinelConfig": {`+sentinelHead+onError+`}}]`)), want: "sentinel-duplicate", at: `{"id": "`},
	{name: "a sentinel without prompt", hank: withSentinel(strings.Replace(sentinelHead+onError, `"userPromptText": "x", `, "", 1)), want: "sentinel-prompt", at: `{"id": "`},
	{name: "a conversation without system prompt", hank: withSentinel(sentinelHead + onError + `, "conversational": {"trimmingStrategy": {"type": "maxTurns", "maxTurns": 3}}`), want: "sentinel-prompt", at: `{"trimmingStrategy"`},
	{name: "an enum without values", hank: withSentinel(sentinelHead + onError + `, "structuredOutput": {"output": "enum"}`), want: "sentinel-output", at: `{"output"`},
	{name: "a text between data", hank: withSentinel(sentinelHead + onError + `, "structuredOutput": {"output": "enum", "enumValues": ["a"]}, "joinString": "--"`), want: "sentinel-output", at: `"--"`, hint: "remove it"},
	{name: "an event of sentinels", hank: withSentinel(sentinelHead + `"trigger": {"type": "event", "on": ["tool.result", "sentinel.output"]}`), want: "sentinel-unseen", at: `"sentinel.output"`},
	{name: "a field that is not", hank: withSentinel(sentinelHead + `"trigger": {"type": "event", "on": ["tool.result"], "conditions": [{"operator": "equals", "path": "isErorr", "value": true}]}`), want: "sentinel-path", at: `"isErorr"`, hint: `did you mean "isError"?`},
	{name: "a part that is not", hank: withSentinel(sentinelHead + `"trigger": {"type": "event", "on": ["codon.completed"], "conditions": [{"operator": "equals", "path": "exitStatus.kind", "value": "error"}]}`), want: "sentinel-path", at: `"exitStatus.kind"`},
	{name: "a field of a step that is not", hank: withSentinel(sentinelHead + `"trigger": {"type": "sequence", "interestFilter": {"on": ["*"]}, "pattern": [{"type": "*", "conditions": [{"operator": "equals", "path": "any", "value": 1}]}, {"type": "tool.result", "conditions": [{"operator": "equals", "path": "content", "value": "x"}]}]}`), want: "sentinel-path", at: `"content"`},
	{name: "a field of some", hank: withSentinel(sentinelHead + `"trigger": {"type": "event", "on": ["tool.result", "error"], "conditions": [{"operator": "equals", "path": "message", "value": "x"}]}`), want: "sentinel-partly", at: `"message"`},
	{name: "an event that is not", hank: withSentinel(sentinelHead + `"trigger": {"type": "event", "on": ["tool.results"]}`), want: "sentinel-event", at: `"tool.results"`, hint: "tool.result"},
	{name: "an expression that is none", hank: withSentinel(sentinelHead + `"trigger": {"type": "sequence", "interestFilter": {"on": ["*"]}, "pattern": [{"type": "error", "conditions": [{"operator": "matches", "path": "message", "value": "("}]}]}`), want: "sentinel-regexp", at: `"("}]}`},
	{name: "a step that the filter of its sequence leaves out", hank: withSentinel(sentinelHead + `"trigger": {"type": "sequence", "interestFilter": {"on": ["tool.result", "error"]}, "pattern": [{"type": "tool.result"}, {"type": "info"}]}`), want: "sentinel-unseen", at: `"info"`, hint: "interestFilter"},
	{name: "an event between codons", hank: withSentinel(sentinelHead + `"trigger": {"type": "event", "on": ["archive.completed"]}`), want: "sentinel-unseen", at: `"archive.completed"`},
	{name: "a schema that is code", hank: withSentinel(sentinelHead + onError + `, "structuredOutput": {"output": "object", "schemaStr": "z.object({a: z.string()})"}`), want: "sentinel-schema", at: `"z.object(`, hint: "z.toJSONSchema"},
	{name: "a schema with a type that there is none of", hank: withSentinel(sentinelHead + onError + `, "structuredOutput": {"output": "object", "schemaStr": "{\"properties\": {\"type\": {\"type\": \"string\"}, \"a\": {\"items\": {\"type\": [\"null\", \"strng\"]}, \"default\": {\"type\": \"mine\"}}}}"}`), want: "sentinel-schema", at: `"{\"properties`, hint: `did you mean "string"?`},
	{name: "a schema with a type without a name", hank: withSentinel(sentinelHead + onError + `, "structuredOutput": {"output": "object", "schemaStr": "{\"type\": [\"string\", \"\"]}"}`), want: "sentinel-schema", at: `"{\"type`},
	{name: "a schema that is no schema", hank: withSentinel(sentinelHead + onError + `, "structuredOutput": {"output": "object", "schemaStr": "{\"type\": 7}"}`), want: "sentinel-schema", at: `"{\"type\": 7}"`},
	{name: "a schema with an empty enum", hank: withSentinel(sentinelHead + onError + `, "structuredOutput": {"output": "object", "schemaStr": "{\"properties\": {\"a\": {\"enum\": []}}}"}`), want: "sentinel-schema", at: `"{\"properties`},
	{name: "a schema file with a wrong part", hank: withSentinel(sentinelHead + onError + `, "structuredOutput": {"output": "array", "schemaFile": "s.json"}`), files: map[string]string{"s.json": "{\n  \"items\": {\"type\": \"strng\"}\n}"}, want: "sentinel-schema", file: "s.json", at: `"strng"`},
	{name: "a schema file that is code", hank: withSentinel(sentinelHead + onError + `, "structuredOutput": {"output": "array", "schemaFile": "s.ts"}`), files: map[string]string{"s.ts": "import { z } from 'zod'\nexport default z.string()"}, want: "sentinel-schema", file: "s.ts"},
	{name: "a template with code", hank: withSentinel(strings.Replace(sentinelHead, `"x"`, `"<% for (const e of it.events) { %>"`, 1) + onError), want: "sentinel-template", at: `"<% for`, hint: "{{range .events}}"},
	{name: "a template file with code", hank: withSentinel(strings.Replace(sentinelHead, `"userPromptText": "x"`, `"userPromptFile": "u.md"`, 1) + onError), files: map[string]string{"u.md": "one\n<% it.x() %>"}, want: "sentinel-template", file: "u.md"},
	{name: "a template of ours that is wrong", hank: withSentinel(strings.Replace(sentinelHead, `"x"`, `"{{printf \"%9d\" 1}}"`, 1) + onError), want: "sentinel-template", at: `"{{printf`},
	{name: "an output outside", hank: withSentinel(sentinelHead + onError + `, "output": {"file": "../x.md"}`), want: "sentinel-output", at: `"../x.md"`},
	{name: "an output of git", hank: withSentinel(sentinelHead + onError + `, "output": {"file": ".git/hooks/pre-commit"}`), want: "sentinel-output", at: `".git/hooks`},
	{name: "a log of data with another name", hank: withSentinel(sentinelHead + onError + `, "structuredOutput": {"output": "enum", "enumValues": ["a"]}, "output": {"file": "x.md"}`), want: "sentinel-output", at: `"x.md"`, hint: ".jsonl"},
	{name: "a power without words", hank: strings.Replace(withSentinel(sentinelHead+onError), `{"sentinelConfig"`, `{"settings": {"mayStop": true}, "sentinelConfig"`, 1), want: "sentinel-power", at: `true}, "sentinelConfig"`},
	{name: "a sentinel that is a script", hank: withSentinel(strings.Replace(sentinelHead, "anthropic/claude-haiku-4-5", "shell", 1) + onError), want: "sentinel-model", at: `"shell", "user`},
	{name: "a parameter that is not", hank: withSentinel(sentinelHead + onError + `, "llmParams": {"temprature": 0}`), want: "sentinel-parameter", at: `0}}`, hint: "temperature"},
	{name: "a loop that asks no sentinel of its own", hank: hankOf(`{"type": "loop", "id": "l", "name": "L", "terminateOn": {"type": "plateau", "vote": "sentinel", "sentinel": "spy", "limit": 9}, "codons": [` + shellCodon("a", `"onFailure": "ignore"`) + `]}`), want: "judge-unknown", at: `{"type": "plateau"`},
	{name: "checks before no copy", hank: hankOf(shellCodon("a", `"outputFiles": [{"copy": ["x"], "beforeCopy": [{"type": "command", "command": {"run": "true"}}]}]`)), want: "before-copy-idle", at: `[{"type": "command"`, hint: "checkOutputs"},
	{name: "a parameter of another type", hank: withSentinel(sentinelHead + onError + `, "llmParams": {"temperature": "hot"}`), want: "wrong-type", at: `"hot"`},
	{name: "a sentinel of no model", hank: withSentinel(strings.Replace(sentinelHead+onError, "anthropic/claude-haiku-4-5", "nobody", 1)), want: "unknown-model", at: `"nobody"`},

	// models
	{name: "a model that is not", hank: hankOf(strings.Replace(agentCodon("a", "fresh"), "sonnet", "sonett", 1)), want: "unknown-model", at: `"sonett"`, hint: "claude-sonnet"},
	{name: "a model that is several", hank: hankOf(strings.Replace(agentCodon("a", "fresh"), "sonnet", "gemini", 1)), want: "ambiguous-model", at: `"gemini"`, hint: "google/gemini"},
	{name: "a model without harness", hank: hankOf(strings.Replace(agentCodon("a", "fresh"), "sonnet", "codex/xai/grok-4.3", 1)), want: "no-harness", at: `"codex/xai/grok-4.3"`},
	{name: "a model that only its agent knows", hank: hankOf(strings.Replace(agentCodon("a", "fresh"), "sonnet", "claude/next", 1)), want: "unlisted-model", at: `"claude/next"`, hint: "prices"},
	{name: "a model that only an agent could know, of nobody", hank: hankOf(strings.Replace(agentCodon("a", "fresh"), "sonnet", "pi/next", 1)), want: "unknown-model", at: `"pi/next"`, hint: "pi/PROVIDER/MODEL"},
	{name: "a model of another agent", hank: hankOf(strings.Replace(agentCodon("a", "fresh"), "sonnet", "gemini/groq/llama-3.3-70b-versatile", 1)), want: "no-harness", at: `"gemini/groq/llama-3.3-70b-versatile"`},
	{name: "no program for exec", hank: hankOf(strings.Replace(agentCodon("a", "fresh"), "sonnet", "exec/mine", 1)), want: "exec-program", at: `"exec/mine"`, hint: `"exec": ["PROGRAM"]`},
	{name: "a program by a relative path", hank: hankOf(strings.Replace(agentCodon("a", "fresh"), `"sonnet"`, `"exec/mine", "exec": ["./mine"]`, 1)), want: "exec-program", at: `"./mine"`, hint: "whole path"},
	{name: "a program for another agent", hank: hankOf(strings.Replace(agentCodon("a", "fresh"), `"sonnet"`, `"sonnet", "exec": ["mine"]`, 1)), want: "exec-unused", at: `["mine"]`, hint: "remove exec"},
	{name: "scripts for all", hank: `{"overrides": {"model": "shell"}, "hank": [` + agentCodon("a", "fresh") + `]}`, want: "shell-override", at: `"shell"`},
	{name: "an unknown override", hank: `{"overrides": {"model": "x"}, "hank": [` + agentCodon("a", "fresh") + `]}`, want: "unknown-model", at: `"x"}, "`},
}

// long is one byte longer than an argument may be.
var long = strings.Repeat("x", 32*4096)

func fromFile(name string) string {
	return hankOf(fmt.Sprintf(`{"id": "a", "name": "A", "model": %q, "continuationMode": "fresh", "promptFile": %q}`, "haiku", name))
}

func link(name, target string) func(fstest.MapFS) {
	return func(dir fstest.MapFS) { dir[name] = &fstest.MapFile{Mode: fs.ModeSymlink, Data: []byte(target)} }
}

func special(name string, mode fs.FileMode) func(fstest.MapFS) {
	return func(dir fstest.MapFS) { dir[name] = &fstest.MapFile{Mode: mode} }
}

func TestEachMistakeIsReportedOnceAtItsPlace(t *testing.T) {
	t.Parallel()
	for _, b := range brokenHanks {
		t.Run(b.name, func(t *testing.T) {
			files := map[string]string{"hank.json": b.hank}
			for name, text := range b.files {
				files[name] = text
			}
			dir := folder(files)
			if b.more != nil {
				b.more(dir)
			}
			p, ds := Load(dir, "hank.json")
			if b.want != "loop-abort" { // most loops here leave it to the default
				ds = slices.DeleteFunc(ds, func(d diagnostic.Diagnostic) bool { return d.Rule == "loop-abort" })
			}
			if len(ds) != 1 {
				t.Fatalf("want one diagnostic, %s, got:\n%s", b.want, diagnostic.Text(ds))
			}
			d := ds[0]
			if d.Rule != b.want || !strings.Contains(d.Hint, b.hint) {
				t.Errorf("want %s (hint %q), got:\n%s", b.want, b.hint, d)
			}
			if b.file != "" && d.File != b.file {
				t.Errorf("want it in %s, got:\n%s", b.file, d)
			}
			if b.file != "" && b.at == "" {
				return
			}
			file := cmp.Or(b.file, "hank.json")
			before := files[file]
			if b.at != "$" {
				before = before[:strings.LastIndex(before, b.at)]
			}
			line := strings.Count(before, "\n") + 1
			column := utf8.RuneCountInString(before[strings.LastIndex(before, "\n")+1:]) + 1
			if d.File != file || d.Line != line || d.Column != column {
				t.Errorf("want line %d column %d, got:\n%s", line, column, d)
			}
			if (p == nil) != (d.Severity == diagnostic.Error) {
				t.Errorf("a %s must decide whether there is a program", d.Severity)
			}
			if d.Message == "" {
				t.Error("the message is empty")
			}
			if step := d.Pointer[strings.LastIndex(d.Pointer, "/")+1:]; strings.Trim(step, "0123456789") != "" && !strings.Contains(d.Message, step) {
				t.Errorf("the message does not name %s: %s", step, d)
			}
		})
	}
}

// Limits have all of their digits, and what is not a codon is none without a name.
func TestMessagesOfLargeLimitsAndOfNestedLoops(t *testing.T) {
	t.Parallel()
	for hank, want := range map[string]string{
		hankOf(shellCodon("a", `"timeout": 1e12`)):                                             "timeout: must be at most 2592000, not 1e12",
		hankOf(loopOf("l", limit(3000000000), shellCodon("a", `"onFailure": "ignore"`))):       "limit: must be at most 2147483647, not 3000000000",
		hankOf(loopOf("l", limit(2), loopOf("m", limit(2), shellCodon("a")), shellCodon("b"))): `onFailure is not set in "b"`,
		hankOf(shellCodon("a", `"onFailure": "retry", "retryConfig": {"jitter": -0.5}`)):       "must be at least 0, not -0.5",
	} {
		_, ds := Load(folder(map[string]string{"hank.json": hank}), "hank.json")
		if got := diagnostic.Text(ds); !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// The rules that need a real disk, a registry without prices or the
// environment have tests of their own.
var testedElsewhere = []string{"sentinel-not-loaded", "sentinel-required", "environment-long", "output-place", "place-closed", "place-taken", "missing-variable", "missing-program", "missing-agent", "fallback-agent", "fallback-begins", "sandbox-missing", "sandbox-place", "target-exists", "target-blocked", "script-syntax", "command-syntax", "missing-file", "unreadable-reference", "copy-large", "budget-no-price", "price-required", "unknown-variable", "foreign-id"}

// aKey is put together, so that no scanner takes it for a leak.
var aKey = "sk-" + "ant-api03-abCD12efGH34ijKL56mnOP78"

// Paths that lead somewhere, and to what may be there.
func TestConditionsOnFieldsThatAreThere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ on, path string }{
		{"*", "whatever"}, {"file.updated", "content"}, {"tool.result", "result"}, {"assistant.action", "toolInput.file_path"}, {"token.usage", "modelUsage.m.costUSD"},
		{"codon.completed", "exitStatus.type"}, {"filetree.updated", "tree.0.path"}, {"filetree.updated", "tree.length"}, {"state.transition", "transition.data.codonId"}, {"archive.completed", "archivedPaths.0"},
	} {
		hank := withSentinel(sentinelHead + fmt.Sprintf(`"trigger": {"type": "event", "on": [%q], "conditions": [{"operator": "equals", "path": %q, "value": "x"}]}`, c.on, c.path))
		if _, ds := Load(folder(map[string]string{"hank.json": hank}), "hank.json"); len(slices.DeleteFunc(rulesOf(ds), func(r string) bool { return r == "sentinel-unseen" })) > 0 {
			t.Errorf("%s of %s:\n%s", c.path, c.on, diagnostic.Text(ds))
		}
	}
	for _, path := range []string{"tree.x", "tree.0.size", "tree.length.x", "trees"} {
		hank := withSentinel(sentinelHead + fmt.Sprintf(`"trigger": {"type": "event", "on": ["filetree.updated"], "conditions": [{"operator": "equals", "path": %q, "value": "x"}]}`, path))
		if _, ds := Load(folder(map[string]string{"hank.json": hank}), "hank.json"); !slices.Equal(rulesOf(ds), []string{"sentinel-unseen", "sentinel-path"}) {
			t.Errorf("%s:\n%s", path, diagnostic.Text(ds))
		}
	}
}

// Whatever may make the directory of a copy is believed to do it.
func TestADirectoryOfACopyThatMayBeThere(t *testing.T) {
	t.Parallel()
	const (
		command  = `{"type": "command", "command": {"run": "mkdir -p a"}}`
		deep     = `{"type": "copy", "copy": {"from": "t", "to": "a/x"}}`
		file     = `"rigSetup": [{"type": "copy", "copy": {"from": "t/x", "to": "a"}}]`
		mayFail  = `{"type": "copy", "copy": {"from": "t", "to": "a/x"}, "allowFailure": true}`
		mayExist = `{"type": "copy", "copy": {"from": "t", "to": "a"}, "allowFailure": true}`
	)
	for _, hank := range []string{
		hankOf(shellCodon("a", `"rigSetup": [`+command+`, `+deep+`]`)), hankOf(shellCodon("a", `"rigSetup": [`+mayFail+`]`)),
		hankOf(shellCodon("a", `"rigSetup": [`+mayExist+`, `+deep+`]`)), hankOf(shellCodon("z"), shellCodon("a", `"rigSetup": [`+deep+`]`)),
		hankOf(shellCodon("z", file), shellCodon("a", `"rigSetup": [`+command+`, `+deep+`]`)), hankOf(shellCodon("z", file, `"archiveOnSuccess": ["a"]`), shellCodon("a", `"rigSetup": [`+deep+`]`)),
		hankOf(shellCodon("z", file, `"skipIf": {"files": ["a"]}`), shellCodon("a", `"rigSetup": [`+deep+`]`)), hankOf(shellCodon("z", file), shellCodon("y", copyOf("t", "a")), shellCodon("a", `"rigSetup": [`+deep+`]`)),
	} {
		if _, ds := Load(folder(map[string]string{"hank.json": hank, "t/x": ""}), "hank.json"); len(ds) > 0 {
			t.Errorf("%s:\n%s", hank, diagnostic.Text(ds))
		}
	}
}

// What the rigs of an iteration have copied is there in the next one.
func TestACopyIntoAFileOfTheIterationBefore(t *testing.T) {
	t.Parallel()
	rounds := func(n int) string {
		return hankOf(loopOf("l", limit(n), shellCodon("b", `"onFailure": "abort"`, `"rigSetup": [{"type": "command", "command": {"run": "true"}, "allowFailure": true}]`), shellCodon("c", `"onFailure": "abort"`, copyOf("u", "x/z")), shellCodon("d", `"onFailure": "abort"`, copyOf("u", "x"))))
	}
	for n, want := range map[int]int{1: 0, 2: 1} {
		_, ds := Load(folder(map[string]string{"hank.json": rounds(n), "u": "u"}), "hank.json")
		got := slices.DeleteFunc(ds, func(d diagnostic.Diagnostic) bool { return d.Rule != "target-file" })
		if len(got) != want || want > 0 && got[0].Pointer != "/hank/0/codons/1/rigSetup/0/copy/to" {
			t.Errorf("%d iterations:\n%s", n, diagnostic.Text(got))
		}
	}
}

// An operation of a type that is not allowed has nothing else that is wrong; one whose type is
// mistyped may have.
func TestAnOperationOfAnotherTypeIsOneMistake(t *testing.T) {
	t.Parallel()
	for operation, want := range map[string][]string{
		`{"type": "copy", "copy": {"from": "t", "to": 1}}`:     {"before-copy-idle", "bad-value"},
		`{"type": "comand", "command": {"run": "x", "to": 1}}`: {"before-copy-idle", "bad-value", "ignored-field"},
	} {
		_, ds := Load(folder(map[string]string{"hank.json": hankOf(shellCodon("a", `"outputFiles": [{"copy": ["x"], "beforeCopy": [`+operation+`]}]`))}), "hank.json")
		if got := rulesOf(ds); !slices.Equal(got, want) {
			t.Errorf("%s:\n%s", operation, diagnostic.Text(ds))
		}
	}
}

func TestEachRuleHasATest(t *testing.T) {
	t.Parallel()
	seen := slices.Clone(testedElsewhere)
	for _, b := range brokenHanks {
		seen = append(seen, b.want)
	}
	for _, r := range diagnostic.Rules() {
		if !slices.Contains(seen, r.ID) {
			t.Errorf("no test produces %s", r.ID)
		}
	}
}

func TestAllMistakesOfAFileAreReportedTogether(t *testing.T) {
	t.Parallel()
	hank := `{
  // comment
  "promptText": "x",
  "overrides": {"budget": {"allocation": "proportional"}},
  "hank": [
    {"id": "a b", "name": "", "model": "sonett", "continuationMode": "fresh", "promptFile": "../x", "budget": 3},
    "nonsense",
    {"type": "loop", "id": "l", "name": "L", "terminateOn": {"type": "never"}, "codons": [
      {"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "x", "onFailure": "abort", "archiveOnSuccess": ["../x"]},
    ]}
  ]
}`
	p, ds := Load(folder(map[string]string{"hank.json": hank}), "hank.json")
	want := []string{
		"comment 2", "unknown-field 3", "budget-allocation 4", "bad-id 6", "bad-value 6", "unknown-model 6", "bad-reference 6", "wrong-type 6",
		"wrong-type 7", "bad-value 8", "loop-abort 9", "bad-path 9", "trailing-comma 9",
	}
	var got []string
	for _, d := range ds {
		got = append(got, fmt.Sprintf("%s %d", d.Rule, d.Line))
	}
	if p != nil || !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v\n%s", got, want, diagnostic.Text(ds))
	}
}

// A script may report what it uses and that its context is full: then loops
// and budgets work as with an agent.
func TestScriptsThatReportAreNoWarning(t *testing.T) {
	t.Parallel()
	script := func(text string, more ...string) string {
		return strings.Replace(shellCodon("a", more...), `"true"`, text, 1)
	}
	paid := `"budget": {"maxDollars": 6}`
	for name, c := range map[string]struct {
		hank  string
		files map[string]string
		rule  string
		want  bool
	}{
		"silent":                    {hankOf(loopOf("l", untilFull, script(`"true"`))), nil, "loop-never-ends", true},
		"reports a full context":    {hankOf(loopOf("l", untilFull, script(`"echo ::hank context-exceeded"`))), nil, "loop-never-ends", false},
		"reports it when repeated":  {hankOf(loopOf("l", untilFull, script(`"true"`, `"exhaustWithPrompt": "echo ::hank context-exceeded"`))), nil, "loop-never-ends", false},
		"reports something else":    {hankOf(loopOf("l", untilFull, script(`"echo ::hank retry-after 3"`))), nil, "loop-never-ends", true},
		"a loop with a budget":      {hankOf(strings.Replace(loopOf("l", untilFull, script(`"true"`)), `"codons"`, `"budget": {"maxTimeSeconds": 5}, "codons"`, 1)), nil, "loop-never-ends", false},
		"dollars, silent":           {hankOf(script(`"true"`, paid)), nil, "budget-shell-price", true},
		"dollars, watched":          {hankOf(script(`"true"`, paid, `"sentinels": [{"sentinelConfig": {`+sentinelHead+onError+`}}]`)), nil, "budget-shell-price", false},
		"tokens, watched":           {hankOf(script(`"true"`, `"budget": {"maxOutputTokens": 6}`, `"sentinels": [{"sentinelConfig": {`+sentinelHead+onError+`}}]`)), nil, "budget-shell-price", true},
		"dollars, reported":         {hankOf(script(`"echo '::hank usage {}'"`, paid)), nil, "budget-shell-price", false},
		"dollars, what a file does": {hankOf(strings.Replace(script(`"true"`, paid), `"promptText": "true"`, `"promptFile": "x.sh"`, 1)), map[string]string{"x.sh": "./agent"}, "budget-shell-price", false},
	} {
		files := map[string]string{"hank.json": c.hank}
		maps.Copy(files, c.files)
		_, ds := Load(folder(files), "hank.json")
		got := slices.ContainsFunc(ds, func(d diagnostic.Diagnostic) bool { return d.Rule == c.rule })
		if got != c.want {
			t.Errorf("%s: warned %v, want %v: %v", name, got, c.want, ds)
		}
	}
}
