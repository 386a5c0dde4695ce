package docs

import "strings"

const (
	sentinelHead = `"sentinels": [{"sentinelConfig": {"id": "s", "name": "S", "model": "anthropic/claude-haiku-4-5", "execution": {"strategy": "immediate"}, `
	onErrors     = `"trigger": {"type": "event", "on": ["error"]}`
)

// observer is a codon with a sentinel.
func observer(fields string) string { return sentinelHead + fields + `}}]` }

func elsewhere(words, test string) ruleExample { return ruleExample{words: words, test: test} }

func loopOf(end string, codons string) string {
	return `{"hank": [{"type": "loop", "id": "l", …, "terminateOn": ` + end + `, "codons": [` + codons + `]}]}`
}

func after(codon, then string) string { return `{"hank": [` + codon + `, ` + then + `]}` }

const (
	twice     = `{"type": "iterationLimit", "limit": 2}`
	untilFull = `{"type": "contextExceeded"}`
	more      = `"continuationMode": "continue-previous"`
)

var ruleExamples = map[string]ruleExample{
	"missing-file":    elsewhere("`hank validate DIR` where DIR has no hank.json.", "script/validate"),
	"syntax":          {wrong: `{"hank": [}`, right: `{"hank": [{"id": "a", …}]}`},
	"byte-order-mark": {wrong: "\ufeff" + `{"hank": [{"id": "a", …}]}`, right: `{"hank": [{"id": "a", …}]}`},
	"comment":         {wrong: "{\"hank\": [{\"id\": \"a\", …}]} // a hank", right: `{"hank": [{"id": "a", …, "description": "a hank"}]}`},
	"trailing-comma":  {wrong: `{"hank": [{"id": "a", …},]}`, right: `{"hank": [{"id": "a", …}]}`},
	"trailing-data":   {wrong: `{"hank": [{"id": "a", …}]} more`, right: `{"hank": [{"id": "a", …}]}`},
	"duplicate-field": {wrong: `"env": {}, "env": {}`, right: `"env": {}`},

	"unknown-field": {wrong: `"trackedFiles": ["src"]`, right: `"checkpointedFiles": ["src"]`},
	"ignored-field": {wrong: `"rigSetup": [{"type": "command", "command": {"run": "make", "cwd": "x"}}]`, right: `"rigSetup": [{"type": "command", "command": {"run": "cd x && make"}}]`},
	"missing-field": {wrong: `"gate": {"id": "g", "when": "after", "kind": "approve"}`, right: `"gate": {"id": "g", "when": "after", "kind": "approve", "summary": "Is it good?"}`},
	"wrong-type":    {wrong: `"shimIdleTimeout": "30"`, right: `"shimIdleTimeout": 30`},
	"bad-value":     {wrong: `"onFailure": "retyr"`, right: `"onFailure": "retry"`},
	"no-effect":     {settings: true, wrong: `{"autostart": true}`, right: `{}`},

	"bad-id":              {wrong: `{"hank": [{"id": "a/b", …}]}`, right: `{"hank": [{"id": "a-b", …}]}`},
	"foreign-id":          elsewhere("An execution that Hankweave began has a codon whose id is `a/b`.", "plan.TestIDsOfHankweave"),
	"duplicate-id":        {wrong: `{"hank": [{"id": "a", …}, {"id": "a", …}]}`, right: `{"hank": [{"id": "a", …}, {"id": "b", …}]}`},
	"similar-id":          {wrong: `{"hank": [{"id": "a", …}, {"id": "A", …}]}`, right: `{"hank": [{"id": "a", …}, {"id": "b", …}]}`},
	"duplicate-name":      {wrong: `{"hank": [{"id": "a", "name": "Write", …}, {"id": "b", "name": "Write", …}]}`, right: `{"hank": [{"id": "a", "name": "Write", …}, {"id": "b", "name": "Review", …}]}`},
	"exclusive-fields":    {files: map[string]string{"p.md": "Be brief.\n"}, wrong: `"appendSystemPromptText": "Be brief.", "appendSystemPromptFile": "p.md"`, right: `"appendSystemPromptFile": "p.md"`},
	"prompt-missing":      {wrong: `"promptText": ""`, right: `"promptText": "Write."`},
	"prompt-twice":        {files: map[string]string{"p.md": "Write.\n"}, wrong: `"promptText": "Write.", "promptFile": "p.md"`, right: `"promptFile": "p.md"`},
	"prompt-empty":        {wrong: `"model": "shell", "promptText": " "`, right: `"model": "shell", "promptText": "true"`},
	"no-prompt":           {wrong: `"promptText": "<!-- TODO -->"`, right: `"promptText": "Write. <!-- TODO -->"`},
	"too-long":            elsewhere("A command of a rig with 140 kB of text in it. Put the text into a file.", "plan.TestEachMistakeIsReportedOnceAtItsPlace"),
	"prompt-large":        elsewhere("A prompt file of 2 MB.", "plan.TestEachMistakeIsReportedOnceAtItsPlace"),
	"prompt-encoding":     elsewhere("A prompt file in Latin-1.", "plan.TestEachMistakeIsReportedOnceAtItsPlace"),
	"unknown-placeholder": {wrong: `"promptText": "Read <%DATADIR%>."`, right: `"promptText": "Read <%DATA_DIR%>."`},
	"placeholder-place":   {wrong: `"promptText": "Note it in <%PROGRESS_FILE%>."`, right: loopOf(twice, `{"id": "a", …, "promptText": "Note it in <%PROGRESS_FILE%>."}`)},
	"placeholder-literal": {wrong: `"rigSetup": [{"type": "command", "command": {"run": "ls <%DATA_DIR%>"}}]`, right: `"rigSetup": [{"type": "command", "command": {"run": "ls \"$HANK_DATA\""}}]`},
	"frontmatter":         {files: map[string]string{"p.md": "---\nname: x\n\x00---\nname: x\n---\nWrite.\n"}, wrong: `"promptFile": "p.md"`, right: `"promptFile": "p.md"`},
	"duplicate-gate":      {wrong: `{"hank": [{"id": "a", …, "gate": {"id": "g", "when": "after", "kind": "approve", "summary": "Good?"}}, {"id": "b", …, "gate": {"id": "g", "when": "after", "kind": "approve", "summary": "Good?"}}]}`, right: `{"hank": [{"id": "a", …, "gate": {"id": "g", "when": "after", "kind": "approve", "summary": "Good?"}}, {"id": "b", …, "gate": {"id": "h", "when": "after", "kind": "approve", "summary": "Good?"}}]}`},
	"retry-config":        {wrong: `"retryConfig": {"maxAttempts": 2}`, right: `"onFailure": "retry", "retryConfig": {"maxAttempts": 2}`},
	"empty-check":         {wrong: `"expect": {}`, right: `"expect": {"files": ["report.md"]}`},
	"variable-name":       {wrong: `{"variables": {"topic": "x"}, "hank": [{"id": "a", …}]}`, right: `{"variables": {"TOPIC": "x"}, "hank": [{"id": "a", …}]}`},
	"unused-rule":         {wrong: `"onFailure": "retry", "retryConfig": {"rules": [{"on": ["rig"]}, {"on": ["exit", "rig"]}]}`, right: `"onFailure": "retry", "retryConfig": {"rules": [{"on": ["rig"]}, {"on": ["exit"]}]}`},
	"timeout-unused":      {wrong: `"timeout": 60, "budget": {"maxTimeSeconds": 60}`, right: `"timeout": 30, "budget": {"maxTimeSeconds": 60}`},
	"unused-extensions":   {wrong: `"maxExtensions": 3`, right: `"maxExtensions": 3, "exhaustWithPrompt": "More."`},
	"bad-glob":            {wrong: `"checkpointedFiles": ["b[c"]`, right: `"checkpointedFiles": ["b[cd]"]`},
	"bad-path":            {wrong: `"archiveOnSuccess": ["../x"]`, right: `"archiveOnSuccess": ["x"]`},
	"literal-secret":      elsewhere("An `env` with a key of a provider as its value. Set it in the environment where hank runs.", "plan.TestEachMistakeIsReportedOnceAtItsPlace"),
	"private-file":        {files: map[string]string{"files/.env": "A=1", "other/x": "x"}, wrong: `"rigSetup": [{"type": "copy", "copy": {"from": "files", "to": "files"}}]`, right: `"rigSetup": [{"type": "copy", "copy": {"from": "other", "to": "files"}}]`},
	"dangerous-command":   {wrong: `"rigSetup": [{"type": "command", "command": {"run": "rm -rf ~/"}}]`, right: `"rigSetup": [{"type": "command", "command": {"run": "rm -rf build"}}]`},
	"bad-target":          {files: map[string]string{"t": "t"}, wrong: `"rigSetup": [{"type": "copy", "copy": {"from": "t", "to": "../t"}}]`, right: `"rigSetup": [{"type": "copy", "copy": {"from": "t", "to": "t"}}]`},
	"target-twice":        {files: map[string]string{"t": "t"}, wrong: `"rigSetup": [{"type": "copy", "copy": {"from": "t", "to": "x"}}, {"type": "copy", "copy": {"from": "t", "to": "x"}}]`, right: `"rigSetup": [{"type": "copy", "copy": {"from": "t", "to": "x"}}]`},
	"target-file": {files: map[string]string{"t": "t"}, wrong: `{"hank": [{"id": "a", …, "rigSetup": [{"type": "copy", "copy": {"from": "t", "to": "src"}}]}, {"id": "b", …, "rigSetup": [{"type": "copy", "copy": {"from": "t", "to": "src/t"}}]}]}`,
		right: `{"hank": [{"id": "a", …, "rigSetup": [{"type": "copy", "copy": {"from": "t", "to": "src"}}]}, {"id": "b", …, "rigSetup": [{"type": "copy", "copy": {"from": "t", "to": "t"}}]}]}`},
	"target-parent": {files: map[string]string{"t": "t"}, wrong: `"rigSetup": [{"type": "copy", "copy": {"from": "t", "to": "src/t"}}]`, right: `"rigSetup": [{"type": "command", "command": {"run": "mkdir -p src"}}, {"type": "copy", "copy": {"from": "t", "to": "src/t"}}]`},

	"loop-fresh-codon":         {wrong: after(`{"id": "z", …}`, `{"type": "loop", "id": "l", …, "terminateOn": {"type": "contextExceeded"}, "codons": [{"id": "a", …}]}`), right: after(`{"id": "z", …}`, `{"type": "loop", "id": "l", …, "terminateOn": {"type": "contextExceeded"}, "codons": [{"id": "a", …, "continuationMode": "continue-previous"}]}`)},
	"loop-never-ends":          {wrong: loopOf(untilFull, `{"id": "a", …, "model": "shell", "promptText": "true"}`), right: loopOf(twice, `{"id": "a", …, "model": "shell", "promptText": "true"}`)},
	"loop-rig-failure":         {wrong: loopOf(twice, `{"id": "a", …, "rigSetup": [{"type": "command", "command": {"run": "mkdir x"}}]}`), right: loopOf(twice, `{"id": "a", …, "rigSetup": [{"type": "command", "command": {"run": "mkdir x"}, "allowFailure": true}]}`)},
	"loop-abort":               {wrong: loopOf(twice, `{"id": "a", …}`), right: loopOf(twice, `{"id": "a", …, "onFailure": "retry"}`)},
	"plateau-untracked":        {wrong: loopOf(`{"type": "plateau", "limit": 3, "vote": "tree"}`, `{"id": "a", …, "checkpointedFiles": []}`), right: loopOf(`{"type": "plateau", "limit": 3, "vote": "tree"}`, `{"id": "a", …, "checkpointedFiles": ["src"]}`)},
	"plateau-unreachable":      {wrong: loopOf(`{"type": "plateau", "limit": 2, "vote": "tree", "consensus": 3}`, `{"id": "a", …}`), right: loopOf(`{"type": "plateau", "limit": 5, "vote": "tree", "consensus": 3}`, `{"id": "a", …}`)},
	"judge-unknown":            {wrong: loopOf(`{"type": "plateau", "limit": 3, "vote": "judge", "judge": "x"}`, `{"id": "j", …}`), right: loopOf(`{"type": "plateau", "limit": 3, "vote": "judge", "judge": "j"}`, `{"id": "j", …, "promptText": "Decide in <%DECISION_FILE%>."}`)},
	"vote-field":               {wrong: loopOf(`{"type": "plateau", "limit": 3, "vote": "tree", "judge": "a"}`, `{"id": "a", …}`), right: loopOf(`{"type": "plateau", "limit": 3, "vote": "tree"}`, `{"id": "a", …}`)},
	"vote-unasked":             {wrong: loopOf(`{"type": "plateau", "limit": 3, "vote": "agent"}`, `{"id": "a", …}`), right: loopOf(`{"type": "plateau", "limit": 3, "vote": "agent"}`, `{"id": "a", …, "promptText": "Decide in <%DECISION_FILE%>."}`)},
	"vote-remembered":          {wrong: after(`{"id": "z", …}`, `{"type": "loop", "id": "l", …, "terminateOn": {"type": "plateau", "limit": 3, "vote": "agent"}, "codons": [{"id": "a", …, "continuationMode": "continue-previous", "promptText": "Decide in <%DECISION_FILE%>."}]}`), right: loopOf(`{"type": "plateau", "limit": 3, "vote": "agent"}`, `{"id": "a", …, "promptText": "Decide in <%DECISION_FILE%>."}`)},
	"continue-first":           {wrong: more, right: after(`{"id": "z", …}`, `{"id": "a", …, `+more+`}`)},
	"continue-after-exhausted": {wrong: after(`{"id": "z", …, "exhaustWithPrompt": "More."}`, `{"id": "a", …, `+more+`}`), right: after(`{"id": "z", …, "exhaustWithPrompt": "More."}`, `{"id": "a", …}`)},
	"continue-wrap":            {wrong: after(`{"id": "y", …}`, `{"type": "loop", "id": "l", …, "terminateOn": `+twice+`, "codons": [{"id": "a", …, `+more+`}, {"id": "z", …, "model": "opus"}]}`), right: after(`{"id": "y", …}`, `{"type": "loop", "id": "l", …, "terminateOn": `+twice+`, "codons": [{"id": "a", …, `+more+`}, {"id": "z", …}]}`)},
	"continue-model":           {wrong: after(`{"id": "z", …, "model": "opus"}`, `{"id": "a", …, `+more+`}`), right: after(`{"id": "z", …}`, `{"id": "a", …, `+more+`}`)},
	"continue-untracked":       {wrong: after(`{"id": "z", …, "checkpointedFiles": []}`, `{"id": "a", …, `+more+`}`), right: after(`{"id": "z", …, "checkpointedFiles": ["src"]}`, `{"id": "a", …, `+more+`}`)},
	"continue-after-skip":      {wrong: after(`{"id": "z", …, "skipIf": {"files": ["z"]}}`, `{"id": "a", …, `+more+`}`), right: after(`{"id": "z", …, "skipIf": {"files": ["z"]}}`, `{"id": "a", …}`)},
	"continue-after-ignore":    {wrong: after(`{"id": "z", …, "onFailure": "ignore"}`, `{"id": "a", …, `+more+`}`), right: after(`{"id": "z", …, "onFailure": "retry"}`, `{"id": "a", …, `+more+`}`)},

	"continue-after-fallback": {wrong: after(`{"id": "z", …, "fallback": ["gpt-5"]}`, `{"id": "a", …, `+more+`}`), right: after(`{"id": "z", …, "fallback": ["haiku"]}`, `{"id": "a", …, `+more+`}`)},
	"budget-shares":           {wrong: `{"overrides": {"budget": {"maxDollars": 1, "shares": {"a": 1}}}, "hank": [{"id": "a", …}]}`, right: `{"overrides": {"budget": {"maxDollars": 1, "allocation": "proportional", "shares": {"a": 1}}}, "hank": [{"id": "a", …}]}`},
	"budget-allocation":       {wrong: `{"overrides": {"budget": {"allocation": "proportional"}}, "hank": [{"id": "a", …}]}`, right: `{"overrides": {"budget": {"allocation": "proportional", "maxDollars": 5}}, "hank": [{"id": "a", …}]}`},
	"budget-cap":              {wrong: `{"overrides": {"budget": {"maxDollars": 10, "allocation": "proportional", "shares": {"a": 0.5}}}, "hank": [{"id": "a", …, "budget": {"maxDollars": 6}}, {"id": "b", …}]}`, right: `{"overrides": {"budget": {"maxDollars": 10, "allocation": "proportional", "shares": {"a": 0.5}}}, "hank": [{"id": "a", …, "budget": {"maxDollars": 4}}, {"id": "b", …}]}`},
	"budget-unused":           {wrong: `{"overrides": {"budget": {"maxDollars": 10, "allocation": "proportional", "shares": {"a": 0.5}}}, "hank": [{"id": "a", …}]}`, right: `{"overrides": {"budget": {"maxDollars": 10, "allocation": "proportional", "shares": {"a": 1}}}, "hank": [{"id": "a", …}]}`},
	"budget-zero":             {wrong: `{"overrides": {"budget": {"maxDollars": 10, "allocation": "proportional", "shares": {"a": 1}}}, "hank": [{"id": "a", …}, {"id": "b", …}]}`, right: `{"overrides": {"budget": {"maxDollars": 10, "allocation": "proportional", "shares": {"a": 0.5}}}, "hank": [{"id": "a", …}, {"id": "b", …}]}`},
	"budget-exhaust":          {wrong: `"exhaustWithPrompt": "More.", "budget": {"maxTimeSeconds": 60}`, right: `"exhaustWithPrompt": "More.", "maxExtensions": 3`},
	"budget-no-price":         elsewhere("`maxDollars` on a codon whose model has no known price.", "plan.TestADollarBudgetWithoutPriceIsMentioned"),
	"price-required":          elsewhere("`\"requirePrice\": true` in hankweave.json, and a limit in dollars on a model without a known price.", "plan.TestAPriceCanBeRequired"),
	"budget-fail-retry":       {wrong: `"onFailure": "retry", "budget": {"maxDollars": 6, "onExceeded": "fail"}`, right: `"onFailure": "retry", "budget": {"maxDollars": 6}`},
	"budget-fail-late":        {wrong: `{"overrides": {"budget": {"maxDollars": 10}}, "hank": [{"id": "a", …}, {"id": "b", …, "budget": {"onExceeded": "fail"}}]}`, right: `{"overrides": {"budget": {"maxDollars": 10}}, "hank": [{"id": "a", …}, {"id": "b", …, "budget": {"onExceeded": "fail", "maxDollars": 2}}]}`},
	"budget-time-loop":        {wrong: `{"hank": [{"type": "loop", "id": "l", …, "terminateOn": ` + twice + `, "budget": {"maxTimeSeconds": 5}, "codons": [{"id": "a", …, "budget": {"maxTimeSeconds": 6}}]}]}`, right: `{"hank": [{"type": "loop", "id": "l", …, "terminateOn": ` + twice + `, "budget": {"maxTimeSeconds": 60}, "codons": [{"id": "a", …, "budget": {"maxTimeSeconds": 6}}]}]}`},
	"budget-late":             {wrong: `"model": "exec/mine", "exec": ["my-agent"], "promptText": "Write.", "budget": {"maxOutputTokens": 5000}`, right: `"model": "exec/mine", "exec": ["my-agent"], "promptText": "Write.", "budget": {"maxOutputTokens": 5000, "maxTimeSeconds": 600}`},
	"budget-shell-price":      {wrong: `"model": "shell", "promptText": "make", "budget": {"maxDollars": 6}`, right: `"model": "shell", "promptText": "make", "budget": {"maxTimeSeconds": 60}`},

	"bad-reference":        {files: map[string]string{"p.md": "Write."}, wrong: `"promptFile": "../p.md"`, right: `"promptFile": "p.md"`},
	"missing-reference":    {files: map[string]string{"p.md": "Write."}, wrong: `"promptFile": "q.md"`, right: `"promptFile": "p.md"`},
	"unreadable-reference": elsewhere("A prompt file that the user may not read.", "plan.TestUnreadableFilesAreNamed"),
	"irregular-reference":  {files: map[string]string{"d/p.md": "Write."}, wrong: `"promptFile": "d"`, right: `"promptFile": "d/p.md"`},
	"symlink-reference":    elsewhere("A prompt file that is a symbolic link.", "plan.TestEachMistakeIsReportedOnceAtItsPlace"),
	"copy-root":            {files: map[string]string{"t/x": "x"}, wrong: `"rigSetup": [{"type": "copy", "copy": {"from": ".", "to": "t"}}]`, right: `"rigSetup": [{"type": "copy", "copy": {"from": "t", "to": "t"}}]`},
	"copy-git":             {files: map[string]string{".git/hooks/x": "x", "t/x": "x"}, wrong: `"rigSetup": [{"type": "copy", "copy": {"from": ".git/hooks", "to": "t"}}]`, right: `"rigSetup": [{"type": "copy", "copy": {"from": "t", "to": "t"}}]`},
	"copy-gitignore":       {files: map[string]string{"t/d/.gitignore": "x", "u/x": "x"}, wrong: `"rigSetup": [{"type": "copy", "copy": {"from": "t", "to": "t"}}]`, right: `"rigSetup": [{"type": "copy", "copy": {"from": "u", "to": "t"}}]`},
	"copy-irregular":       elsewhere("A copied directory has a symbolic link or a socket in it.", "plan.TestEachMistakeIsReportedOnceAtItsPlace"),
	"copy-ignored":         {files: map[string]string{"t/x.log": "x", "t/x": "x", "u/x": "x"}, wrong: `"rigSetup": [{"type": "copy", "copy": {"from": "t", "to": "t"}}]`, right: `"rigSetup": [{"type": "copy", "copy": {"from": "u", "to": "t"}}]`},
	"copy-large":           elsewhere("A copied directory of 300 MiB.", "plan.TestLargeCopiesAreMentioned"),

	"sentinel-duplicate": {wrong: `"sentinels": [{"sentinelConfig": "s.json"}, {"sentinelConfig": "s.json"}]`, right: `"sentinels": [{"sentinelConfig": "s.json"}]`, files: map[string]string{"s.json": `{"id": "s", "name": "S", "model": "anthropic/claude-haiku-4-5", "execution": {"strategy": "immediate"}, "userPromptText": "x", ` + onErrors + `}`}},
	"sentinel-prompt":    {wrong: observer(onErrors), right: observer(onErrors + `, "userPromptText": "Watch."`)},
	"sentinel-output":    {wrong: observer(onErrors + `, "userPromptText": "Watch.", "structuredOutput": {"output": "enum", "enumValues": ["good", "bad"]}, "joinString": "---"`), right: observer(onErrors + `, "userPromptText": "Watch.", "structuredOutput": {"output": "enum", "enumValues": ["good", "bad"]}`)},
	"sentinel-event":     {wrong: observer(`"userPromptText": "Watch.", "trigger": {"type": "event", "on": ["tool.results"]}`), right: observer(`"userPromptText": "Watch.", "trigger": {"type": "event", "on": ["tool.result"]}`)},
	"sentinel-unseen":    {wrong: observer(`"userPromptText": "Watch.", "trigger": {"type": "event", "on": ["sentinel.output"]}`), right: observer(`"userPromptText": "Watch.", "trigger": {"type": "event", "on": ["tool.result"]}`)},
	"sentinel-path":      {wrong: observer(`"userPromptText": "Watch.", "trigger": {"type": "event", "on": ["tool.result"], "conditions": [{"operator": "equals", "path": "error", "value": true}]}`), right: observer(`"userPromptText": "Watch.", "trigger": {"type": "event", "on": ["tool.result"], "conditions": [{"operator": "equals", "path": "isError", "value": true}]}`)},
	"sentinel-partly":    {wrong: observer(`"userPromptText": "Watch.", "trigger": {"type": "event", "on": ["tool.result", "error"], "conditions": [{"operator": "equals", "path": "isError", "value": true}]}`), right: observer(`"userPromptText": "Watch.", "trigger": {"type": "event", "on": ["tool.result"], "conditions": [{"operator": "equals", "path": "isError", "value": true}]}`)},
	"sentinel-template":  {wrong: observer(`"userPromptText": "<% for (const e of it.events) { %>", ` + onErrors), right: observer(`"userPromptText": "<%= JSON.stringify(it.events) %>", ` + onErrors)},
	"sentinel-schema":    {wrong: observer(onErrors + `, "userPromptText": "Watch.", "structuredOutput": {"output": "object", "schemaStr": "z.object({ok: z.boolean()})"}`), right: observer(onErrors + `, "userPromptText": "Watch.", "structuredOutput": {"output": "object", "schemaStr": "{\"properties\": {\"ok\": {\"type\": \"boolean\"}}}"}`)},
	"sentinel-setting":   {settings: true, wrong: `{"sentinel": {"waitForAllHealthChecks": true}}`, right: `{"sentinel": {"waitForAllHealthChecks": false}}`},
	"sentinel-power":     {wrong: strings.Replace(observer(`"userPromptText": "Watch.", `+onErrors), `{"sentinelConfig"`, `{"settings": {"mayStop": true}, "sentinelConfig"`, 1), right: strings.Replace(observer(`"userPromptText": "Watch.", "structuredOutput": {"output": "enum", "enumValues": ["stop", "fine"]}, `+onErrors), `{"sentinelConfig"`, `{"settings": {"mayStop": true}, "sentinelConfig"`, 1)},
	"sentinel-model":     {wrong: strings.Replace(observer(`"userPromptText": "Watch.", `+onErrors), "anthropic/claude-haiku-4-5", "shell", 1), right: observer(`"userPromptText": "Watch.", ` + onErrors)},
	"sentinel-parameter": {wrong: observer(onErrors + `, "userPromptText": "Watch.", "llmParams": {"temprature": 0}`), right: observer(onErrors + `, "userPromptText": "Watch.", "llmParams": {"temperature": 0}`)},
	"before-copy-idle":   {wrong: `"outputFiles": [{"copy": ["x"], "beforeCopy": [{"type": "command", "command": {"run": "true"}}]}]`, right: `"outputFiles": [{"copy": ["x"]}]`},
	"sentinel-regexp":    {wrong: observer(`"userPromptText": "Watch.", "trigger": {"type": "event", "on": ["error"], "conditions": [{"operator": "matches", "path": "message", "value": "(?=x)"}]}`), right: observer(`"userPromptText": "Watch.", "trigger": {"type": "event", "on": ["error"], "conditions": [{"operator": "matches", "path": "message", "value": "x"}]}`)},

	"unknown-model":   {wrong: `"model": "sonett"`, right: `"model": "sonnet"`},
	"ambiguous-model": elsewhere("A name that several models fit equally.", "plan.TestEachMistakeIsReportedOnceAtItsPlace"),
	"unlisted-model":  elsewhere("`pi/lab/small`: the list of models has no such model.", "plan.TestEachMistakeIsReportedOnceAtItsPlace"),
	"no-harness":      elsewhere("`codex/xai/grok-4.3`: Codex has no models of this provider.", "plan.TestEachMistakeIsReportedOnceAtItsPlace"),
	"exec-program":    {wrong: `"model": "exec/mine", "promptText": "Write."`, right: `"model": "exec/mine", "exec": ["my-agent"], "promptText": "Write."`},
	"exec-unused":     {wrong: `"model": "sonnet", "exec": ["my-agent"], "promptText": "Write."`, right: `"model": "exec/mine", "exec": ["my-agent"], "promptText": "Write."`},
	"fallback-shell":  {wrong: `"model": "shell", "promptText": "true", "fallback": ["haiku"]`, right: `"fallback": ["haiku"]`},
	"fallback-twice":  {wrong: `"fallback": ["haiku", "haiku"]`, right: `"fallback": ["haiku", "opus"]`},
	"shell-override":  {wrong: `{"overrides": {"model": "shell"}, "hank": [{"id": "a", …}]}`, right: `{"overrides": {"model": "haiku"}, "hank": [{"id": "a", …}]}`},

	"script-syntax":       elsewhere("`if true` without `fi` as the script of a codon.", "script/validate_ci"),
	"script-crlf":         {files: map[string]string{"windows.sh": "set -eu\r\n", "unix.sh": "set -eu\n"}, wrong: `"model": "shell", "promptFile": "windows.sh"`, right: `"model": "shell", "promptFile": "unix.sh"`},
	"command-syntax":      elsewhere("`test (` as the command of a rig, a check or a rule.", "script/validate_ci"),
	"missing-variable":    elsewhere("`\"requirements\": {\"env\": [\"TOKEN\"]}` where TOKEN is not set.", "runtime/machine.TestWhatTheMachineLacks"),
	"missing-program":     elsewhere("`\"requirements\": {\"tools\": [\"jq\"]}` where jq is not installed.", "runtime/machine.TestWhatTheMachineLacks"),
	"fallback-begins":     elsewhere("A codon with a model of Codex, where `codex` is not installed, and with a fallback to a model of Claude Code, which can be used.", "runtime/machine.TestACodonThatBeginsWithItsFallbackIsSaid"),
	"fallback-agent":      elsewhere("A codon that falls back to a model of Codex, where `codex` is not installed or has no credentials.", "runtime/machine.TestWhatTheMachineLacks"),
	"missing-agent":       elsewhere("A codon for Claude Code, where `claude` is not installed or has no credentials.", "runtime/machine.TestWhatTheMachineLacks"),
	"sandbox-missing":     elsewhere("`\"sandbox\": \"workspace\"` on a system without Landlock.", "runtime/machine.TestWhatTheMachineLacks"),
	"sandbox-place":       elsewhere("`\"sandbox\": \"workspace\"` where the workspace has the execution in it.", "runtime/machine.TestWhatTheMachineLacks"),
	"target-blocked":      elsewhere("A rig of the first codon copies to `src/t`, and `src` is a file in the workspace, or a link. What a command of the rig makes before the copy is not known; of a copy after it nothing is said.", "script/validate_places"),
	"target-exists":       elsewhere("A rig copies to `src`, and the workspace has a `src` already.", "runtime/machine.TestWhatTheMachineLacks"),
	"unknown-variable":    elsewhere("`HANKWEAVE_RUNTIME_SHIM_IDLE_TIMEOUTS=5` in the environment.", "plan.TestEnvironmentSettings"),
	"environment-long":    elsewhere("Thirty variables of 130 kB each in the `env` of a codon: Linux gives a process 2 MiB for arguments and environment, where the stack has its usual limit.", "script/validate_places"),
	"output-place":        elsewhere("`\"outputDirectory\": \"out\"` in hankweave.json, where `out` is a file.", "script/validate_places"),
	"place-taken":         elsewhere("Files in `agentRoot`, and no `.hankweave` beside it.", "script/validate_places"),
	"place-closed":        elsewhere("A directory of another user, in which hank may make nothing.", "recovery/layout.TestAClosedPlaceIsNamedBeforeAnythingIsBegun"),
	"sentinel-required":   elsewhere("A sentinel with `\"failCodonIfNotLoaded\": true` and an anthropic model, where ANTHROPIC_API_KEY is not set.", "script/sentinels"),
	"sentinel-not-loaded": elsewhere("A sentinel with an anthropic model, where ANTHROPIC_API_KEY is not set.", "script/sentinels"),
}
