package main

import (
	"strings"

	"hank/internal/modelserver"
)

// conversation is what the model answers to one prompt, turn by turn.
type conversation struct {
	prompt string // how it begins
	turns  []modelserver.Turn
}

func use(name string, input map[string]any) modelserver.Tool {
	return modelserver.Tool{Name: name, Input: input}
}

func read(path string) modelserver.Tool { return use("Read", map[string]any{"file_path": path}) }

func bash(command, what string) modelserver.Tool {
	return use("Bash", map[string]any{"command": command, "description": what})
}

func write(path, content string) modelserver.Tool {
	return use("Write", map[string]any{"file_path": path, "content": content})
}

func edit(path, from, to string) modelserver.Tool {
	return use("Edit", map[string]any{"file_path": path, "old_string": from, "new_string": to})
}

func turn(text string, tools ...modelserver.Tool) modelserver.Turn {
	return modelserver.Turn{Text: text, Tools: tools}
}

// The two faults, as the notes have them.
const (
	header   = "- [ ] The line of headings is taken for an order, so that a customer called \"customer\" owes 0."
	cents    = "- [ ] The sum is printed with %d, which drops the cents."
	notes    = "# Faults\n\n" + header + "\n" + cents + "\n"
	runTest  = "sh project/test.sh"
	sumLine  = "	{ owed[$1] += $3 * $4 }"
	program  = "project/total.sh"
	report   = "# What was wrong with total.sh\n\nIt prints what each customer owes, and its test failed for two reasons:\n\n1. The line of headings was taken for an order. It is skipped now (`NR > 1`).\n2. The sums were printed without their cents. They have two decimals now (`%.2f`).\n\nNothing else was changed. The test passes: Ada 17.00, Blaise 7.05, Carl 25.80.\n"
	ticked   = "  Seen: `customer` is gone from the output."
	tickedTo = "  Seen: the test passes."
)

// conversations are all of the recording. The text of a prompt is that of the hank in
// fixtures/claude.
var conversations = []conversation{
	{"The directory project/ has a small program", []modelserver.Turn{
		turn("I'll read the program and its test first.", read(program)),
		turn("", read("project/test.sh")),
		turn("Now I run the test to see how it fails.", bash(runTest, "Run the test")),
		turn("There are two faults: a customer called \"customer\", and no cents. The data will confirm the first one.", read("project/orders.csv")),
		turn("The file has a line of headings. I write down both faults.", write("NOTES.md", notes)),
		turn("The awk program counts the line of headings as an order, and prints sums with %d. NOTES.md has two faults."),
	}},
	{"Round 0. Read NOTES.md and fix", []modelserver.Turn{
		turn("I look at what is open.", read("NOTES.md")),
		turn("", read(program)),
		turn("The first open fault is the line of headings. Skipping the first record is enough.", edit(program, sumLine, "	NR > 1 { owed[$1] += $3 * $4 }")),
		turn("", bash(runTest, "Run the test")),
		turn("The customer called \"customer\" is gone. I leave the second fault alone, as the prompt asks. The test still fails, for the cents. One fault is fixed."),
	}},
	{"Round 0. Review", []modelserver.Turn{
		turn("I read the program as it is now.", read(program)),
		turn("", read("NOTES.md")),
		turn("", bash(runTest, "Run the test")),
		turn("The change is one condition, and the output has no line of headings any more.", edit("NOTES.md", header, strings.Replace(header, "[ ]", "[x]", 1)+"\n"+ticked)),
		turn("The change is right, and I ticked the first fault. The cents are missing still. One fault is open."),
	}},
	{"Round 1. Read NOTES.md and fix", []modelserver.Turn{
		turn("I look at what is open.", read("NOTES.md")),
		turn("", read(program)),
		turn("One fault is open: the format of the sum.", edit(program, "%s %d\\n", "%s %.2f\\n")),
		turn("", bash(runTest, "Run the test")),
		turn("All three sums have their cents. The test passes now."),
	}},
	{"Round 1. Review", []modelserver.Turn{
		turn("I read the program as it is now.", read(program)),
		turn("", read("NOTES.md")),
		turn("", bash(runTest, "Run the test")),
		turn("The output is the expected one, to the cent.", edit("NOTES.md", cents, strings.Replace(cents, "[ ]", "[x]", 1)+"\n"+tickedTo)),
		turn("I ticked the second fault, too. Both are fixed."),
	}},
	{"Write REPORT.md", []modelserver.Turn{
		turn("", read("NOTES.md")),
		turn("", read(program)),
		turn("", bash(runTest, "Run the test")),
		turn("Now the report.", write("REPORT.md", report)),
		turn("It has both faults, both changes and the result of the test. REPORT.md is ready."),
	}},
}

// answer is the turn that a request gets: that of its conversation which follows what
// the model has answered already. unknown is told of a request that is in none.
func answer(r modelserver.Request, unknown func(string)) modelserver.Turn {
	if len(r.Tools) == 0 {
		return modelserver.Turn{Text: "ok"}
	}
	said, all := 0, ""
	for _, m := range r.Messages {
		if m.Role == "assistant" {
			said++
		}
		all += "\n" + m.Text
	}
	for _, c := range conversations {
		if strings.Contains(all, "\n"+c.prompt) && said < len(c.turns) {
			t := c.turns[said]
			t.Usage = usage(said, t)
			return t
		}
	}
	unknown(all)
	return modelserver.Turn{Error: modelserver.Error{Status: 400, Message: "the script has no such turn"}}
}

// usage is what a turn counts: about what Claude Code sends, the greatest part of which
// the provider has cached after the first request.
func usage(said int, t modelserver.Turn) modelserver.Usage {
	const system, perTurn = 14_000, 900
	u := modelserver.Usage{Input: 6, Output: int64(90 + len(t.Text)/4 + 120*len(t.Tools))}
	if u.CacheCreation = system; said > 0 {
		u.CacheCreation, u.CacheRead = perTurn, int64(system+perTurn*(said-1))
	}
	return u
}
