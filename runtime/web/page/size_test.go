package page

import (
	"bytes"
	"io/fs"
	"testing"
)

// TestThePageIsSmall: its script has at most 800 lines, and all of it that is in the program at
// most 60 kB.
func TestThePageIsSmall(t *testing.T) {
	t.Parallel()
	script, _, _ := Asset("page.js")
	if n := bytes.Count(script, []byte("\n")); n > 800 {
		t.Errorf("page.js has %d lines, at most 800", n)
	}
	size := 0
	for _, files := range []fs.FS{assets, sources} {
		err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := fs.ReadFile(files, path)
			size += len(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if size < 20_000 || size > 60_000 {
		t.Errorf("the page has %d bytes, at most 60,000", size)
	}
}
