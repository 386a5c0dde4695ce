package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What is printed for people goes through say, remark and tables, which let
// nothing of others' steer a terminal. Only what is for programs goes past them.
func TestNothingPrintsPastSay(t *testing.T) {
	t.Parallel()
	prints := regexp.MustCompile(`fmt\.(Print|Fprint)|os\.Std(out|err)\.Write|bufio\.NewWriter\(os|\bprintln?\(`)
	allowed := map[string]int{
		"call/common.go": 1, // JSON
		"completion.go":  2, // a script for the shell
		"fmt.go":         1, // a hank.json, for a pipe
		"upkeep/diff.go": 1, // a patch, see printPatch
		"validate.go":    1, // SARIF and JUnit
	}
	files, err := filepath.Glob("*.go")
	more, _ := filepath.Glob("*/*.go")
	if files = append(files, more...); err != nil || len(files) < 25 {
		t.Fatal(err, len(files))
	}
	for _, name := range slices.DeleteFunc(files, func(n string) bool { return strings.HasSuffix(n, "_test.go") }) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if found := prints.FindAllString(string(text), -1); len(found) != allowed[name] {
			t.Errorf("%s prints by itself: %q; use say or remark", name, found)
		}
	}
}
