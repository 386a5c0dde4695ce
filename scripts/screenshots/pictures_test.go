package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the pictures of hank watch, and the texts of them, anew")

// The pictures are those of a machine in UTC, with a list of executions of its own.
func TestMain(m *testing.M) {
	time.Local = time.UTC
	dir, err := os.MkdirTemp("", "hank-pictures-test-")
	if err == nil {
		err = os.Setenv("HANK_STATE_DIR", dir)
	}
	if err == nil {
		err = os.Chdir("../..")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// shown is a copy of the recorded execution.
func shown(t *testing.T) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "weather")
	if err := os.CopyFS(root, os.DirFS(recorded)); err != nil {
		t.Fatal(err)
	}
	return root
}

const again = "take them again: go build -o bin/hank ./cmd/hank && go run ./scripts/screenshots"

// TestThePicturesOfWatchAreCurrent: the pictures of hank watch, and the text of the first one in
// its document, are what the screen draws of the recorded execution now.
func TestThePicturesOfWatchAreCurrent(t *testing.T) {
	t.Parallel()
	root := shown(t)
	if *update {
		if err := writeTerminals(root, "docs/pictures"); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range terminals {
		rows, err := draw(root, p, true)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("docs", "pictures", p.name+".svg")
		was, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if svg(rows, p.columns, "hank watch") != string(was) {
			t.Errorf("%s is not what hank watch draws now; %s\nIt draws\n%s", path, again, strings.Join(rows, "\n"))
		}
	}
}

// TestThePicturesOfPagesAreCurrent: a picture of a page was taken of the text, the style and the
// script that the page has now.
func TestThePicturesOfPagesAreCurrent(t *testing.T) {
	t.Parallel()
	root := shown(t)
	if err := register(root); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("docs/pictures/pages.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pictures {
		of, err := digest(root, p)
		if err != nil {
			t.Fatal(err)
		}
		if line := fmt.Sprintf("%s.png %s\n", p.name, of); !strings.Contains(string(text), line) {
			t.Errorf("docs/pictures/%s.png is not a picture of the page as it is now; %s\nwant the line %sin\n%s", p.name, again, line, text)
		}
		if fi, err := os.Stat(filepath.Join("docs", "pictures", p.name+".png")); err != nil || fi.Size() > 150_000 {
			t.Errorf("docs/pictures/%s.png: %v, at most 150 kB", p.name, err)
		}
	}
}
