package fields

import (
	shape "hank/plan/jsonshape"
	"hank/plan/kind"
)

// The tables of hank.json. They drive the checks, the hints for wrong names
// and the published JSON Schema.

var containerBudgetShape = shape.Object("budget", "a budget",
	shape.Optional("maxDollars", shape.Positive(0), "limit in US dollars"),
	shape.Optional("maxTimeSeconds", shape.Positive(0), "limit in seconds"),
	shape.Optional("allocation", shape.Word("shared", "proportional", "proportional-strict"), "how it is divided among its children (default: shared)"),
	shape.Optional("shares", shape.MapOf(shape.Positive(1)), "child id → fraction of maxDollars (above 0, at most 1); the sum is at most 1"),
	shape.Optional("onExceeded", shape.Word("complete", "fail", "pause"), "what follows where it is exceeded: `complete` (default) counts as success, `fail` fails the codon, `pause` (hank's addition) ends the run so that it continues when the limit is raised"),
)

var codonBudgetShape = shape.Object("codonBudget", "a codon's budget",
	shape.Optional("maxDollars", shape.Positive(0), "limit in US dollars"),
	shape.Optional("maxTimeSeconds", shape.Positive(0), "limit in seconds"),
	shape.Optional("maxOutputTokens", shape.Whole(1, 0), "limit of all output tokens together"),
	shape.Optional("maxContextTokens", shape.Whole(1, 0), "limit of the tokens of one request and its answer"),
	shape.Optional("onExceeded", shape.Word("complete", "fail", "pause"), "what follows where it is exceeded: `complete` (default) counts as success, `fail` fails the codon, `pause` (hank's addition) ends the run so that it continues when the limit is raised"),
)

var commandFields = []shape.Field{
	shape.Required("run", shape.Filled(), "shell command"),
	shape.Optional("workingDirectory", shape.Word("project", "lastCopied"), "project: the workspace (default); lastCopied: the target of the last copy"),
	shape.Optional("timeoutSeconds", shape.Positive(7*24*3600), "hank's addition: time limit in seconds (default: 600)"),
}

var copyRigShape = shape.Object("copyRig", "a copy operation",
	shape.Required("type", shape.Word("copy"), "copy"),
	shape.Required("copy", shape.Object("", "a copy",
		shape.Required("from", shape.Filled(), "file or directory, relative to the directory of the hank"),
		shape.Required("to", shape.Filled(), "full path of the target, relative to the workspace"),
	).Lenient(), "what is copied where"),
	shape.Optional("allowFailure", shape.Boolean(), "continue if it fails (default: false)"),
).Lenient()

var commandRigShape = shape.Object("commandRig", "a command operation",
	shape.Required("type", shape.Word("command"), "command"),
	shape.Required("command", shape.Object("", "a command", commandFields...).Lenient(), "what is run"),
	shape.Optional("allowFailure", shape.Boolean(), "continue if it fails (default: false)"),
).Lenient()

var beforeCopyShape = shape.Object("beforeCopy", "a command operation",
	shape.Required("type", shape.Word("command"), "command"),
	shape.Required("command", shape.Object("", "a command",
		commandFields[0], shape.Optional("workingDirectory", shape.Word("project"), "the workspace"), commandFields[2],
	).Lenient(), "what is run"),
	shape.Optional("allowFailure", shape.Boolean(), "continue if it fails (default: false)"),
).Lenient()

var outputShape = shape.Object("output", "an output group",
	shape.Required("copy", shape.FilledList(shape.Filled()), "patterns of files to copy to the output directory"),
	shape.Optional("beforeCopy", shape.List(beforeCopyShape), "commands to run before copying"),
)

// gateShape is the table of a gate of a codon or loop.
var gateShape = shape.Object("gate", "a gate",
	shape.Required("id", id(), "unique among the gates of the hank: `hank approve ID` answers it"),
	shape.Required("when", shape.Word("before", "after"), "before or after the codon or loop"),
	shape.Required("kind", shape.Word("approve", "reply"), "approve: yes or no; reply: yes with a text, or no"),
	shape.Required("summary", shape.Filled(), "what is asked; at most 2000 bytes"),
	shape.Optional("artifact", shape.Filled(), "the file or directory to look at, relative to the workspace"),
	shape.Optional("expiresAfter", shape.Positive(0), "seconds after which the gate counts as rejected if nobody has answered (default: never)"),
).WithTypos(gateTypos)

var fallbackShape = shape.Object("fallback", "a fallback",
	shape.Required("model", shape.Filled(), "as in model of the codon"),
	shape.Optional("harness", shape.Word(agents()...), "the agent that works with it (default: the usual one of its provider)"),
)

// agents are the harnesses that work with a model.
func agents() (names []string) {
	for h := range kind.All() {
		if h.Driven && h.UsesModel && !h.NamesProgram {
			names = append(names, h.Name)
		}
	}
	return names
}

var codonShape = shape.Object("codon", "a codon",
	shape.Optional("type", shape.Word("codon"), "codon (default)"),
	shape.Required("id", id(), "unique in the whole hank"),
	shape.Required("name", shape.Filled(), "display name"),
	shape.Optional("description", shape.Text(), "display text"),
	shape.Optional("promptFile", refs(), refOrList("the prompt, or the script for model shell")),
	shape.Optional("promptText", shape.Text(), "the prompt, or the script for model shell; promptFile takes precedence"),
	shape.Optional("appendSystemPromptFile", refs(), refOrList("added to the system prompt")),
	shape.Optional("appendSystemPromptText", shape.Text(), "added to the system prompt"),
	shape.Required("model", shape.Filled(), "sonnet, anthropic/claude-sonnet-4-5, …; shell runs the prompt with sh"),
	shape.Optional("exec", shape.FilledList(shape.Filled()), "hank's addition: for a model exec/…, the program that is the agent, and its arguments: a name on the PATH, or an absolute path"),
	shape.Required("continuationMode", shape.Word("fresh", "continue-previous"), "a new session, or the session of the previous codon, as that codon has left it"),
	shape.Optional("rigSetup", shape.List(shape.Tagged("type", shape.Variant{Value: "copy", Shape: copyRigShape}, shape.Variant{Value: "command", Shape: commandRigShape})), "operations before the codon"),
	shape.Optional("checkpointedFiles", shape.List(shape.Filled()), "files to include in checkpoints: patterns, files and directories (default: everything not ignored; []: nothing)"),
	shape.Optional("env", shape.MapOf(shape.Text()), "environment variables of the agent and of the codon's commands"),
	shape.Optional("outputFiles", shape.List(outputShape), "results to copy to the output directory"),
	shape.Optional("sentinels", shape.List(sentinelUseShape), "observers of the codon"),
	shape.Optional("archiveOnSuccess", shape.List(shape.Filled()), "patterns of files to move to the archive after success"),
	shape.Optional("onFailure", shape.Word("abort", "retry", "ignore"), "default abort"),
	shape.Optional("retryConfig", retryShape, "only with onFailure retry"),
	shape.Optional("exhaustWithPrompt", shape.Text(), "prompt to repeat in the same session until the context is full"),
	shape.Optional("maxExtensions", shape.Whole(1, 0), "maximum number of repetitions of exhaustWithPrompt (default: 100)"),
	shape.Optional("autoCompact", shape.Boolean(), "let the agent compact its session (default: false)"),
	shape.Optional("shimIdleTimeout", shape.Whole(1, 1800), "idle timeout in seconds: an agent that shows no activity for so long is ended"),
	shape.Optional("onStuck", onStuck, "hank's addition: what follows when the idle timeout is over. stop (default): the attempt fails, as onFailure says; retry: it is made again, also without onFailure; report: it is reported, and the agent continues"),
	shape.Optional("budget", codonBudgetShape, "limits of the codon"),
	shape.Optional("skipIf", skipIfShape, "hank's addition: the codon is skipped where all of this holds"),
	shape.Optional("expect", expectationShape, "hank's addition: what must be there when the work is done; else the attempt fails"),
	shape.Optional("timeout", shape.Positive(30*24*3600), "hank's addition: seconds after which the agent of an attempt is ended, all its turns together; the attempt fails"),
	shape.Optional("gate", gateShape, "hank's addition: asks you before or after the codon, in a loop in each iteration"),
	shape.Optional("onUsageLimit", shape.Word("wait", "fail"), onUsageLimitSays),
	shape.Optional("maxUsageLimitWait", shape.Positive(30*24*3600), maxUsageLimitWaitSays),
	shape.Optional("fallback", shape.FilledList(shape.EitherOr('"', shape.Filled(), fallbackShape)), "hank's addition: models, in order, for the attempts after one that the provider did not let work"),
).WithTypos(codonTypos)

// MeansPrompt reports whether a codon has a prompt under a wrong name, which is an error.
func MeansPrompt(codon *shape.Node) bool {
	return codonShape.Meant(codon, "promptText") || codonShape.Meant(codon, "promptFile")
}

var onStuck = shape.Word("stop", "report", "retry")

var loopShape = shape.Object("loop", "a loop",
	shape.Required("type", shape.Word("loop"), "loop"),
	shape.Required("id", id(), "unique in the whole hank"),
	shape.Required("name", shape.Filled(), "display name"),
	shape.Optional("description", shape.Text(), "display text"),
	shape.Required("terminateOn", terminateOnShape, "when the loop ends"),
	shape.Required("codons", shape.FilledList(shape.Tagged("type", shape.Variant{Value: "codon", Shape: codonShape}, shape.Variant{Value: "", Shape: codonShape}).Saying("loops cannot be nested")), "codons; loops cannot be nested"),
	shape.Optional("budget", containerBudgetShape, "limits of all iterations together"),
	shape.Optional("archiveOnSuccess", shape.List(shape.Filled()), "patterns of files to move to the archive when the loop ends"),
	shape.Optional("gate", gateShape, "hank's addition: asks you once, before or after all iterations"),
).WithTypos(loopTypos)

// Hank is the table of hank.json.
var Hank = shape.Object("hank", "the root of hank.json",
	shape.Optional("$schema", shape.Text(), "the JSON Schema, for editors: the path of a file that hank schema writes, or a URL; hank does not read it"),
	shape.Optional("meta", shape.Object("meta", "meta",
		shape.Required("name", shape.Filled(), "name of the hank"),
		shape.Required("version", shape.Filled(), "version of the hank"),
		shape.Optional("description", shape.Text(), "display text"),
		shape.Optional("author", shape.Text(), "author, for display"),
	).Lenient(), "what the hank is"),
	shape.Optional("overrides", shape.Object("overrides", "overrides",
		shape.Optional("model", shape.Filled(), "used by every codon that is not a shell codon"),
		shape.Inert("dataHashTimeLimit", shape.Whole(1, 0), "milliseconds"),
		shape.Optional("sentinel", SentinelSettings, sentinelSettingsSays),
		shape.Optional("shimIdleTimeout", shape.Whole(1, 1800), "idle timeout in seconds, for codons without one"),
		shape.Optional("onStuck", onStuck, "hank's addition: as in a codon, for codons without one"),
		shape.Optional("onUsageLimit", shape.Word("wait", "fail"), onUsageLimitSays),
		shape.Optional("maxUsageLimitWait", shape.Positive(30*24*3600), maxUsageLimitWaitSays),
		shape.Optional("budget", containerBudgetShape, "limits of the whole hank"),
		shape.Optional("sandbox", shape.Word("none", "workspace"), sandboxSays),
		shape.Optional("requirePrice", shape.Boolean(), requirePriceSays),
	), "default settings"),
	shape.Optional("requirements", shape.Object("requirements", "requirements",
		shape.Optional("env", shape.List(shape.Matching(`^[^=]*[^=\s][^=]*$`, "names must not be blank, and cannot have =")), "required environment variables"),
		shape.Optional("tools", shape.List(shape.Matching(`^\s*[^\s/\\]+\s*$`, "must be a program name without blanks or slashes")), "required programs on the PATH"),
	).Lenient(), "required tools and environment variables"),
	shape.Optional("globalSystemPromptFile", refs(), refOrList("system prompt of all codons")),
	shape.Optional("globalSystemPromptText", shape.Text(), "system prompt of all codons"),
	shape.Optional("variables", shape.MapOf(shape.Text()), "hank's addition: name in capital letters → text, for prompts and scripts: <%NAME%>, and in their environment HANK_VAR_NAME"),
	shape.Required("hank", shape.FilledList(shape.Tagged("type", shape.Variant{Value: "loop", Shape: loopShape}, shape.Variant{Value: "codon", Shape: codonShape}, shape.Variant{Value: "", Shape: codonShape})), "codons and loops, in order"),
).WithTypos(rootTypos)

// Objects are those whose fields are looked for in the wrong place.
var Objects = []*shape.Shape{codonShape, loopShape, Hank, Settings}
