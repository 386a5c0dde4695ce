package gemini

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"hank/internal/lazyregexp"
	"hank/runtime/harness"
)

// prepare makes the agent's own directory.
//
// A login is shared by links: the agent renews it by writing into the files, through the
// links, so that the user's own sessions keep the login. A copy would be renewed alone, and
// the one that it was made of could stop working.
func prepare(req harness.Request, from source) error {
	if req.Home == "" {
		return nil
	}
	dir := ownDirectory(req)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("gemini: %w", err)
	}
	wanted := map[string]string{}
	for _, path := range from.links() {
		wanted[filepath.Base(path)] = path
	}
	for _, name := range []string{loginName, accountsName, storedName} {
		if err := link(filepath.Join(dir, name), wanted[name], name != accountsName); err != nil {
			return fmt.Errorf("gemini: %w", err)
		}
	}
	if err := configure(req, from); err != nil {
		return fmt.Errorf("gemini: %w", err)
	}
	return instruct(req)
}

// object is a part of the agent's settings.
type object map[string]any

// never is a share of the context that no conversation reaches.
const never = 100

// configure writes the agent's settings, anew for each attempt. Those of the workspace,
// which the agent reads too, count before them.
func configure(req harness.Request, from source) error {
	settings := object{
		"general": object{
			"enableAutoUpdate": false, "enableAutoUpdateNotification": false,
			"sessionRetention": object{"enabled": false}, // a session may be continued after any time
		},
		"privacy":  object{"usageStatisticsEnabled": false},
		"security": object{"auth": object{"selectedType": authTypes[from.is]}, "folderTrust": object{"enabled": false}},
		// "@name" in a prompt is a file of that name, and no file that has it in its name.
		"context": object{"fileFiltering": object{"enableRecursiveFileSearch": false}},
	}
	if !req.AutoCompact {
		settings["model"] = object{"compressionThreshold": never}
	}
	if thinking := thinking(req.Model, req.Effort); thinking != nil {
		settings["modelConfigs"] = object{"customOverrides": []any{object{
			"match":       object{"model": req.Model},
			"modelConfig": object{"generateContentConfig": object{"thinkingConfig": thinking}},
		}}}
	}
	text, err := json.MarshalIndent(settings, "", "  ")
	if err != nil {
		return err
	}
	return replace(filepath.Join(ownDirectory(req), settingsName), text)
}

// replace writes a file of the agent's directory.
func replace(path string, text []byte) error {
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// budgets are the tokens that a model of the generation 2 may think with. Later ones are
// told a level.
var budgets = map[string]int{"minimal": 512, "low": 1024, "medium": 8192, "high": 24576, "xhigh": 24576, "max": 24576}

// largestBudget is what a model of the generation 2 that is called pro can be given.
const largestBudget = 32768

var generation2 = lazyregexp.New(`^gemini-2\.`)

// thinking is what the model is told about how much to think; nil leaves it to the agent.
// A level that the model does not have is the next higher one.
func thinking(model, effort string) object {
	budget, known := budgets[effort]
	if !known {
		return nil
	}
	pro := strings.Contains(model, "-pro")
	if generation2.MatchString(model) {
		if pro && (effort == "xhigh" || effort == "max") {
			budget = largestBudget
		}
		return object{"thinkingBudget": budget}
	}
	level := "HIGH"
	switch {
	case effort == "low", effort == "minimal" && pro:
		level = "LOW"
	case effort == "minimal":
		level = "MINIMAL"
	case effort == "medium" && !strings.HasPrefix(model, "gemini-3-pro"):
		level = "MEDIUM"
	}
	return object{"thinkingLevel": level}
}

// instructionsName is the agent's file of the user's instructions for all workspaces.
const instructionsName = "GEMINI.md"

// instruct writes the system prompt, or removes that of another codon.
func instruct(req harness.Request) error {
	path := filepath.Join(ownDirectory(req), instructionsName)
	if req.SystemPrompt == "" {
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return err
		}
		return nil
	}
	return replace(path, []byte(literal(req.SystemPrompt)))
}

var (
	// imported is what the agent takes for the name of a file whose text goes there. It
	// removes the name of one that it does not find.
	imported  = lazyregexp.New(`(?:^|\s)@[A-Za-z./]`)
	backticks = lazyregexp.New("`+")
)

// literal is a text that the agent shows to the model as it is. Where it could take a word
// for an import, the whole text is between backticks, in which it looks for none.
func literal(text string) string {
	if !imported.MatchString(text) {
		return text
	}
	longest := 2
	for _, run := range backticks.FindAllStringIndex(text, -1) {
		longest = max(longest, run[1]-run[0])
	}
	fence := strings.Repeat("`", longest+1)
	return fence + "\n" + text + "\n" + fence
}
