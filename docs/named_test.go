package docs

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A page names a test as package.Test, and a script of cmd/hank as script/NAME.
const (
	scripts     = "script/"
	scriptTests = "cmd/hank.TestScripts/"
)

// isThere reports whether the test that a page names exists. All scripts together attack
// nothing in particular.
func isThere(t testing.TB, name string) bool {
	t.Helper()
	if script, ok := strings.CutPrefix(name, scripts); ok {
		_, err := os.Stat(filepath.Join(root, "cmd/hank/testdata/script", script+".txtar"))
		return err == nil
	}
	m := testName.FindStringSubmatch(name)
	if m == nil || name+"/" == scriptTests {
		return false
	}
	files, err := filepath.Glob(filepath.Join(root, m[1], "*_test.go"))
	return err == nil && slices.ContainsFunc(files, func(f string) bool { return strings.Contains(read(t, f), "func "+m[2]+"(") })
}

// passed reads from the log of go test -v which tests have passed, by the names that
// pages give them. One that was skipped has not.
func passed(log string) map[string]bool {
	all := map[string]bool{}
	var tests []string
	for line := range strings.Lines(log) {
		fields := strings.Fields(line)
		switch {
		case strings.HasPrefix(strings.TrimLeft(line, " "), "--- PASS: "):
			tests = append(tests, fields[2])
		case strings.HasPrefix(line, "ok ") || strings.HasPrefix(line, "FAIL\t"):
			for _, test := range tests {
				name := strings.TrimPrefix(fields[1], "hank/") + "." + test
				if script, ok := strings.CutPrefix(name, scriptTests); ok {
					name = scripts + script
				}
				all[name] = true
			}
			tests = nil
		}
	}
	return all
}

func TestALogTellsWhichTestsHavePassed(t *testing.T) {
	t.Parallel()
	have := slices.Sorted(maps.Keys(passed(`=== RUN   TestOne
--- PASS: TestOne (0.00s)
=== RUN   TestTwo
    two_test.go:7: no kernel for it
--- SKIP: TestTwo (0.00s)
--- PASS: TestWithCases (0.10s)
    --- PASS: TestWithCases/first (0.05s)
    --- SKIP: TestWithCases/second (0.05s)
PASS
ok  	hank/state/journal	0.9s
--- FAIL: TestScripts (9.00s)
    --- PASS: TestScripts/good (1.00s)
    --- FAIL: TestScripts/bad (1.00s)
    --- SKIP: TestScripts/elsewhere (0.00s)
FAIL
FAIL	hank/cmd/hank	9.1s
--- PASS: TestThatEndsInNoPackage (0.00s)
`)))
	if want := []string{"script/good", "state/journal.TestOne", "state/journal.TestWithCases", "state/journal.TestWithCases/first"}; !slices.Equal(have, want) {
		t.Errorf("got %q, want %q", have, want)
	}
}
