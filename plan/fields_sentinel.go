package plan

import "math"

// The tables of sentinel configurations.

var sentinelSettingsShape = object("sentinelSettings", "the settings of sentinels",
	optional("enablePersistence", boolean(), "default true"),
	optional("healthCheckGracePeriodMs", whole(1, 0), "default 2000"),
	optional("waitForAllHealthChecks", boolean(), "default false"),
)

var reportShape = object("report", "reportToWebsocket",
	optional("lifecycle", boolean(), "default true"),
	optional("errors", boolean(), "default true"),
	optional("outputs", boolean(), "default true"),
	optional("triggers", boolean(), "default false"),
)

var sentinelUseShape = object("sentinelUse", "an entry of sentinels",
	required("sentinelConfig", eitherOr('"', filled(), sentinelShape), "path of a configuration file, or the configuration"),
	optional("settings", object("", "settings",
		optional("failCodonIfNotLoaded", boolean(), "the codon fails if the sentinel cannot be loaded"),
		optional("outputPaths", object("", "outputPaths",
			optional("logFile", filled(), "path of the log"),
			optional("lastValueFile", filled(), "path of the latest value"),
		), "where the sentinel writes"),
		optional("reportToWebsocket", reportShape, "what is reported; overrides the configuration"),
	), "settings for this codon"),
)

func condition(operator string, value *shape) variant {
	return variant{operator, object("", "a condition",
		required("operator", word(operator), "how the field is compared"),
		required("path", filled(), "dotted path of a field in the event's data"),
		required("value", value, "what it is compared with"),
	)}
}

var conditionShape = tagged("operator",
	condition("equals", scalar()), condition("notEquals", scalar()),
	condition("in", filledList(scalar())), condition("notIn", filledList(scalar())),
	condition("contains", text()), condition("matches", text()),
	condition("greaterThan", number(-math.MaxFloat64, 0)), condition("lessThan", number(-math.MaxFloat64, 0)),
)

var onShape = filledList(filled())

var triggerShape = tagged("type",
	variant{"event", object("eventTrigger", "an event trigger",
		required("type", word("event"), "event"),
		required("on", onShape, "event types, or *"),
		optional("conditions", list(conditionShape), "all must hold"),
	)},
	variant{"sequence", object("sequenceTrigger", "a sequence trigger",
		required("type", word("sequence"), "sequence"),
		required("interestFilter", object("", "interestFilter", required("on", onShape, "event types, or *")), "events that are looked at"),
		required("pattern", filledList(object("", "a step of the pattern",
			required("type", filled(), "event type"),
			optional("conditions", list(conditionShape), "all must hold"),
		)), "events in order"),
		optional("options", object("", "options", optional("consecutive", boolean(), "default true")), "how the pattern is searched"),
	)},
)

var executionShape = tagged("strategy",
	variant{"immediate", object("immediate", "immediate", required("strategy", word("immediate"), "each trigger at once"))},
	variant{"debounce", object("debounce", "debounce", required("strategy", word("debounce"), "after a silence"),
		required("milliseconds", whole(1, 300000), "of silence"))},
	variant{"count", object("count", "count", required("strategy", word("count"), "in batches"),
		required("threshold", whole(1, 1000), "triggers in a batch"))},
	variant{"timeWindow", object("timeWindow", "timeWindow", required("strategy", word("timeWindow"), "in spans of time"),
		required("milliseconds", whole(1, 3600000), "of a span"))},
)

var trimmingShape = tagged("type",
	variant{"maxTurns", object("maxTurns", "maxTurns", required("type", word("maxTurns"), "by turns"), required("maxTurns", whole(1, 100), "turns that are kept"))},
	variant{"maxTokens", object("maxTokens", "maxTokens", required("type", word("maxTokens"), "by tokens"), required("maxTokens", whole(1, 100000), "tokens that are kept"))},
)

var sentinelShape = object("sentinel", "a sentinel configuration",
	optional("$schema", text(), "for editors"),
	required("id", matching(`^[a-z0-9-]+$`, "sentinel ids have small letters, digits and dashes"), "unique among the sentinels of a codon"),
	required("name", filled(), "for people"),
	optional("description", text(), "for people"),
	required("model", filled(), "provider/model"),
	required("trigger", triggerShape, "what it waits for"),
	required("execution", executionShape, "when it acts"),
	optional("systemPromptFile", refs(), "system prompt, relative to the configuration file"),
	optional("systemPromptText", text(), "system prompt"),
	optional("userPromptFile", refs(), "prompt template, relative to the configuration file"),
	optional("userPromptText", text(), "prompt template, behind that of the file"),
	optional("conversational", object("", "conversational",
		required("trimmingStrategy", trimmingShape, "how the conversation is kept short"),
		optional("continueOnError", boolean(), "keep the conversation after an error"),
	), "remembers; needs a system prompt"),
	optional("errorHandling", object("", "errorHandling",
		optional("maxConsecutiveFailures", whole(1, 0), "default 3"),
		optional("unloadOnFatalError", boolean(), "default true"),
	), "when it is given up"),
	optional("llmParams", mapOf(anything()), "parameters of the model"),
	optional("structuredOutput", object("", "structuredOutput",
		required("output", word("object", "array", "enum"), "kind of answer"),
		optional("schemaStr", filled(), "schema of the answer"),
		optional("schemaFile", filled(), "file with the schema, relative to the configuration file"),
		optional("enumValues", filledList(filled()), "the allowed answers"),
		optional("schemaName", text(), "for the model"),
		optional("schemaDescription", text(), "for the model"),
	), "answers as data"),
	optional("joinString", text(), "between text answers"),
	optional("reportToWebsocket", reportShape, "what is reported"),
	optional("output", object("", "output",
		optional("format", word("text", "jsonl"), "not with structuredOutput"),
		optional("file", filled(), "path of the log"),
		optional("lastValueFile", filled(), "path of the latest value"),
	), "where it writes"),
)
