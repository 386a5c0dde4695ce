package fields

// codonTypos are wrong names that people write, with the right ones. The list is the
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
	"maxDuration": "budget.maxTimeSeconds", "maxDurationSeconds": "budget.maxTimeSeconds", "timeLimit": "budget.maxTimeSeconds", "maxTime": "budget.maxTimeSeconds", "maxTimeSeconds": "budget.maxTimeSeconds",
	"timeoutSeconds": "timeout", "idleTimeout": "shimIdleTimeout",
	"maxTokens": "budget.maxOutputTokens", "tokenLimit": "budget.maxOutputTokens", "maxOutputTokens": "budget.maxOutputTokens", "maxContextTokens": "budget.maxContextTokens", "onExceeded": "budget.onExceeded",
	"skip": "skipIf", "when": "skipIf", "if": "skipIf", "unless": "skipIf", "condition": "skipIf",
	"expects": "expect", "ensure": "expect", "assert": "expect", "postcondition": "expect", "postconditions": "expect", "verify": "expect", "marker": "expect.marker",
	"title": "name", "label": "name",
	"approval": "gate", "approve": "gate", "humanApproval": "gate", "review": "gate", "gates": "gate",
}

var loopTypos = map[string]string{
	"steps": "codons", "items": "codons", "hank": "codons", "body": "codons",
	"until": "terminateOn", "terminate": "terminateOn", "stop": "terminateOn",
	"iterations": `terminateOn: {"type": "iterationLimit", "limit": …}`, "limit": `terminateOn: {"type": "iterationLimit", "limit": …}`,
	"maxIterations": `terminateOn: {"type": "iterationLimit", "limit": …}`, "times": `terminateOn: {"type": "iterationLimit", "limit": …}`,
	"maxCost": "budget.maxDollars", "maxDollars": "budget.maxDollars", "maxTimeSeconds": "budget.maxTimeSeconds", "onExceeded": "budget.onExceeded",
	"archive": "archiveOnSuccess", "title": "name",
	"approval": "gate", "approve": "gate", "humanApproval": "gate", "gates": "gate",
}

var gateTypos = map[string]string{
	"name": "id", "type": "kind", "mode": "kind", "at": "when", "position": "when",
	"message": "summary", "question": "summary", "prompt": "summary", "text": "summary", "description": "summary", "title": "summary",
	"file": "artifact", "path": "artifact", "artefact": "artifact", "artifacts": "artifact",
	"timeout": "expiresAfter", "expires": "expiresAfter", "expiry": "expiresAfter", "timeoutSeconds": "expiresAfter",
}

var rootTypos = map[string]string{
	"codons": "hank", "steps": "hank", "plan": "hank", "items": "hank", "strand": "hank",
	"name": "meta.name", "version": "meta.version", "description": "meta.description", "author": "meta.author",
	"env": "requirements.env, or env of a codon", "tools": "requirements.tools", "requires": "requirements",
	"override": "overrides", "settings": "overrides", "config": "overrides", "budget": "overrides.budget",
	"systemPrompt": "globalSystemPromptText or globalSystemPromptFile", "globalSystemPrompt": "globalSystemPromptText or globalSystemPromptFile",
	"schema": "$schema", "vars": "variables", "placeholders": "variables", "parameters": "variables",
}
