package fields

import shape "hank/plan/jsonshape"

const sandboxSays = "workspace: agents, rigs and checks can write only in the workspace, their own home and their temporary directory, or the run does not start (default: none)"

const onUsageLimitSays = "hank's addition: what follows when the provider's usage limit is reached, the provider is overloaded, or the network is lost. wait: the run waits and then continues the agent's session; fail: the attempt fails (default: wait)"

const maxUsageLimitWaitSays = "hank's addition: longest wait in seconds; after it the attempt fails (default: 21600; for a lost network at most 3600)"

const requirePriceSays = "hank's addition: a limit in dollars on a model without a known price is an error (default: a warning)"

const sentinelSettingsSays = "settings of all sentinels in the compatible system: hank keeps no conversation and checks no provider beforehand, and warns where a setting asks for it"

// Settings is the table of hankweave.json.
var Settings = shape.Object("settings", "hankweave.json",
	shape.Optional("$schema", shape.Text(), "the JSON Schema, for editors: the path of a file that hank schema writes, or a URL; hank does not read it"),
	shape.Inert("port", shape.Whole(1, 65535), "of the server of the compatible system; hank opens none"),
	shape.Inert("autostart", shape.Boolean(), "default true"),
	shape.Inert("showCosts", shape.Boolean(), "default false"),
	shape.Inert("withoutProxy", shape.Boolean(), "default true"),
	shape.Optional("model", shape.Filled(), "used by every codon that is not a shell codon"),
	shape.Optional("anthropicBaseUrl", shape.Matching(`^https?://[^/]+`, "must be a URL with http or https"), "URL of the API of Anthropic models"),
	shape.Optional("outputDirectory", shape.Filled(), "directory for outputFiles, relative to the current directory; --output is stronger (default: results stay in the workspace)"),
	shape.Inert("executionBaseDir", shape.Filled(), "hank's executions are the current directory or -e"),
	shape.Inert("logParsingInterval", shape.Whole(1, 0), "milliseconds"),
	shape.Inert("dataHashTimeLimit", shape.Whole(1, 0), "milliseconds"),
	shape.Inert("idleTimeout", shape.Whole(0, 255), "seconds"),
	shape.Optional("shimIdleTimeout", shape.Whole(1, 1800), "idle timeout in seconds: an agent that shows no activity for so long is ended"),
	shape.Optional("onUsageLimit", shape.Word("wait", "fail"), onUsageLimitSays),
	shape.Optional("maxUsageLimitWait", shape.Positive(30*24*3600), maxUsageLimitWaitSays),
	shape.Inert("dietOnFinalize", shape.Boolean(), "default true"),
	shape.Inert("journalDietThresholdBytes", shape.Whole(1, 0), "default 4096"),
	shape.Optional("checkpointCap", shape.Matching(SizePattern, SizeSays), "limit of the checkpoints of an execution, such as 20GB; 0: no limit (default: the previous limit, 50GB at first)"),
	shape.Optional("sandbox", shape.Word("none", "workspace"), sandboxSays),
	shape.Optional("requirePrice", shape.Boolean(), requirePriceSays),
	shape.Optional("allowBypass", shape.Boolean(), "hank's addition: agents may do everything without asking, also without a sandbox; else hank asks once for each agent (default: false)"),
	shape.Optional("models", shape.EitherOr('"', shape.Filled(), Models), "hank's addition: newer models and prices, laid over the list that is built in: the path of a file, relative to this one, or the list"),
	shape.Optional("prices", shape.MapOf(costShape), "hank's addition: provider/model → its price; holds before every list"),
	shape.Optional("checkOutputs", shape.Boolean(), "run beforeCopy as a check where there is no output directory (default false: it is not run)"),
	shape.Optional("ignoreRigFailures", shape.Boolean(), "continue when a rig operation fails"),
	shape.Optional("sentinel", SentinelSettings, sentinelSettingsSays),
	shape.Inert("telemetry", shape.EitherOr('{', shape.MapOf(shape.Anything()), shape.Boolean()), "true, false or an object; hank sends no telemetry"),
	shape.Optional("budget", shape.Object("ceiling", "budget",
		shape.Optional("maxDollars", shape.Positive(0), "limit of a run in US dollars"),
		shape.Optional("maxTimeSeconds", shape.Positive(0), "limit of a run in seconds"),
	), "limits of a run"),
)

// SizePattern is what a size must look like.
const SizePattern = `^[0-9]{1,15}(\.[0-9]{1,3})?( ?[kKMGT]i?)?B?$`

// SizeSays is SizePattern in words.
const SizeSays = "must be a size such as 20GB, 500MB, or a number of bytes; 0 is no limit"
