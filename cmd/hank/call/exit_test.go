package call

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTheErrorThatACommandHasPrintedIsFoundAmongOtherLines(t *testing.T) {
	t.Parallel()
	const object = "{\n  \"schema\": 1,\n  \"bill\": {\n    \"cost\": 0\n  },\n  \"error\": {\n    \"kind\": \"decision\",\n    \"exitCode\": 4,\n    \"message\": \"choose\",\n    \"options\": [\n      \"--a\",\n      \"--b\"\n    ]\n  }\n}\n"
	for printed, want := range map[string]string{
		"":                              "",
		"warning: {\nhank: no object\n": "",
		"{\n  \"error\": null\n}\n":     "",
		"{\n  \"error\": \"a text\"\n}\nhank: refused\n": "",
		object:                                "choose",
		"warning: {\n" + object + "hank: x\n": "choose",
	} {
		name := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(name, []byte(printed), 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if problem := PrintedProblem(file); problem != nil {
			if got = problem.Message; len(problem.Options) != 2 || problem.ExitCode != 4 {
				t.Errorf("%q: %+v", printed, problem)
			}
		}
		if file.Close(); got != want {
			t.Errorf("%q: %q, want %q", printed, got, want)
		}
	}
}
