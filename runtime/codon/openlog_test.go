package codon

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestATranscriptIsNeverOverwritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "run", "a.log")
	f, err := openLog(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("first\n"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := openLog(path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("it is opened again: %v", err)
	}
	if text, err := os.ReadFile(path); string(text) != "first\n" {
		t.Errorf("it holds %q, %v", text, err)
	}
}
