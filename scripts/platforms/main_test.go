package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A mistake in a file that only another system compiles is found, in a test too.
func TestAMistakeOfAnotherSystemIsFound(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("GOFLAGS", "-mod=mod")
	for name, text := range map[string]string{
		"go.mod":             "module m\n\ngo 1.26\n",
		"all.go":             "package m\n\nimport \"os\"\n\nvar _ = os.Args\n",
		"one_windows.go":     "package m\n\nvar x int = \"text\"\n",
		"two_darwin_test.go": "package m\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) { missing() }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := run([]string{"linux/arm64"}, "./..."); err != nil {
		t.Error(err)
	}
	err := run([]string{"linux/arm64", "windows/amd64", "darwin/arm64"}, "./...")
	if err == nil {
		t.Fatal("no mistake was found")
	}
	for _, part := range []string{"windows/amd64: ", "one_windows.go:3", "darwin/arm64: ", "two_darwin_test.go:5"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in %v", part, err)
		}
	}
	if strings.Contains(err.Error(), "linux") {
		t.Error(err)
	}
	for _, wrong := range [][]string{nil, {"windows"}} {
		if run(wrong, "./...") == nil {
			t.Errorf("%q was accepted", wrong)
		}
	}
}
