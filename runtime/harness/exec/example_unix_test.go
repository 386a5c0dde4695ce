//go:build unix

package exec

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"hank/internal/programtest"
	"hank/runtime/harness"
	"hank/runtime/harness/internal/harnesstest"
)

// TestTheExampleOfTheDocumentationRunsAsPrinted: it begins a session, continues it, and
// refuses one that it does not know.
func TestTheExampleOfTheDocumentationRunsAsPrinted(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/exec-harness.md")
	if err != nil {
		t.Fatal(err)
	}
	printed := regexp.MustCompile("(?s)```sh\n(.*?)```").FindSubmatch(text)
	if printed == nil {
		t.Fatal("there is no example")
	}
	dir := t.TempDir()
	programtest.Write(t, filepath.Join(dir, "counter"), string(printed[1]))
	h := Harness{Program: []string{"counter"}}
	req := harness.Request{Prompt: "Remember one.", Model: "counter", Provider: "exec", Attempt: "run-1/first/1",
		Workspace: t.TempDir(), Home: t.TempDir(), Temp: t.TempDir(), Environ: []string{"PATH=" + dir + ":" + os.Getenv("PATH")}}
	turn := func() harness.Verdict {
		req.Agent = h.Check(t.Context(), req.Environ)
		command, err := h.Command(req)
		if err != nil {
			t.Fatal(err)
		}
		return harnesstest.Run(t, h, req, command, nil).Verdict
	}
	first := turn()
	if !first.Success || first.Session == "" || first.Usage.Cost != 1_000_000 || first.Usage.Tokens.Input != 120 {
		t.Errorf("%+v %+v", first, first.Failure)
	}
	req.Prompt, req.Session, req.Attempt = "Remember two.", first.Session, "run-1/second/1"
	if second := turn(); !second.Success || second.Session != first.Session {
		t.Errorf("%+v %+v", second, second.Failure)
	}
	if text, err := os.ReadFile(filepath.Join(req.Workspace, "prompts.txt")); err != nil || string(text) != "Remember one.\nRemember two.\n" {
		t.Errorf("%q %v", text, err)
	}
	req.Session = "nobody"
	if third := turn(); third.Success || third.Failure.Class != harness.ClassSessionNotFound {
		t.Errorf("%+v", third)
	}
}
