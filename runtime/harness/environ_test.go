package harness

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestTheCodonsVariablesWinOverEverything(t *testing.T) {
	t.Parallel()
	req := Request{
		Workspace: "/w", Temp: "/t", Attempt: "a1",
		Environ: []string{"PATH=/bin", "X=old", "X=new", "HANK_SESSION=of-an-outer-hank", "HANKWEAVE_SENTINEL_KEY=secret", "HANKWEAVE_RUNTIME_X=1", "broken", "=x"},
		Env:     map[string]string{"PWD": "mine", "EMPTY": ""},
	}
	got := BaseEnviron(req).Finish(req.Env)
	want := []string{"EMPTY=", "HANK_ATTEMPT=a1", "HANK_WORKSPACE=/w", "PATH=/bin", "PWD=mine", "TMPDIR=/t", "X=new"}
	if !slices.Equal(got, want) {
		t.Errorf("environment is\n%q, want\n%q", got, want)
	}
}

func TestNoEnvironmentMeansThatOfTheProcess(t *testing.T) {
	t.Setenv("HANK_TEST_MARK", "here")
	if got := BaseEnviron(Request{})["HANK_TEST_MARK"]; got != "here" {
		t.Errorf("the process's variable is %q", got)
	}
	if got := BaseEnviron(Request{Environ: []string{}}); len(got) != 0 {
		t.Errorf("an empty environment became %v", got)
	}
}

func TestLookPathUsesTheGivenPathOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"tool": 0o755, "plain": 0o644} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	env := Environ{"PATH": "/nonexistent" + string(os.PathListSeparator) + dir}
	for name, want := range map[string]string{
		"tool": filepath.Join(dir, "tool"), filepath.Join(dir, "tool"): filepath.Join(dir, "tool"),
		"plain": "", "folder": "", "sh": "", "missing": "", filepath.Join(dir, "plain"): "",
	} {
		if got := LookPath(name, env); got != want {
			t.Errorf("LookPath(%s) = %q, want %q", name, got, want)
		}
	}
	if got := LookPath("tool", Environ{"PATH": "." + string(os.PathListSeparator)}); got != "" {
		t.Errorf("a relative PATH entry gave %q", got)
	}
}
