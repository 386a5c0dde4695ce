package plan

// The tables of hank.json. They drive the checks, the hints for wrong names
// and the published JSON Schema.

const idPattern = `^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`

func id() *shape {
	return matching(idPattern, "ids have letters, digits, dots, dashes and underscores, start with a letter or digit, and have at most 128 characters").under("bad-id")
}

// refs is one path or a list of paths.
func refs() *shape { return eitherOr('"', filled(), filledList(filled())) }

func refOrList(doc string) string {
	return doc + ": a path relative to the folder of the hank, or a list of paths"
}

var containerBudgetShape = object("budget", "a budget",
	optional("maxDollars", positive(0), "limit in US dollars"),
	optional("maxTimeSeconds", positive(0), "limit in seconds"),
	optional("allocation", word("shared", "proportional", "proportional-strict"), "how children divide it; default shared"),
	optional("shares", mapOf(positive(1)), "child id → part of maxDollars, above 0 and up to 1; together at most 1"),
	optional("onExceeded", word("complete", "fail"), "how a codon ends that runs out; default complete"),
)

var codonBudgetShape = object("codonBudget", "a codon's budget",
	optional("maxDollars", positive(0), "limit in US dollars"),
	optional("maxTimeSeconds", positive(0), "limit in seconds"),
	optional("maxOutputTokens", whole(1, 0), "limit of all output together"),
	optional("maxContextTokens", whole(1, 0), "limit of the size of one request and its answer"),
	optional("onExceeded", word("complete", "fail"), "how the codon ends that runs out; default complete"),
)

var commandFields = []field{
	required("run", filled(), "the line for the system shell"),
	optional("workingDirectory", word("project", "lastCopied"), "the workspace (default) or the target of the last copy"),
	optional("timeoutSeconds", positive(7*24*3600), "hank's addition: how long it may run; default 600"),
}

var copyRigShape = object("copyRig", "a copy operation",
	required("type", word("copy"), "copy"),
	required("copy", object("", "a copy",
		required("from", filled(), "file or folder, relative to the folder of the hank"),
		required("to", filled(), "the whole target with its name, relative to the workspace"),
	).lenient(), "what is copied where"),
	optional("allowFailure", boolean(), "go on when it fails; default false"),
).lenient()

var commandRigShape = object("commandRig", "a command operation",
	required("type", word("command"), "command"),
	required("command", object("", "a command", commandFields...).lenient(), "what is run"),
	optional("allowFailure", boolean(), "go on when it fails; default false"),
).lenient()

var beforeCopyShape = object("beforeCopy", "a command operation",
	required("type", word("command"), "command"),
	required("command", object("", "a command",
		commandFields[0], optional("workingDirectory", word("project"), "the workspace"), commandFields[2],
	).lenient(), "what is run"),
	optional("allowFailure", boolean(), "go on when it fails; default false"),
).lenient()

var outputShape = object("output", "an output group",
	required("copy", filledList(filled()), "patterns of files that are copied to the output directory"),
	optional("beforeCopy", list(beforeCopyShape), "commands that run before"),
)

var codonShape = object("codon", "a codon",
	optional("type", word("codon"), "codon (default)"),
	required("id", id(), "unique in the whole hank"),
	required("name", filled(), "for people"),
	optional("description", text(), "for people"),
	optional("promptFile", refs(), refOrList("the prompt, or the script for model shell")),
	optional("promptText", text(), "the prompt, or the script for model shell; promptFile wins"),
	optional("appendSystemPromptFile", refs(), refOrList("added to the system prompt")),
	optional("appendSystemPromptText", text(), "added to the system prompt"),
	required("model", filled(), "sonnet, anthropic/claude-sonnet-4-5, …; shell runs the prompt by sh"),
	required("continuationMode", word("fresh", "continue-previous"), "a new session, or the session of the codon before, with all that was said in it since: a rollback or a retry takes back files, not what the agent was told"),
	optional("rigSetup", list(tagged("type", variant{"copy", copyRigShape}, variant{"command", commandRigShape})), "set-up before the codon"),
	optional("checkpointedFiles", list(filled()), "patterns, files and folders that checkpoints hold; absent: everything not ignored; []: nothing"),
	optional("env", mapOf(text()), "environment of the agent and of the codon's commands"),
	optional("outputFiles", list(outputShape), "results that are copied to the output directory"),
	optional("sentinels", list(sentinelUseShape), "observers of the codon"),
	optional("archiveOnSuccess", list(filled()), "patterns of files that are moved to the archive after success"),
	optional("onFailure", word("abort", "retry", "ignore"), "default abort"),
	optional("retryConfig", object("retryConfig", "retryConfig",
		optional("maxAttempts", whole(1, 10), "how often it is tried again: at most one attempt more than that; default 3"),
		optional("delayMs", whole(0, 60000), "delay before the first retry; doubles; default 1000"),
		optional("maxDelayMs", whole(0, 600000), "longest delay; default 60000"),
	), "only with onFailure retry"),
	optional("exhaustWithPrompt", text(), "prompt that is repeated in the same session until the context is full"),
	optional("maxExtensions", whole(1, 0), "how often exhaustWithPrompt is repeated at most; default 100"),
	optional("autoCompact", boolean(), "let the agent compact its session; default false"),
	optional("shimIdleTimeout", whole(1, 1800), "seconds without a sign of life before the agent is ended"),
	optional("budget", codonBudgetShape, "limits of the codon"),
).withTypos(codonTypos)

var loopShape = object("loop", "a loop",
	required("type", word("loop"), "loop"),
	required("id", id(), "unique in the whole hank"),
	required("name", filled(), "for people"),
	optional("description", text(), "for people"),
	required("terminateOn", tagged("type",
		variant{"iterationLimit", object("iterationLimit", "iterationLimit",
			required("type", word("iterationLimit"), "iterationLimit"),
			required("limit", whole(1, 1<<31-1), "number of iterations"),
		)},
		variant{"contextExceeded", object("contextExceeded", "contextExceeded",
			required("type", word("contextExceeded"), "contextExceeded"),
		)},
	), "when the loop ends"),
	required("codons", filledList(tagged("type", variant{"codon", codonShape}, variant{"", codonShape}).saying("loops do not nest")), "codons; loops do not nest"),
	optional("budget", containerBudgetShape, "limits of all iterations together"),
	optional("archiveOnSuccess", list(filled()), "patterns of files that are moved to the archive at the loop's end"),
).withTypos(loopTypos)

var hankShape = object("hank", "the root of hank.json",
	optional("$schema", text(), "for editors"),
	optional("meta", object("meta", "meta",
		required("name", filled(), "of the hank"),
		required("version", filled(), "of the hank"),
		optional("description", text(), "for people"),
		optional("author", text(), "for people"),
	).lenient(), "what the hank is"),
	optional("overrides", object("overrides", "overrides",
		optional("model", filled(), "used by every codon that is not a shell codon"),
		inert("dataHashTimeLimit", whole(1, 0), "milliseconds"),
		inert("sentinel", sentinelSettingsShape, "settings of all sentinels"),
		optional("shimIdleTimeout", whole(1, 1800), "seconds, for codons that say nothing"),
		optional("budget", containerBudgetShape, "limits of the whole hank"),
		optional("sandbox", word("none", "workspace"), sandboxSays),
	), "settings that the hank brings along"),
	optional("requirements", object("requirements", "requirements",
		optional("env", list(matching(`\S`, "names must not be blank")), "environment variables that must be set"),
		optional("tools", list(matching(`^\s*[^\s/\\]+\s*$`, "must be the bare name of a program, without blanks and slashes")), "programs that must be on the PATH"),
	).lenient(), "what the machine must have"),
	optional("globalSystemPromptFile", refs(), refOrList("system prompt of all codons")),
	optional("globalSystemPromptText", text(), "system prompt of all codons"),
	required("hank", filledList(tagged("type", variant{"loop", loopShape}, variant{"codon", codonShape}, variant{"", codonShape})), "codons and loops, in order"),
).withTypos(rootTypos)

// objects are those whose fields are looked for in the wrong place.
var objects = []*shape{codonShape, loopShape, hankShape, settingsShape}
