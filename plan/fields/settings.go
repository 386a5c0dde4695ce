package fields

import shape "hank/plan/jsonshape"

const sandboxSays = "workspace: agents, rigs and checks can write only in the workspace, their own home and their temp folder, or the run does not start; default none"

var Settings = shape.Object("settings", "hankweave.json",
	shape.Optional("$schema", shape.Text(), "for editors"),
	shape.Inert("port", shape.Whole(0, 65535), "default 0: any"),
	shape.Inert("autostart", shape.Boolean(), "default true"),
	shape.Inert("showCosts", shape.Boolean(), "default false"),
	shape.Inert("withoutProxy", shape.Boolean(), "default true"),
	shape.Optional("model", shape.Filled(), "used by every codon that is not a shell codon"),
	shape.Optional("anthropicBaseUrl", shape.Matching(`^https?://[^/]+`, "must be a URL with http or https"), "where the API of the anthropic models is"),
	shape.Optional("outputDirectory", shape.Filled(), "where outputFiles go, relative to the current directory; absent: results stay in the workspace"),
	shape.Inert("executionBaseDir", shape.Filled(), "hank's executions are the current directory or -e"),
	shape.Inert("logParsingInterval", shape.Whole(1, 0), "milliseconds"),
	shape.Inert("dataHashTimeLimit", shape.Whole(1, 0), "milliseconds"),
	shape.Inert("idleTimeout", shape.Whole(0, 255), "seconds"),
	shape.Optional("shimIdleTimeout", shape.Whole(1, 1800), "seconds without a sign of life before an agent is ended"),
	shape.Inert("dietOnFinalize", shape.Boolean(), "default true"),
	shape.Inert("journalDietThresholdBytes", shape.Whole(1, 0), "default 4096"),
	shape.Optional("checkpointCap", shape.Matching(SizePattern, SizeSays), "how large the checkpoints of an execution may become, such as 20GB; 0: no limit; absent: what the execution had, at first 50GB"),
	shape.Optional("sandbox", shape.Word("none", "workspace"), sandboxSays),
	shape.Optional("ignoreRigFailures", shape.Boolean(), "every rig operation may fail"),
	shape.Inert("sentinel", SentinelSettings, "settings of all sentinels"),
	shape.Inert("telemetry", shape.Anything(), "hank sends nothing to anybody"),
	shape.Optional("budget", shape.Object("ceiling", "budget",
		shape.Optional("maxDollars", shape.Positive(0), "limit of a run in US dollars"),
		shape.Optional("maxTimeSeconds", shape.Positive(0), "limit of a run in seconds"),
	), "limits of a run"),
)

const SizePattern = `^[0-9]{1,15}(\.[0-9]{1,3})?( ?[kKMGT]i?)?B?$`

const SizeSays = "must be a size such as 20GB, 500MB, or a number of bytes; 0 is no limit"
