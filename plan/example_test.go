package plan_test

import (
	"fmt"
	"testing/fstest"

	"hank/plan"
)

// Load reads a hank with everything that it refers to, and reports all that is
// wrong with it at once. With an error among the diagnostics there is no program.
func ExampleLoad() {
	dir := fstest.MapFS{
		"hank.json": {Data: []byte(`{
  "hank": [
    {"id": "write", "name": "Write", "model": "sonet", "continuationMode": "fresh", "promptFile": "write.md"},
    {"id": "check", "name": "Check", "model": "shell", "continuationMode": "new", "promptText": "make check"}
  ]
}`)},
	}
	program, diagnostics := plan.Load(dir, "hank.json")
	fmt.Println("loaded:", program != nil)
	for _, d := range diagnostics {
		fmt.Printf("line %d, column %d: %s [%s]\n", d.Line, d.Column, d.Pointer, d.Rule)
	}
	// Output:
	// loaded: false
	// line 3, column 47: /hank/0/model [unknown-model]
	// line 3, column 99: /hank/0/promptFile [missing-reference]
	// line 4, column 76: /hank/1/continuationMode [bad-value]
}

// A loop has only its first iteration in the plan. Grow says how the plan continues
// when an entry has ended; it depends on nothing but that outcome.
func ExampleProgram_Grow() {
	dir := fstest.MapFS{
		"hank.json": {Data: []byte(`{
  "hank": [
    {"type": "loop", "id": "rounds", "name": "Rounds", "terminateOn": {"type": "iterationLimit", "limit": 2}, "codons": [
      {"id": "draft", "name": "Draft", "model": "shell", "continuationMode": "fresh", "promptText": "echo draft >>draft.txt"}
    ]},
    {"id": "publish", "name": "Publish", "model": "shell", "continuationMode": "fresh", "promptText": "cp draft.txt final.txt"}
  ]
}`)},
	}
	program, _ := plan.Load(dir, "hank.json")
	entries := program.Initial()
	printIDs(entries)

	drop, add := program.Grow(entries, 0, plan.Outcome{Status: plan.Completed})
	entries = append(entries[:1:1], append(add, entries[1+drop:]...)...)
	printIDs(entries)

	drop, add = program.Grow(entries, 1, plan.Outcome{Status: plan.Completed})
	fmt.Println(drop, len(add))
	// Output:
	// draft#0 publish
	// draft#0 draft#1 publish
	// 0 0
}

func printIDs(entries []plan.Entry) {
	for i, e := range entries {
		if i > 0 {
			fmt.Print(" ")
		}
		fmt.Print(e.CodonID)
	}
	fmt.Println()
}
