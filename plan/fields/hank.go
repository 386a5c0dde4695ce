package fields

import shape "hank/plan/jsonshape"

// The tables of hank.json. They drive the checks, the hints for wrong names
// and the published JSON Schema.

const idPattern = `^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`

func id() *shape.Shape {
	return shape.Matching(idPattern, "ids have letters, digits, dots, dashes and underscores, start with a letter or digit, and have at most 128 characters").Under("bad-id")
}

// refs is one path or a list of paths.
func refs() *shape.Shape {
	return shape.EitherOr('"', shape.Filled(), shape.FilledList(shape.Filled()))
}

func refOrList(doc string) string {
	return doc + ": a path relative to the folder of the hank, or a list of paths"
}

var containerBudgetShape = shape.Object("budget", "a budget",
	shape.Optional("maxDollars", shape.Positive(0), "limit in US dollars"),
	shape.Optional("maxTimeSeconds", shape.Positive(0), "limit in seconds"),
	shape.Optional("allocation", shape.Word("shared", "proportional", "proportional-strict"), "how children divide it; default shared"),
	shape.Optional("shares", shape.MapOf(shape.Positive(1)), "child id → part of maxDollars, above 0 and up to 1; together at most 1"),
	shape.Optional("onExceeded", shape.Word("complete", "fail"), "how a codon ends that runs out; default complete"),
)

var codonBudgetShape = shape.Object("codonBudget", "a codon's budget",
	shape.Optional("maxDollars", shape.Positive(0), "limit in US dollars"),
	shape.Optional("maxTimeSeconds", shape.Positive(0), "limit in seconds"),
	shape.Optional("maxOutputTokens", shape.Whole(1, 0), "limit of all output together"),
	shape.Optional("maxContextTokens", shape.Whole(1, 0), "limit of the size of one request and its answer"),
	shape.Optional("onExceeded", shape.Word("complete", "fail"), "how the codon ends that runs out; default complete"),
)

var commandFields = []shape.Field{
	shape.Required("run", shape.Filled(), "the line for the system shell"),
	shape.Optional("workingDirectory", shape.Word("project", "lastCopied"), "the workspace (default) or the target of the last copy"),
	shape.Optional("timeoutSeconds", shape.Positive(7*24*3600), "hank's addition: how long it may run; default 600"),
}

var copyRigShape = shape.Object("copyRig", "a copy operation",
	shape.Required("type", shape.Word("copy"), "copy"),
	shape.Required("copy", shape.Object("", "a copy",
		shape.Required("from", shape.Filled(), "file or folder, relative to the folder of the hank"),
		shape.Required("to", shape.Filled(), "the whole target with its name, relative to the workspace"),
	).Lenient(), "what is copied where"),
	shape.Optional("allowFailure", shape.Boolean(), "go on when it fails; default false"),
).Lenient()

var commandRigShape = shape.Object("commandRig", "a command operation",
	shape.Required("type", shape.Word("command"), "command"),
	shape.Required("command", shape.Object("", "a command", commandFields...).Lenient(), "what is run"),
	shape.Optional("allowFailure", shape.Boolean(), "go on when it fails; default false"),
).Lenient()

var beforeCopyShape = shape.Object("beforeCopy", "a command operation",
	shape.Required("type", shape.Word("command"), "command"),
	shape.Required("command", shape.Object("", "a command",
		commandFields[0], shape.Optional("workingDirectory", shape.Word("project"), "the workspace"), commandFields[2],
	).Lenient(), "what is run"),
	shape.Optional("allowFailure", shape.Boolean(), "go on when it fails; default false"),
).Lenient()

var outputShape = shape.Object("output", "an output group",
	shape.Required("copy", shape.FilledList(shape.Filled()), "patterns of files that are copied to the output directory"),
	shape.Optional("beforeCopy", shape.List(beforeCopyShape), "commands that run before"),
)

var codonShape = shape.Object("codon", "a codon",
	shape.Optional("type", shape.Word("codon"), "codon (default)"),
	shape.Required("id", id(), "unique in the whole hank"),
	shape.Required("name", shape.Filled(), "for people"),
	shape.Optional("description", shape.Text(), "for people"),
	shape.Optional("promptFile", refs(), refOrList("the prompt, or the script for model shell")),
	shape.Optional("promptText", shape.Text(), "the prompt, or the script for model shell; promptFile wins"),
	shape.Optional("appendSystemPromptFile", refs(), refOrList("added to the system prompt")),
	shape.Optional("appendSystemPromptText", shape.Text(), "added to the system prompt"),
	shape.Required("model", shape.Filled(), "sonnet, anthropic/claude-sonnet-4-5, …; shell runs the prompt by sh"),
	shape.Required("continuationMode", shape.Word("fresh", "continue-previous"), "a new session, or the session of the codon before, with all that was said in it since: a rollback or a retry takes back files, not what the agent was told"),
	shape.Optional("rigSetup", shape.List(shape.Tagged("type", shape.Variant{Value: "copy", Shape: copyRigShape}, shape.Variant{Value: "command", Shape: commandRigShape})), "set-up before the codon"),
	shape.Optional("checkpointedFiles", shape.List(shape.Filled()), "patterns, files and folders that checkpoints hold; absent: everything not ignored; []: nothing"),
	shape.Optional("env", shape.MapOf(shape.Text()), "environment of the agent and of the codon's commands"),
	shape.Optional("outputFiles", shape.List(outputShape), "results that are copied to the output directory"),
	shape.Optional("sentinels", shape.List(sentinelUseShape), "observers of the codon"),
	shape.Optional("archiveOnSuccess", shape.List(shape.Filled()), "patterns of files that are moved to the archive after success"),
	shape.Optional("onFailure", shape.Word("abort", "retry", "ignore"), "default abort"),
	shape.Optional("retryConfig", shape.Object("retryConfig", "retryConfig",
		shape.Optional("maxAttempts", shape.Whole(1, 10), "how often it is tried again: at most one attempt more than that; default 3"),
		shape.Optional("delayMs", shape.Whole(0, 60000), "delay before the first retry; doubles; default 1000"),
		shape.Optional("maxDelayMs", shape.Whole(0, 600000), "longest delay; default 60000"),
	), "only with onFailure retry"),
	shape.Optional("exhaustWithPrompt", shape.Text(), "prompt that is repeated in the same session until the context is full"),
	shape.Optional("maxExtensions", shape.Whole(1, 0), "how often exhaustWithPrompt is repeated at most; default 100"),
	shape.Optional("autoCompact", shape.Boolean(), "let the agent compact its session; default false"),
	shape.Optional("shimIdleTimeout", shape.Whole(1, 1800), "seconds without a sign of life before the agent is ended"),
	shape.Optional("budget", codonBudgetShape, "limits of the codon"),
).WithTypos(codonTypos)

var loopShape = shape.Object("loop", "a loop",
	shape.Required("type", shape.Word("loop"), "loop"),
	shape.Required("id", id(), "unique in the whole hank"),
	shape.Required("name", shape.Filled(), "for people"),
	shape.Optional("description", shape.Text(), "for people"),
	shape.Required("terminateOn", shape.Tagged("type",
		shape.Variant{Value: "iterationLimit", Shape: shape.Object("iterationLimit", "iterationLimit",
			shape.Required("type", shape.Word("iterationLimit"), "iterationLimit"),
			shape.Required("limit", shape.Whole(1, 1<<31-1), "number of iterations"),
		)},
		shape.Variant{Value: "contextExceeded", Shape: shape.Object("contextExceeded", "contextExceeded",
			shape.Required("type", shape.Word("contextExceeded"), "contextExceeded"),
		)},
	), "when the loop ends"),
	shape.Required("codons", shape.FilledList(shape.Tagged("type", shape.Variant{Value: "codon", Shape: codonShape}, shape.Variant{Value: "", Shape: codonShape}).Saying("loops do not nest")), "codons; loops do not nest"),
	shape.Optional("budget", containerBudgetShape, "limits of all iterations together"),
	shape.Optional("archiveOnSuccess", shape.List(shape.Filled()), "patterns of files that are moved to the archive at the loop's end"),
).WithTypos(loopTypos)

var Hank = shape.Object("hank", "the root of hank.json",
	shape.Optional("$schema", shape.Text(), "for editors"),
	shape.Optional("meta", shape.Object("meta", "meta",
		shape.Required("name", shape.Filled(), "of the hank"),
		shape.Required("version", shape.Filled(), "of the hank"),
		shape.Optional("description", shape.Text(), "for people"),
		shape.Optional("author", shape.Text(), "for people"),
	).Lenient(), "what the hank is"),
	shape.Optional("overrides", shape.Object("overrides", "overrides",
		shape.Optional("model", shape.Filled(), "used by every codon that is not a shell codon"),
		shape.Inert("dataHashTimeLimit", shape.Whole(1, 0), "milliseconds"),
		shape.Inert("sentinel", SentinelSettings, "settings of all sentinels"),
		shape.Optional("shimIdleTimeout", shape.Whole(1, 1800), "seconds, for codons that say nothing"),
		shape.Optional("budget", containerBudgetShape, "limits of the whole hank"),
		shape.Optional("sandbox", shape.Word("none", "workspace"), sandboxSays),
	), "settings that the hank brings along"),
	shape.Optional("requirements", shape.Object("requirements", "requirements",
		shape.Optional("env", shape.List(shape.Matching(`\S`, "names must not be blank")), "environment variables that must be set"),
		shape.Optional("tools", shape.List(shape.Matching(`^\s*[^\s/\\]+\s*$`, "must be the bare name of a program, without blanks and slashes")), "programs that must be on the PATH"),
	).Lenient(), "what the machine must have"),
	shape.Optional("globalSystemPromptFile", refs(), refOrList("system prompt of all codons")),
	shape.Optional("globalSystemPromptText", shape.Text(), "system prompt of all codons"),
	shape.Required("hank", shape.FilledList(shape.Tagged("type", shape.Variant{Value: "loop", Shape: loopShape}, shape.Variant{Value: "codon", Shape: codonShape}, shape.Variant{Value: "", Shape: codonShape})), "codons and loops, in order"),
).WithTypos(rootTypos)

// Objects are those whose fields are looked for in the wrong place.
var Objects = []*shape.Shape{codonShape, loopShape, Hank, Settings}
