// Package variables collects what a codon is told about its place, its loop and its budget.
//
//   - Facts are what is known when an attempt begins: places, the loop around the codon,
//     what is left of its budget.
//   - A variable is one of them with its names: the placeholders in prompts and scripts, and
//     the environment variable of the processes of the codon.
//
// Prompts and environment are both made from one list, so that they say the same. It is pure, and
// it knows no votes: what earlier iterations of a loop voted is in no variable.
package variables

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Facts are what is known when an attempt at a codon begins. Values that are not known may
// be empty.
type Facts struct {
	Workspace string
	Data      string // where the data is; empty is read_only_data_source in the workspace
	HasData   bool
	Output    string // where outputFiles are copied to; empty: nowhere, results stay in the workspace

	Codon string
	Loop  *Loop // around the codon

	Attempt     int    // its number
	LastFailure string // why the attempt before this one failed; empty: none has
	LastOutcome string // how the codon before it in the plan ended; empty: there is none
	DollarsLeft string // plain decimals; empty: no limit
	SecondsLeft string
	Reply       string // what the user has said at a gate
	Decision    string // the file for the decision of a codon that votes

	Declared map[string]string // by the hank itself
}

// Loop is where in a loop a codon is.
type Loop struct {
	Iteration    int    // from 0
	Limit        int    // the most iterations; 0: there is no limit
	ProgressFile string // relative to the workspace; empty: the loop has none
}

// variable is one thing that a codon is told.
type variable struct {
	Placeholders []string // between <% and %>
	Value        string
	Environment  string // the name of the environment variable
	Unset        bool   // the environment has it not
}

// all returns every variable; those that mean nothing for the codon are empty and unset.
func all(f Facts) []variable {
	data := f.Data
	if data == "" {
		data = path.Join(f.Workspace, "read_only_data_source")
	}
	output := f.Output
	if output == "" {
		output = f.Workspace
	}
	l, looped := Loop{Limit: 1}, f.Loop != nil
	if looped {
		l = *f.Loop
	}
	progress := ""
	if l.ProgressFile != "" {
		progress = path.Join(f.Workspace, l.ProgressFile)
	}
	list := []variable{
		{[]string{"AGENT_ROOT", "PROJECT_DIR", "EXECUTION_DIR"}, f.Workspace, "HANK_WORKSPACE", false},
		{[]string{"DATA_DIR"}, data, "HANK_DATA", !f.HasData},
		{[]string{"OUTPUT_DIR"}, output, "HANK_OUTPUT", false},
		{[]string{"CODON_ID"}, f.Codon, "HANK_CODON", false},
		{[]string{"ITERATION"}, strconv.Itoa(l.Iteration), "HANK_ITERATION", !looped},
		{[]string{"ITERATION_LIMIT"}, orUnlimited(l.Limit > 0, strconv.Itoa(l.Limit)), "HANK_ITERATION_LIMIT", !looped},
		{[]string{"LAST_OUTCOME"}, orElse(f.LastOutcome, "none"), "HANK_LAST_OUTCOME", false},
		{[]string{"ATTEMPT"}, strconv.Itoa(f.Attempt), "HANK_ATTEMPT_NUMBER", false},
		{[]string{"LAST_FAILURE"}, orElse(f.LastFailure, "none"), "HANK_LAST_FAILURE", false},
		{[]string{"BUDGET_LEFT"}, orUnlimited(f.DollarsLeft != "", f.DollarsLeft), "HANK_BUDGET_LEFT", false},
		{[]string{"TIME_LEFT"}, orUnlimited(f.SecondsLeft != "", f.SecondsLeft), "HANK_TIME_LEFT", false},
		{[]string{"REPLY"}, f.Reply, "HANK_REPLY", f.Reply == ""},
		{[]string{"PROGRESS_FILE"}, progress, "HANK_PROGRESS_FILE", progress == ""},
		{[]string{"DECISION_FILE"}, f.Decision, "HANK_DECISION", f.Decision == ""},
	}
	for _, name := range slices.Sorted(maps.Keys(f.Declared)) {
		list = append(list, variable{[]string{name}, f.Declared[name], "HANK_VAR_" + name, false})
	}
	for i := range list {
		list[i].Value = inEnvironment(list[i].Value)
	}
	return list
}

// inEnvironment is a value without what no environment can hold; what an agent has said may have it.
func inEnvironment(value string) string { return strings.ReplaceAll(value, "\x00", "\uFFFD") }

func orUnlimited(limited bool, value string) string {
	if limited {
		return value
	}
	return "unlimited"
}

func orElse(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}

// Placeholders are the names of those that every hank has.
func Placeholders() []string {
	var names []string
	for _, v := range all(Facts{}) {
		names = append(names, v.Placeholders...)
	}
	return names
}

// Sample are facts with which a text can be judged before any attempt. The workspace is ".",
// and what is elsewhere, or may be, is absolute.
func Sample(declared map[string]string) Facts {
	return Facts{Workspace: ".", Data: "/data", Output: "/output", Decision: "/decision", Codon: "x",
		Loop: &Loop{ProgressFile: "x"}, Reply: "x", Declared: declared}
}

// Apply sets the variables in an environment, and removes those that are not set.
func Apply(f Facts, environment map[string]string) {
	for _, v := range all(f) {
		if v.Unset {
			delete(environment, v.Environment)
		} else {
			environment[v.Environment] = v.Value
		}
	}
}
