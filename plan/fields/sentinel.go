package fields

import (
	"math"

	shape "hank/plan/jsonshape"
)

// The tables of sentinel configurations.

// SentinelSettings is the table of the settings of all sentinels.
var SentinelSettings = shape.Object("sentinelSettings", "the settings of sentinels",
	shape.Optional("enablePersistence", shape.Boolean(), "conversations are kept on disk; hank keeps none, and warns of true"),
	shape.Optional("healthCheckGracePeriodMs", shape.Whole(1, 0), "of the checks of providers; hank makes none, and warns"),
	shape.Optional("waitForAllHealthChecks", shape.Boolean(), "providers are waited for; hank waits for none, and warns of true"),
)

var reportShape = shape.Object("report", "reportToWebsocket",
	shape.Optional("lifecycle", shape.Boolean(), "default true"),
	shape.Optional("errors", shape.Boolean(), "default true"),
	shape.Optional("outputs", shape.Boolean(), "default true"),
	shape.Optional("triggers", shape.Boolean(), "default false"),
)

var sentinelUseShape = shape.Object("sentinelUse", "an entry of sentinels",
	shape.Required("sentinelConfig", shape.EitherOr('"', shape.Filled(), Sentinel), "path of a configuration file, or the configuration"),
	shape.Optional("settings", shape.Object("", "settings",
		shape.Optional("failCodonIfNotLoaded", shape.Boolean(), "the codon fails if the sentinel cannot be loaded"),
		shape.Optional("outputPaths", shape.Object("", "outputPaths",
			shape.Optional("logFile", shape.Filled(), "path of the log"),
			shape.Optional("lastValueFile", shape.Filled(), "path of the latest value"),
		), "where the sentinel writes"),
		shape.Optional("reportToWebsocket", reportShape, "what is reported; overrides the configuration"),
		shape.Optional("mayStop", shape.Boolean(), `hank's addition: the answer "stop" stops the run (default: false)`),
		shape.Optional("maySkip", shape.Boolean(), `hank's addition: the answer "skip" skips the codon (default: false)`),
		shape.Optional("drainSeconds", shape.Whole(0, 600), "hank's addition: how long it may take for what is left when the codon's work has ended (default: 30)"),
	), "settings for this codon"),
)

func condition(operator string, value *shape.Shape) shape.Variant {
	return shape.Variant{Value: operator, Shape: shape.Object("", "a condition",
		shape.Required("operator", shape.Word(operator), "how the field is compared"),
		shape.Required("path", shape.Filled(), "dotted path of a field in the event's data"),
		shape.Required("value", value, "what it is compared with"),
	)}
}

var conditionShape = shape.Tagged("operator",
	condition("equals", shape.Scalar()), condition("notEquals", shape.Scalar()),
	condition("in", shape.FilledList(shape.Scalar())), condition("notIn", shape.FilledList(shape.Scalar())),
	condition("contains", shape.Text()), condition("matches", shape.Text()),
	condition("greaterThan", shape.Number(-math.MaxFloat64, 0)), condition("lessThan", shape.Number(-math.MaxFloat64, 0)),
)

var onShape = shape.FilledList(shape.Filled())

var triggerShape = shape.Tagged("type",
	shape.Variant{Value: "event", Shape: shape.Object("eventTrigger", "an event trigger",
		shape.Required("type", shape.Word("event"), "event"),
		shape.Required("on", onShape, "event types, or *"),
		shape.Optional("conditions", shape.List(conditionShape), "all must hold"),
	)},
	shape.Variant{Value: "sequence", Shape: shape.Object("sequenceTrigger", "a sequence trigger",
		shape.Required("type", shape.Word("sequence"), "sequence"),
		shape.Required("interestFilter", shape.Object("", "interestFilter", shape.Required("on", onShape, "event types, or *")), "events that are looked at"),
		shape.Required("pattern", shape.FilledList(shape.Object("", "a step of the pattern",
			shape.Required("type", shape.Filled(), "event type"),
			shape.Optional("conditions", shape.List(conditionShape), "all must hold"),
		)), "events in order"),
		shape.Optional("options", shape.Object("", "options", shape.Optional("consecutive", shape.Boolean(), "default true")), "how the pattern is searched"),
	)},
)

var executionShape = shape.Tagged("strategy",
	shape.Variant{Value: "immediate", Shape: shape.Object("immediate", "immediate", shape.Required("strategy", shape.Word("immediate"), "each trigger at once"))},
	shape.Variant{Value: "debounce", Shape: shape.Object("debounce", "debounce", shape.Required("strategy", shape.Word("debounce"), "after a silence"),
		shape.Required("milliseconds", shape.Whole(1, 300000), "of silence"))},
	shape.Variant{Value: "count", Shape: shape.Object("count", "count", shape.Required("strategy", shape.Word("count"), "in batches"),
		shape.Required("threshold", shape.Whole(1, 1000), "triggers in a batch"))},
	shape.Variant{Value: "timeWindow", Shape: shape.Object("timeWindow", "timeWindow", shape.Required("strategy", shape.Word("timeWindow"), "in spans of time"),
		shape.Required("milliseconds", shape.Whole(1, 3600000), "of a span"))},
)

var trimmingShape = shape.Tagged("type",
	shape.Variant{Value: "maxTurns", Shape: shape.Object("maxTurns", "maxTurns", shape.Required("type", shape.Word("maxTurns"), "by turns"), shape.Required("maxTurns", shape.Whole(1, 100), "turns that are kept"))},
	shape.Variant{Value: "maxTokens", Shape: shape.Object("maxTokens", "maxTokens", shape.Required("type", shape.Word("maxTokens"), "by tokens"), shape.Required("maxTokens", shape.Whole(1, 100000), "tokens that are kept"))},
)

// Sentinel is the table of the configuration of a sentinel.
var Sentinel = shape.Object("sentinel", "a sentinel configuration",
	shape.Optional("$schema", shape.Text(), "the JSON Schema, for editors: the path of a file that hank schema writes, or a URL; hank does not read it"),
	shape.Required("id", shape.Matching(`^[a-z0-9-]+$`, "sentinel ids may contain lower-case letters, digits and dashes"), "unique among the sentinels of a codon"),
	shape.Required("name", shape.Filled(), "display name"),
	shape.Optional("description", shape.Text(), "display text"),
	shape.Required("model", shape.Filled(), "provider/model"),
	shape.Required("trigger", triggerShape, "what it waits for"),
	shape.Required("execution", executionShape, "when it acts"),
	shape.Optional("systemPromptFile", refs(), "system prompt, relative to the configuration file"),
	shape.Optional("systemPromptText", shape.Text(), "system prompt"),
	shape.Optional("userPromptFile", refs(), "prompt template, relative to the configuration file"),
	shape.Optional("userPromptText", shape.Text(), "prompt template, after that of the file"),
	shape.Optional("conversational", shape.Object("", "conversational",
		shape.Required("trimmingStrategy", trimmingShape, "how the conversation is kept short"),
		shape.Optional("continueOnError", shape.Boolean(), "keep the conversation after an error"),
	), "remembers; needs a system prompt"),
	shape.Optional("errorHandling", shape.Object("", "errorHandling",
		shape.Optional("maxConsecutiveFailures", shape.Whole(1, 0), "default 3"),
		shape.Optional("unloadOnFatalError", shape.Boolean(), "default true"),
	), "when it is given up"),
	shape.Optional("llmParams", shape.Object("", "llmParams",
		shape.Optional("temperature", shape.Number(0, 0), "how much chance there is in the choice of words"),
		shape.Optional("topP", shape.Number(0, 1), "only the most likely words, which together have this probability"),
		shape.Optional("maxOutputTokens", shape.Whole(1, 0), "limit of one answer"),
		shape.Optional("maxRetries", shape.Whole(0, 0), "of one call (default: 2)"),
		shape.Optional("frequencyPenalty", shape.Number(-2, 2), "for words that were used often"),
		shape.Optional("presencePenalty", shape.Number(-2, 2), "for words that were used"),
		shape.Optional("seed", shape.Whole(-1<<53, 0), "for the same choice of words each time"),
		shape.Optional("stopSequences", shape.List(shape.Filled()), "texts that end an answer"),
	).Open(), "parameters of the model"),
	shape.Optional("structuredOutput", shape.Object("", "structuredOutput",
		shape.Required("output", shape.Word("object", "array", "enum"), "kind of answer"),
		shape.Optional("schemaStr", shape.Filled(), "JSON Schema of the answer; of array: of each item"),
		shape.Optional("schemaFile", shape.Filled(), "file with the JSON Schema, relative to the configuration file"),
		shape.Optional("enumValues", shape.FilledList(shape.Filled()), "the allowed answers"),
		shape.Optional("schemaName", shape.Text(), "for the model"),
		shape.Optional("schemaDescription", shape.Text(), "for the model"),
	), "answers as data"),
	shape.Optional("joinString", shape.Text(), "between text answers; not with structuredOutput"),
	shape.Optional("reportToWebsocket", reportShape, "what is reported"),
	shape.Optional("output", shape.Object("", "output",
		shape.Optional("format", shape.Word("text", "jsonl"), "not with structuredOutput"),
		shape.Optional("file", shape.Filled(), "path of the log"),
		shape.Optional("lastValueFile", shape.Filled(), "path of the latest value"),
	), "where it writes"),
)
