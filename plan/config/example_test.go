package config_test

import (
	"fmt"

	"hank/plan/config"
	"hank/plan/diagnostic"
)

// The layers of settings are hankweave.json, overrides of the hank, the environment
// and the command line; a later one wins.
func ExampleLayers_Merge() {
	file, _ := config.Parse([]byte(`{"model": "haiku", "outputDirectory": "out"}`))
	env, diagnostics := config.ParseEnviron([]string{"HANKWEAVE_RUNTIME_MODEL=sonnet", "HANKWEAVE_RUNTIME_OUTPUT_DIR=x"})
	fmt.Print(diagnostic.Text(diagnostics))

	merged := config.Layers{File: file, Env: env}.Merge(nil)
	fmt.Println(merged.Model, merged.OutputDirectory)
	// Output:
	// environment: error [unknown-variable] HANKWEAVE_RUNTIME_OUTPUT_DIR is not a setting
	//     hint: did you mean HANKWEAVE_RUNTIME_OUTPUT_DIRECTORY?
	// sonnet out
}
