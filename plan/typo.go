package plan

import (
	"fmt"
	"slices"
	"strings"
)

// Wrong names that people write, and the right ones. The list is the
// compatible system's, the distance of edits covers the rest.
var codonTypos = map[string]string{
	"prompt": "promptFile or promptText", "prompts": "promptFile or promptText", "promptFiles": "promptFile", "userPrompt": "promptText",
	"systemPrompt": "appendSystemPromptText or appendSystemPromptFile", "systemPromptFile": "appendSystemPromptFile",
	"systemPromptText": "appendSystemPromptText", "appendSystemPrompt": "appendSystemPromptText or appendSystemPromptFile",
	"trackedFiles": "checkpointedFiles", "watchedFiles": "checkpointedFiles", "checkpointFiles": "checkpointedFiles", "checkpoints": "checkpointedFiles", "files": "checkpointedFiles",
	"rig": "rigSetup", "rigs": "rigSetup", "setup": "rigSetup", "rigConfig": "rigSetup", "preCommands": "rigSetup",
	"archive": "archiveOnSuccess", "archiveFiles": "archiveOnSuccess", "archiveOnComplete": "archiveOnSuccess", "cleanup": "archiveOnSuccess", "teardown": "archiveOnSuccess",
	"environment": "env", "envVars": "env", "environmentVariables": "env",
	"output": "outputFiles", "outputs": "outputFiles", "outputFile": "outputFiles",
	"mode": "continuationMode", "continuation": "continuationMode", "continueMode": "continuationMode", "continue": "continuationMode",
	"sentinel": "sentinels", "observers": "sentinels", "retry": "onFailure and retryConfig", "retries": "onFailure and retryConfig", "failurePolicy": "onFailure",
	"maxCost": "budget.maxDollars", "costLimit": "budget.maxDollars", "maxDollars": "budget.maxDollars",
	"maxDuration": "budget.maxTimeSeconds", "maxDurationSeconds": "budget.maxTimeSeconds", "timeLimit": "budget.maxTimeSeconds", "maxTime": "budget.maxTimeSeconds",
	"timeout": "budget.maxTimeSeconds or shimIdleTimeout", "idleTimeout": "shimIdleTimeout",
	"maxTokens": "budget.maxOutputTokens", "tokenLimit": "budget.maxOutputTokens", "maxOutputTokens": "budget.maxOutputTokens",
	"title": "name", "label": "name",
}

var loopTypos = map[string]string{
	"steps": "codons", "items": "codons", "hank": "codons", "body": "codons",
	"until": "terminateOn", "terminate": "terminateOn", "stop": "terminateOn",
	"iterations": `terminateOn: {"type": "iterationLimit", "limit": …}`, "limit": `terminateOn: {"type": "iterationLimit", "limit": …}`,
	"maxIterations": `terminateOn: {"type": "iterationLimit", "limit": …}`, "times": `terminateOn: {"type": "iterationLimit", "limit": …}`,
	"maxCost": "budget.maxDollars", "archive": "archiveOnSuccess", "title": "name",
}

var rootTypos = map[string]string{
	"codons": "hank", "steps": "hank", "plan": "hank", "items": "hank", "strand": "hank",
	"name": "meta.name", "version": "meta.version", "description": "meta.description", "author": "meta.author",
	"env": "requirements.env, or env of a codon", "tools": "requirements.tools", "requires": "requirements",
	"override": "overrides", "settings": "overrides", "config": "overrides", "budget": "overrides.budget",
	"systemPrompt": "globalSystemPromptText or globalSystemPromptFile", "globalSystemPrompt": "globalSystemPromptText or globalSystemPromptFile",
	"schema": "$schema",
}

// hint says what an unknown name may mean; empty if nothing is near.
func (s *shape) hint(key string) string {
	if right := s.typos[key]; right != "" {
		return "did you mean " + right + "?"
	}
	names := make([]string, len(s.fields))
	for i, f := range s.fields {
		names[i] = f.name
	}
	if near := Nearest(key, names); near != "" {
		return "did you mean " + near + "?"
	}
	for _, other := range []*shape{codonShape, loopShape, hankShape, settingsShape} {
		if other != s && other.field(key) != nil {
			return fmt.Sprintf("%q is a field of %s", key, other.label)
		}
	}
	if s.typos == nil && len(names) <= 12 {
		return "the fields are " + strings.Join(names, ", ")
	}
	return ""
}

// Nearest is the word that differs from s by the fewest edits, if those are few
// for its length: one for each three letters. Upper and lower case, dashes and
// underscores make no difference.
func Nearest(s string, words []string) string {
	best, least := "", 1<<30
	folded := fold(s)
	for _, w := range words {
		if f := fold(w); len(f) < 2*len(folded)+3 {
			if d := edits(folded, f); d < least {
				best, least = w, d
			}
		}
	}
	if len(folded) > 100 || least > max(1, len(folded)/3) {
		return ""
	}
	return best
}

func fold(s string) string {
	return strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(s))
}

// edits counts the insertions, deletions, replacements and swaps of
// neighbours between two words (optimal string alignment).
func edits(a, b string) int {
	before, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		older := before
		before = row
		row = slices.Clone(older)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(before[j]+1, row[j-1]+1, before[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], older[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
