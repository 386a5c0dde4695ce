package format

import (
	"testing"

	"hank/plan/diagnostic"
)

// A path with a line end is on one line, and is the one that it is.
func TestAPathIsOnOneLine(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"./my hank/hank.json":  "./my hank/hank.json: error [syntax] m",
		"./ä/hank.json":        "./ä/hank.json: error [syntax] m",
		"./a\nb/hank.json":     `"./a\nb/hank.json": error [syntax] m`,
		"./a\x1bb\xff/hank.js": `"./a\x1bb\xff/hank.js": error [syntax] m`,
	} {
		if got, _ := Text(diagnostic.Diagnostic{Severity: diagnostic.Error, Rule: "syntax", File: path, Message: "m"}); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
