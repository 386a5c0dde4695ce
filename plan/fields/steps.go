package fields

import (
	shape "hank/plan/jsonshape"
	"hank/plan/steps"
)

// stepCommandShape is a command of skipIf or expect.
func stepCommandShape() *shape.Shape {
	return shape.Object("", "a command",
		shape.Required("run", shape.Filled(), "shell command, in the workspace"),
		shape.Optional("timeoutSeconds", shape.Positive(7*24*3600), "time limit in seconds (default: 600)"),
	)
}

var skipIfShape = shape.Object("skipIf", "skipIf",
	shape.Optional("files", shape.FilledList(shape.Filled()), "patterns: holds if each gives a file"),
	shape.Optional("command", stepCommandShape(), "holds if it ends with code 0, and not if with 1; the attempt fails if it ends otherwise"),
).WithTypos(map[string]string{"file": "files", "exists": "files", "run": "command.run", "timeoutSeconds": "command.timeoutSeconds"})

var expectationShape = shape.Object("expect", "expect",
	shape.Optional("files", shape.FilledList(shape.Filled()), "patterns: each must give a file"),
	shape.Optional("marker", shape.Matching(`\S`, "the marker must not be blank"), "text that the agent's last message must contain; for a script the last line of its standard output"),
	shape.Optional("command", stepCommandShape(), "must end with code 0"),
).WithTypos(map[string]string{"file": "files", "text": "marker", "message": "marker", "output": "marker", "run": "command.run", "timeoutSeconds": "command.timeoutSeconds"})

var retryShape = shape.Object("retryConfig", "retryConfig",
	shape.Optional("maxAttempts", shape.Whole(1, 10), "number of retries after the first attempt (default: 3)"),
	shape.Optional("delayMs", shape.Whole(0, 60000), "milliseconds before the first retry; doubles with each retry (default: 1000)"),
	shape.Optional("maxDelayMs", shape.Whole(0, 600000), "longest delay in milliseconds (default: 60000)"),
	shape.Optional("jitter", shape.Number(0, 1), "hank's addition: up to this part of the delay is added by chance (default: 0.25)"),
	shape.Optional("onExhausted", shape.Word("fail", "pause"), "hank's addition: how the run ends when no retry is left (default: fail; pause: exit code 4, and `hank run` continues)"),
	shape.Optional("rules", shape.FilledList(retryRuleShape), "hank's addition: what holds instead for some kinds of failures; the first rule that names the kind"),
)

var retryRuleShape = shape.Object("retryRule", "a rule of retryConfig",
	shape.Required("on", shape.FilledList(shape.Word(kinds()...)), "kinds of failures"),
	shape.Optional("maxAttempts", shape.Whole(0, 100), "number of retries after failures of these kinds, counted apart from all others"),
	shape.Optional("delayMs", shape.Whole(0, 3600000), "milliseconds before the first of them"),
	shape.Optional("maxDelayMs", shape.Whole(0, 24*3600000), "longest delay in milliseconds"),
	shape.Optional("onExhausted", shape.Word("fail", "pause"), "how the run ends when none of them is left"),
).WithTypos(map[string]string{"kind": "on", "kinds": "on", "class": "on", "classes": "on", "when": "on", "retries": "maxAttempts"})

func kinds() (words []string) {
	for _, k := range steps.Kinds {
		words = append(words, string(k))
	}
	return words
}
