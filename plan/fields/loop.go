package fields

import shape "hank/plan/jsonshape"

// The rules by which a loop ends. A rule of hank's own has a limit where it is alone,
// and none inside of any and all, whose limit is that of the loop.

const limitSays = "the most iterations, whatever the rule says"

func limitField(says string) shape.Field {
	return shape.Required("limit", shape.Whole(1, 1<<31-1), says)
}

var plateauFields = []shape.Field{
	shape.Required("vote", shape.Word("tree", "agent", "judge", "sentinel"), "who votes after each iteration: tree (the tracked files are the same as after the iteration before), agent (the last codon of the loop), judge (the codon that judge names) or sentinel (the sentinel that sentinel names)"),
	shape.Optional("minChangedLines", shape.Whole(1, 1<<31-1), "vote tree: fewer changed lines are as good as none (default: any change counts)"),
	shape.Optional("ignore", shape.List(shape.Filled()), "vote tree: patterns of files that do not count"),
	shape.Optional("judge", id(), "vote judge: the id of a codon of the loop"),
	shape.Optional("sentinel", shape.Filled(), "vote sentinel: the id of a sentinel of a codon of the loop"),
	shape.Optional("consensus", shape.Whole(1, 1<<31-1), "votes to stop in a row that end the loop (default: 2)"),
	shape.Optional("minIterations", shape.Whole(1, 1<<31-1), "iterations before which it does not end the loop (default: 2)"),
	shape.Optional("maxJudgeFailures", shape.Whole(1, 1<<31-1), "vote judge: iterations in a row without a decision after which the judge is not counted any more (default: 3)"),
}

var untilFields = []shape.Field{
	shape.Required("until", shape.Filled(), "shell command that is run in the workspace after each iteration: exit code 0 ends the loop"),
	shape.Optional("timeoutSeconds", shape.Positive(7*24*3600), "time limit of the command in seconds (default: 600)"),
}

var ruleTypos = map[string]string{
	"maxIterations": "limit", "iterations": "limit", "max": "limit", "cap": "limit", "times": "limit",
	"command": "until", "run": "until", "stopCommand": "until", "timeout": "timeoutSeconds",
	"rules": "of", "conditions": "of", "votes": "consensus", "min_iterations": "minIterations", "judgeCodon": "judge", "exclude": "ignore",
}

// rule is a kind of rule; alone it has a limit.
func rule(kind string, alone bool, fields []shape.Field) shape.Variant {
	all := []shape.Field{shape.Required("type", shape.Word(kind), kind)}
	name := kind + "Part"
	if alone {
		name, all = kind, append(all, limitField(limitSays))
	}
	return shape.Variant{Value: kind, Shape: shape.Object(name, kind, append(all, fields...)...).WithTypos(ruleTypos)}
}

// plateau is the rule of votes.
func plateau(alone bool) shape.Variant {
	v := rule("plateau", alone, plateauFields)
	v.Shape.Needing("vote", "judge", "judge", "name a codon of the loop")
	return v
}

var contextExceeded = shape.Variant{Value: "contextExceeded", Shape: shape.Object("contextExceeded", "contextExceeded",
	shape.Required("type", shape.Word("contextExceeded"), "contextExceeded"),
)}

// of is the rules that any or all is made of.
func of(variants ...shape.Variant) []shape.Field {
	return []shape.Field{shape.Required("of", shape.FilledList(shape.Tagged("type", variants...).Saying("any and all cannot be nested, and their limit is beside of")), "the rules")}
}

// The rules that any and all are made of.
var (
	plateauPart = plateau(false)
	commandPart = rule("command", false, untilFields)
)

var terminateOnShape = shape.Tagged("type",
	shape.Variant{Value: "iterationLimit", Shape: shape.Object("iterationLimit", "iterationLimit",
		shape.Required("type", shape.Word("iterationLimit"), "iterationLimit"),
		limitField("number of iterations"),
	)},
	contextExceeded,
	plateau(true),
	rule("command", true, untilFields),
	rule("any", true, of(plateauPart, commandPart, contextExceeded)),
	rule("all", true, of(plateauPart, commandPart)),
)
